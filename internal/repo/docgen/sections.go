package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
)

// sections are what a page may ask for, by the name in its marker.
var sections = map[string]func(root *cobra.Command) (string, error){
	"kinds":          func(*cobra.Command) (string, error) { return kinds(), nil },
	"fields":         func(*cobra.Command) (string, error) { return fieldTables(), nil },
	"send":           func(*cobra.Command) (string, error) { return send(), nil },
	"modes":          func(*cobra.Command) (string, error) { return modes(), nil },
	"guarded":        func(*cobra.Command) (string, error) { return guarded(), nil },
	"worker states":  func(*cobra.Command) (string, error) { return diagram(machine.WorkerTable), nil },
	"leader states":  func(*cobra.Command) (string, error) { return diagram(machine.LeaderTable), nil },
	"request states": func(*cobra.Command) (string, error) { return diagram(machine.RequestTable), nil },
	"conduct":        func(*cobra.Command) (string, error) { return conduct(), nil },
	"exit codes":     exitCodes,
	"commands":       func(root *cobra.Command) (string, error) { return commands(root), nil },
}

// kinds is the table of payloads.
func kinds() string {
	rows := [][]string{{"kind", "from", "to", "meaning", "part", "effect", "an agent may send it"}}
	for _, k := range protocol.Kinds() {
		part := ""
		switch {
		case k.Legacy:
			part = "legacy, never acted upon"
		case k.Request:
			part = "question"
		case k.Decision:
			part = "answer"
		}
		meaning := k.Meaning
		for _, a := range k.Aliases {
			meaning += " Also read: " + code(a) + "."
		}
		rows = append(rows, []string{code(string(k.Kind)), k.From, k.To, meaning, part, yes(k.Effect), yes(k.Agent)})
	}
	return table(rows)
}

// fieldTables are the tables of fields, one for each kind.
func fieldTables() string {
	var b strings.Builder
	for _, k := range protocol.Kinds() {
		if rows := fieldRows(k, protocol.Fields(k.Kind)); rows != nil {
			b.WriteString("### " + string(k.Kind) + "\n\n" + table(rows) + "\n")
		}
	}
	return b.String()
}

// send is the table of who may send what.
func send() string {
	rows := [][]string{{"", "from", "to", "kinds", "vouched for by"}}
	for _, r := range policy.SendTable() {
		var ks, by []string
		for _, k := range r.Kinds {
			ks = append(ks, code(string(k)))
		}
		for _, c := range r.By {
			by = append(by, string(c))
		}
		vouched := strings.Join(by, " or ")
		if r.FileTrust {
			vouched += ", only for members recorded as `trust: file`"
		}
		rows = append(rows, []string{r.Name, string(r.From), string(r.To), strings.Join(ks, ", "), vouched})
	}
	return table(rows)
}

// conduct is the table of how each kind is treated: first, again, late, forged.
func conduct() string {
	sentBy := map[protocol.Kind]string{protocol.KindText: "anybody", protocol.KindUnknown: "anybody", protocol.KindInvalid: "anybody"}
	for _, k := range protocol.Kinds() {
		sentBy[k.Kind] = k.From
	}
	rows := [][]string{{"kind", "sent by", "accepted from", "effect", "again", "late", "forged"}}
	for _, c := range machine.Conducts() {
		late := string(c.Late)
		if c.When != "" {
			late = c.When + ": " + late
		}
		rows = append(rows, []string{code(string(c.Kind)), sentBy[c.Kind], acceptedFrom(c.Kind), c.Effect, string(c.Again), late, string(c.Forged)})
	}
	return table(rows)
}

// acceptedFrom says from whom a kind has an effect, by which channels.
func acceptedFrom(k protocol.Kind) string {
	var from []string
	for _, r := range policy.SendTable() {
		if !slices.Contains(r.Kinds, k) || r.FileTrust || r.From == policy.RoleOperator {
			continue
		}
		from = appendNew(from, fmt.Sprintf("the %s, when its journal has it", r.From))
	}
	if from == nil {
		return "nobody"
	}
	return strings.Join(from, "; ")
}

