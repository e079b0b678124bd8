package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/control"
	"waggle/operator"
)

func pendingCmd(a *App) *cobra.Command {
	var all, long bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List what waits for your decision, riskiest first, then oldest",
		Long: `List what waits for your decision, riskiest first, then oldest. Requests for the
same tool and pattern are one line, with how many they are and who asks; show and
--group take its id. The id of a group names exactly the requests in it.

With --json: {"pending":[…],"groups":[…]}. An item of pending has id, kind, member,
instance, tool, input, cwd, reason, digest, risk, age_s, expires_at, status (open,
expired, unanswerable; with --all also decided, closed). A group has id, kind, tool,
pattern, risk, count, members, ids, age_s, batch (whether --group may answer it).

When the process that asks has died, the list says so and show says more: the question
can be answered, and the answer waits for the next start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			qs, err := op.Pending(cmd.Context(), name, all)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.pendingJSON(qs)
			}
			if len(qs) == 0 {
				a.talk("nothing waits for you in team %s", name)
				return nil
			}
			if all || long {
				a.pendingTable(qs)
			} else {
				a.groupTable(operator.Groups(qs))
			}
			a.talk("%s waggle show ID | approve ID | deny ID -m REASON | approve --group ID", faint("next:"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "a line for each request")
	return cmd
}

func (a *App) pendingJSON(qs []operator.Question) error {
	items, open := []operator.PendingItem{}, []operator.Question{}
	for _, q := range qs {
		items = append(items, q.PendingItem)
		if q.Answer == nil && q.Status != operator.StatusClosed {
			open = append(open, q)
		}
	}
	return a.document(map[string]any{"pending": items, "groups": operator.Groups(open)})
}

func (a *App) pendingTable(qs []operator.Question) {
	var rows [][]string
	for _, q := range qs {
		status := statusWord(q)
		if q.Answer != nil {
			status = q.Answer.Decision + " by " + q.Answer.By
		}
		rows = append(rows, []string{q.ID, q.Member, q.Risk, ageOf(q.AgeS), status, what(q)})
	}
	a.list([]string{"ID", "MEMBER", "RISK", "AGE", "STATUS", "ASKS FOR"}, rows)
}

// groupTable has a line for each group; a request that is like no other is shown
// as itself.
func (a *App) groupTable(groups []operator.Group) {
	var rows [][]string
	for _, g := range groups {
		id, asks, status := g.ID, g.Pattern, operator.StatusOpen
		if g.Count == 1 {
			id, asks, status = g.IDs[0], what(g.Questions[0]), statusWord(g.Questions[0])
		}
		rows = append(rows, []string{id, strings.Join(g.Members, ", "), g.Risk, strconv.Itoa(g.Count), ageOf(g.AgeS), status, asks})
	}
	a.list([]string{"ID", "MEMBER", "RISK", "N", "AGE", "STATUS", "ASKS FOR"}, rows)
}

// statusWord is a question's status as a list shows it.
func statusWord(q operator.Question) string {
	if q.Asker != "" {
		return q.Status + ", asker dead"
	}
	return q.Status
}

func ageOf(seconds int64) string { return age(time.Duration(seconds) * time.Second) }

// what says in one line what a question asks for.
func what(q operator.Question) string {
	switch {
	case q.Plan != "":
		first, _, _ := strings.Cut(q.Plan, "\n")
		return fmt.Sprintf("plan, revision %d: %s", q.Revision, first)
	case q.Host != "":
		return "network to " + operator.ShownHost(q.Host, q.Port)
	}
	return operator.Describe(waggle.Kind(q.Kind), control.Ask{Tool: q.Tool, Input: string(q.Input)})
}

func showCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a request whole, or each of a group: what you would be allowing",
		Long: `Show a request whole: what you would be allowing. Nothing is cut, and characters
that cannot be seen are written out. ID is a request's or a group's; the beginning
of a request's id is enough when only one begins so. --json has the fields of
pending and host, port, plan, revision, hash, task, command, pattern, suggest, trust,
votes, asker, answer.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			if strings.HasPrefix(args[0], "g-") {
				return a.showGroup(cmd.Context(), op, name, args[0])
			}
			q, err := op.Show(cmd.Context(), name, args[0])
			if err != nil {
				return err
			}
			return a.showQuestion(*q)
		},
	}
}

func (a *App) showGroup(ctx context.Context, op operator.Operator, name waggle.TeamName, id string) error {
	qs, err := op.Pending(ctx, name, false)
	if err != nil {
		return err
	}
	e := &operator.Error{Code: operator.CodeNotFound, Op: "show", Msg: "no group " + id + ": what it named was answered, or another request has joined it", Hint: "look again: waggle pending"}
	for _, g := range operator.Groups(qs) {
		if g.ID != id {
			e.Near = append(e.Near, g.ID)
			continue
		}
		if a.flags.json {
			return a.document(map[string]any{"group": g, "requests": g.Questions})
		}
		for i, q := range g.Questions {
			if i > 0 {
				a.say("")
			}
			a.say("%s", questionText(q))
		}
		return nil
	}
	return e
}

func (a *App) showQuestion(q operator.Question) error {
	if a.flags.json {
		return a.document(q)
	}
	a.say("%s", questionText(q))
	return nil
}

// questionText shows everything a decision is about; nothing decisive is cut and
// hidden characters are written out.
func questionText(q operator.Question) string {
	var b strings.Builder
	row := func(k, v string) {
		if v != "" {
			fmt.Fprintf(&b, "%s %s\n", bold(fmt.Sprintf("%-8s", k)), operator.Visible(v))
		}
	}
	block := func(k, text string) {
		fmt.Fprintf(&b, "%s\n", bold(k))
		for _, l := range strings.Split(text, "\n") {
			fmt.Fprintf(&b, "  %s\n", operator.Visible(l))
		}
	}
	row("id", q.ID)
	row("member", q.Member+" ("+q.Trust+")")
	row("asks for", strings.TrimSuffix(q.Kind, "_request"))
	row("tool", q.Tool)
	if q.Tool != "" {
		row("input", string(q.Input))
	}
	if q.Command != "" {
		block("command", q.Command)
	}
	if q.Host != "" {
		row("host", operator.ShownHost(q.Host, q.Port))
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
		row("runs", string(n.Input))
		row("digest", n.Digest)
		row("way", strings.TrimSuffix(n.State+": "+n.Evidence, ": "))
	}
	return strings.TrimRight(b.String(), "\n")
}
