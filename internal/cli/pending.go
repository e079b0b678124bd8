package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"waggle"
	"waggle/control"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

func pendingCmd(a *App) *cobra.Command {
	var all, long bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List what waits for your decision, riskiest first, then oldest",
		Long: `List what waits for your decision, riskiest first, then oldest. Without --team that is
every team here and every session of yours that has the hook (waggle hooks install); a
session has no team ("-"), and its questions gate nothing. Requests of one
risk are a group when their inputs are equal, when their commands begin with the same
words and have the same options (words that begin with -, + or @, or have a =), or when
only the file below one directory differs. Each different input of a group is shown
whole, and the group's id stands for exactly that text and those requests: when one
comes or goes, the id is another. Of a group that is too long for the list no id is
shown: show --group ID, with the id of any request of it, prints all of it, and the id.

With --json: {"pending":[…],"groups":[…]}. An item of pending has team, id, kind, member,
instance, tool, input, cwd, reason, digest, risk, age_s, expires_at, status (open,
expired, unanswerable; with --all also decided, closed), and handle, the few
characters that every command takes for the id. A group has id, team, kind,
tool, pattern, risk, count, members, ids, age_s, batch (whether --group may answer it), text
(the lines that its id stands for).

It records nothing: when nobody leads, questions that no leader has taken in are listed,
those that the rules answer are not, and one whose deadline has passed is expired.

When the process that asks has died, the list says so and show says more: the question
can be answered, and the answer waits for the next start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			qs, of, err := a.waiting(cmd.Context(), all)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.pendingJSON(qs)
			}
			if len(qs) == 0 {
				a.talk("nothing waits for you %s", of)
				return nil
			}
			if all || long {
				a.pendingTable(qs)
			} else {
				a.groupTable(decide.Groups(qs))
			}
			a.talk("%s waggle show ID | approve ID | deny ID -m REASON | approve --group ID", faint("next:"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "a line for each request")
	return cmd
}

func (a *App) pendingJSON(qs []decide.Question) error {
	items, open := []decide.PendingItem{}, []decide.Question{}
	for _, q := range qs {
		items = append(items, q.PendingItem)
		if q.Answer == nil && q.Status != decide.StatusClosed {
			open = append(open, q)
		}
	}
	return a.document(map[string]any{"pending": items, "groups": decide.Groups(open)})
}

func (a *App) pendingTable(qs []decide.Question) {
	var rows [][]string
	teams := teamsOf(qs)
	for _, q := range qs {
		status := statusWord(q)
		if q.Answer != nil {
			status = q.Answer.Decision + " by " + q.Answer.By
		}
		rows = append(rows, []string{idOf(q), memberOf(q, teams), q.Risk, ageOf(q.AgeS), status, what(q)})
	}
	a.list([]string{"ID", "MEMBER", "RISK", "AGE", "STATUS", "ASKS FOR"}, rows)
}

// What a list shows of one entry; what is longer is folded.
const (
	foldLines = 40
	foldBytes = 4096
)

// groupTable has a row for each group, and below it what it asks for, whole, where
// that is more than a line. A request that is like no other is shown as itself.
func (a *App) groupTable(groups []decide.Group) {
	total := width(a.Out)
	several := slices.ContainsFunc(groups, func(g decide.Group) bool { return g.Team != groups[0].Team })
	headers := []string{"ID", "MEMBER", "RISK", "N", "AGE", "STATUS", "ASKS FOR"}
	var rows [][]string
	blocks := make([][]string, len(groups))
	for i, g := range groups {
		id, about, block, status := g.ID, g.Pattern, g.Text, decide.StatusOpen
		rest := "the rest, and the id to answer it by: waggle show --group " + idOf(g.Questions[0])
		if g.Count == 1 {
			id, status, rest = idOf(g.Questions[0]), statusWord(g.Questions[0]), "the rest: waggle show "+idOf(g.Questions[0])
			about, block = single(g.Questions[0])
		}
		if part, folded := fold(block); folded {
			block = append(part, rest)
			if g.Count > 1 {
				id = "-"
			}
		}
		blocks[i] = block
		who := strings.Join(g.Members, ", ")
		if several && g.Team != decide.SessionTeam {
			who = g.Team + "/" + who
		}
		rows = append(rows, []string{id, who, g.Risk, strconv.Itoa(g.Count), ageOf(g.AgeS), status, about})
	}
	if total > 0 && slices.ContainsFunc(tableLines(headers, rows, 0, nil), func(l string) bool { return ansi.StringWidth(l) > total }) {
		last := len(headers) - 1
		for i, r := range rows { // the last column goes below the row
			blocks[i] = append([]string{operator.Visible(r[last])}, blocks[i]...)
			rows[i] = r[:last]
		}
		headers = headers[:last]
	}
	for i, l := range tableLines(headers, rows, total, nil) {
		a.say("%s", l)
		if i == 0 {
			continue
		}
		for _, l := range wrapAll(blocks[i-1], total-4) {
			a.say("    %s", l)
		}
	}
}

// single is what a list says of one request: in its row, and below.
func single(q decide.Question) (about string, block []string) {
	if q.Command == "" {
		return what(q), nil
	}
	asks := q.Asks()
	if len(asks) == 1 {
		return q.Tool + " " + asks[0], nil
	}
	for _, l := range asks {
		block = append(block, "| "+l)
	}
	return q.Tool + ", " + view.Count(len(asks), "line") + ":", block
}

// fold keeps the first lines of what is too long for a list.
func fold(lines []string) (part []string, folded bool) {
	size := 0
	for i, l := range lines {
		if size += len(l); i == foldLines || size > foldBytes {
			return slices.Clone(lines[:i]), true
		}
	}
	return lines, false
}

// statusWord is a question's status as a list shows it.
func statusWord(q decide.Question) string {
	if q.File != "" {
		return q.Status + ", by file"
	}
	if q.Asker != "" {
		return q.Status + ", asker dead"
	}
	return q.Status
}

func ageOf(seconds int64) string { return operator.Age(time.Duration(seconds) * time.Second) }

// what says in one line what a question asks for.
func what(q decide.Question) string {
	switch {
	case len(q.Questions) > 0:
		return "question: " + q.Questions[0].Text
	case q.Plan != "":
		first, _, _ := strings.Cut(q.Plan, "\n")
		return fmt.Sprintf("plan, revision %d: %s", q.Revision, first)
	case q.Host != "":
		return "network to " + decide.ShownHost(q.Host, q.Port)
	}
	return decide.Describe(waggle.Kind(q.Kind), control.Ask{Tool: q.Tool, Input: string(q.Input)})
}

func showCmd(a *App) *cobra.Command {
	var group bool
	cmd := &cobra.Command{
		Use:   "show ID | GROUP | PATTERN",
		Short: "Show a request whole, or all of a group and its id: what you would be allowing",
		Long: `Show a request whole: what you would be allowing. Nothing is cut, characters that
cannot be seen are written out, and a line that is wrapped goes on behind a +. ID is a
request's handle or id; the beginning of an id is enough when only one begins so.

A group is named by its id, by a pattern that pending shows ('Bash(go test:*)'), or
with --group by a request of it. All of it is printed, and last the id that
approve --group takes.

--json has the fields of pending and host, port, plan, revision, hash, task, command,
pattern, suggest, trust, votes, asker, answer; of a tool call also what its digest covers
beside the input: stdin, env, held (waggle runs the call itself), program, words, scripts,
paths; else unheld. Of a group {"group","requests"}.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			if group || decide.IsGroup(args[0]) || strings.Contains(args[0], "(") {
				return a.showGroup(cmd.Context(), args[0])
			}
			q, err := a.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showQuestion(*q)
		},
	}
	cmd.Flags().BoolVarP(&group, "group", "g", false, "the whole group of this request")
	return cmd
}