// modes is the table of permission modes: what each answers where no rule does.
func modes() string {
	head := []string{"mode", "meaning"}
	for _, a := range policy.Areas() {
		head = append(head, a.String())
	}
	rows := [][]string{append(head, "allow rules count for")}
	for _, m := range policy.Modes() {
		row := []string{code(string(m.Mode)), m.Meaning}
		for _, a := range policy.Areas() {
			d := m.Cell(a)
			if d == policy.Ask && m.Silent {
				d = policy.Deny
			}
			row = append(row, d.String())
		}
		reach := "everything"
		if m.Rules == policy.ReachReads {
			reach = "reads"
		}
		rows = append(rows, append(row, reach))
	}
	return table(rows)
}

// guarded is the table of guarded names.
func guarded() string {
	rows := [][]string{{"what", "names, at any depth, in any case"}}
	for _, g := range policy.GuardedGroups() {
		var names []string
		for _, n := range g.Names {
			names = append(names, code(n))
		}
		rows = append(rows, []string{g.Why, strings.Join(names, " ")})
	}
	return table(rows)
}

// diagram draws a machine in Mermaid's language. Moves that change the state are
// arrows; those that do not are listed below, where they do not hide the others.
func diagram(moves []machine.Transition) string {
	type pair struct{ from, to machine.State }
	var order []pair
	arrows := map[pair][]string{}
	var states []machine.State
	stays := map[machine.State][]string{}
	left := map[machine.State]bool{} // states with a way out
	for _, m := range moves {
		if m.From == m.To {
			if stays[m.From] == nil {
				states = append(states, m.From)
			}
			stays[m.From] = appendNew(stays[m.From], string(m.On))
			continue
		}
		p := pair{m.From, m.To}
		if arrows[p] == nil {
			order = append(order, p)
		}
		arrows[p] = appendNew(arrows[p], string(m.On))
		left[m.From] = true
	}
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	if len(moves) > 0 && moves[0].From != "" {
		fmt.Fprintf(&b, "    [*] --> %s\n", moves[0].From)
	}
	ended := map[machine.State]bool{}
	for _, p := range order {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", vertex(p.from), vertex(p.to), strings.Join(arrows[p], ", "))
	}
	for _, p := range order {
		if !left[p.to] && !ended[p.to] {
			ended[p.to] = true
			fmt.Fprintf(&b, "    %s --> [*]\n", p.to)
		}
	}
	b.WriteString("```\n")
	if len(states) == 0 {
		return b.String()
	}
	rows := [][]string{{"in", "these leave it there"}}
	for _, s := range states {
		rows = append(rows, []string{code(string(s)), strings.Join(stays[s], ", ")})
	}
	return b.String() + "\n" + table(rows)
}

func vertex(s machine.State) string {
	if s == "" {
		return "[*]"
	}
	return string(s)
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

var exitCode = regexp.MustCompile(`(\d+) (\S+(?: \S+)*)`)

// exitCodes is the table of exit codes, read from the text that the program
// itself shows: there is no other list of them.
func exitCodes(root *cobra.Command) (string, error) {
	_, text, ok := strings.Cut(root.Long, "Exit codes:\n")
	if !ok {
		return "", errors.New("the help of the root command has no list of exit codes")
	}
	meaning := map[int]string{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			break
		}
		for _, m := range exitCode.FindAllStringSubmatch(line, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return "", err
			}
			meaning[n] = m[2]
		}
	}
	rows := [][]string{{"exit", "meaning"}}
	for n := range len(meaning) {
		if meaning[n] == "" {
			return "", fmt.Errorf("the help of the root command does not say what exit code %d means", n)
		}
		rows = append(rows, []string{strconv.Itoa(n), meaning[n]})
	}
	if len(rows) == 1 {
		return "", errors.New("the help of the root command lists no exit code")
	}
	return table(rows), nil
}

// commands lists the commands with what they do.
func commands(root *cobra.Command) string {
	rows := [][]string{{"command", ""}}
	for _, c := range visible(root) {
		rows = append(rows, []string{code(c.CommandPath()), c.Short})
	}
	return table(rows)
}

func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("|")
		for _, cell := range row {
			b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
