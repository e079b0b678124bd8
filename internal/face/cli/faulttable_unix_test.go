//go:build unix

package cli_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is how a command ended.
type outcome struct {
	code int
	took time.Duration
}

// faultTable has the outcomes of all pairs of a file and a damage.
type faultTable struct {
	mu            sync.Mutex
	rows          map[string]map[string][]outcome // by file, by command
	cells, failed int
	slowest       time.Duration
}

func (ft *faultTable) add(file string, f *faulty) {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	row := ft.rows[file]
	if row == nil {
		row = map[string][]outcome{}
		ft.rows[file] = row
	}
	for command, seen := range f.seen {
		row[command] = append(row[command], seen...)
	}
	ft.cells, ft.failed, ft.slowest = ft.cells+f.n, ft.failed+len(f.bad), max(ft.slowest, f.slow)
}

// tableCommands are the columns of the table.
var tableCommands = []string{"status", "pending", "approve", "send", "stop", "resume", "down"}

// String is the table, as WAGGLE_FAULT_TABLE gets it: of each file, over all damages, the
// exit codes of each command and its longest time in seconds.
func (ft *faultTable) String() string {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "| file | %s |\n|---|%s\n", strings.Join(tableCommands, " | "), strings.Repeat("---|", len(tableCommands)))
	for _, file := range faultFiles {
		row := ft.rows[file.name]
		if row == nil {
			continue
		}
		cells := make([]string, len(tableCommands))
		for i, command := range tableCommands {
			codes, longest := map[int]bool{}, time.Duration(0)
			for _, o := range row[command] {
				codes[o.code], longest = true, max(longest, o.took)
			}
			cells[i] = fmt.Sprintf("%s, %.1f", strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(codes))), "[]"), longest.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s |\n", file.name, strings.Join(cells, " | "))
	}
	return b.String()
}

// hints has the commands that were run because the hint of an error names them.
type hints map[string]bool

var hinted = regexp.MustCompile(`waggle ((?:[a-z]+ ?)(?:(?:--[a-z]+|api|ann|bob|verify|list|show|add|delete|NAME|ID)(?: |\b))*)`)

// ending are the commands that end or begin what other commands of a pair need. A hint
// that names one of them is not followed: down is run last anyway.
var ending = []string{"down", "stop", "up", "run", "init", "demo", "attach"}

// follow runs the commands that the hint of an error names, and those that their errors
// name. Each command exists, was not run on the way to it, and works, or is one of ending.
func (f *faulty) follow(out string, way ...[]string) {
	for line := range strings.Lines(out) {
		_, hint, ok := strings.Cut(line, "hint:")
		if !ok {
			continue
		}
		for _, m := range hinted.FindAllStringSubmatch(hint, -1) {
			args := strings.Fields(m[1])
			if slices.Contains(args, "NAME") || slices.Contains(args, "ID") {
				continue // a person has to choose
			}
			f.hinted(args, strings.TrimSpace(line), way)
		}
	}
}

func (f *faulty) hinted(args []string, line string, way [][]string) {
	told := strings.Join(args, " ")
	for _, w := range way {
		if sameCommand(w, args) {
			f.wrong("%s: waggle %s sends back to waggle %s: %s", f.cell, strings.Join(way[len(way)-1], " "), told, line)
			return
		}
	}
	if slices.Contains(ending, args[0]) || f.hint[told] || len(way) > 3 {
		return
	}
	f.hint[told] = true
	if args[0] == "resume" {
		args = append(args, "--detach")
	}
	code, out, took := f.waggle(args...)
	f.n++
	// A command that reads something broken may end with exit code 1. Repair shows it, ends with 3, and says what is next.
	looks := code == 1 && slices.Contains([]string{"audit", "doctor", "gc", "status", "why", "log"}, args[0]) ||
		code == 3 && args[0] == "repair" && strings.Contains(out, "next:")
	f.within(args, took)
	switch {
	case code == 2, code != 0 && !looks && !strings.Contains(out, "hint:"):
		f.wrong("%s: %s: waggle %s: exit %d after %v: %s", f.cell, line, told, code, took.Round(time.Millisecond), tailOf(out))
	case code != 0:
		f.follow(out, append(slices.Clone(way), args)...)
	}
}

// sameCommand reports that a hint names a command that was given, whatever its order.
func sameCommand(given, told []string) bool {
	if given[0] != told[0] {
		return false
	}
	for _, w := range told {
		if !slices.Contains(given, w) {
			return false // the hint has a word that the given command lacks
		}
	}
	for _, w := range given {
		if strings.HasPrefix(w, "--") && w != "--team" && w != "--grace" && w != "--detach" && !slices.Contains(told, w) {
			return false
		}
	}
	return true
}