// showGroup prints all of a group, and last its id: who stops reading before has
// nothing to answer it by.
func (a *App) showGroup(ctx context.Context, word string) error {
	g, err := a.findGroup(ctx, word)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(map[string]any{"group": g, "requests": g.Questions})
	}
	for _, l := range wrapAll(g.Text, width(a.Out)) {
		a.say("%s", l)
	}
	for _, q := range g.Questions {
		a.say("\n%s", questionText(q, width(a.Out)))
	}
	if !g.Batch {
		a.say("\n%s", faint("each is answered by its id"))
		return nil
	}
	a.say("\n%s %s", bold("group   "), g.ID)
	return nil
}

func (a *App) showQuestion(q decide.Question) error {
	if a.flags.json {
		return a.document(q)
	}
	a.say("%s", questionText(q, width(a.Out)))
	return nil
}

// questionText shows everything a decision is about; nothing decisive is cut and
// hidden characters are written out. Text of agents never begins a line: what is
// wider than total columns, 0 for any number, goes on behind a mark.
func questionText(q decide.Question, total int) string {
	var b strings.Builder
	row := func(k, v string) {
		if v != "" {
			for i, l := range wrap(operator.Visible(v), total-11) {
				head := bold(fmt.Sprintf("%-8s", k))
				if i > 0 {
					head = strings.Repeat(" ", 8) + " +"
				}
				fmt.Fprintf(&b, "%s %s\n", head, l)
			}
		}
	}
	block := func(k, text string) {
		fmt.Fprintf(&b, "%s\n", bold(k))
		for _, l := range strings.Split(text, "\n") {
			for _, l := range wrapAll([]string{"  | " + operator.Visible(l)}, total) {
				fmt.Fprintf(&b, "%s\n", l)
			}
		}
	}
	row("id", q.ID)
	row("handle", q.Handle)
	row("member", q.Member+" ("+q.Trust+")")
	row("asks for", strings.TrimSuffix(q.Kind, "_request"))
	row("tool", q.Tool)
	if q.Tool != "" {
		row("input", decide.ShownJSON(string(q.Input)))
	}
	if q.Command != "" {
		block("command", q.Command)
	}
	if text := q.Edits(); text != "" {
		block("edits", text)
	}
	for i, one := range q.Questions {
		block(fmt.Sprintf("question %d", i+1), one.Text)
		for j, opt := range one.Options {
			row(fmt.Sprintf("%8d", j+1), strings.TrimSuffix(opt.Label+": "+opt.Description, ": "))
		}
		if one.Multiple {
			row("", "several: 1,2")
		}
	}
	if q.Stdin != "" {
		block("stdin", q.Stdin)
	}
	for _, kv := range q.Env {
		row("env", kv)
	}
	row("program", q.Program)
	for _, w := range q.Words {
		row("word", w.Name+" is "+w.Path)
	}
	for _, s := range q.Scripts {
		row("script", s.Path+", sha256 "+s.SHA256)
	}
	for _, p := range q.Paths {
		switch {
		case p.Real == "":
			row("path", p.Spelled+" cannot be resolved")
		case p.Real != p.Spelled:
			row("path", p.Spelled+" is "+p.Real)
		}
	}
	row("not held", q.Unheld)
	if q.Host != "" {
		row("host", decide.ShownHost(q.Host, q.Port))
	}
	row("cwd", q.Cwd)
	row("task", q.Task)
	row("reason", q.Reason)
	row("risk", q.Risk)
	row("digest", q.Digest)
	row("status", q.Status)
	row("asker", q.Asker)
	if q.ExpiresAt != nil {
		row("expires", *q.ExpiresAt)
	}
	row("allowed", strings.Join(q.Votes, ", "))
	row("left by", q.Escalated)
	row("rules", strings.Join(q.Suggest, "   "))
	if q.Hash != "" {
		row("revision", fmt.Sprintf("%d, sha256 %s", q.Revision, q.Hash))
		block("plan", q.Plan)
	}
	if n := q.Answer; n != nil {
		row("answer", fmt.Sprintf("%s by %s (%s) at %s, policy version %d", n.Decision, n.By, n.Via, n.At, n.Policy))
		row("rule", n.Rule)
		row("said", n.Reason)
		row("runs", decide.ShownJSON(string(n.Input)))
		row("digest", n.Digest)
		row("way", strings.TrimSuffix(n.State+": "+n.Evidence, ": "))
	}
	return strings.TrimRight(b.String(), "\n")
}
