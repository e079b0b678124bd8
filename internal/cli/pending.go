package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/control"
	"waggle/operator"
)

func pendingCmd(a *App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List what waits for your decision",
		Args:  cobra.NoArgs,
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
				return a.document(map[string]any{"pending": qs})
			}
			if len(qs) == 0 {
				a.talk("nothing waits for you in team %s", name)
				return nil
			}
			a.pendingTable(qs)
			a.talk("%s waggle show ID | approve ID | deny ID -m REASON", faint("next:"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered")
	return cmd
}

func (a *App) pendingTable(qs []operator.Question) {
	var rows [][]string
	for _, q := range qs {
		status := q.Status
		if q.Decision != "" {
			status = q.Decision + " by " + q.By
		}
		rows = append(rows, []string{q.ID, q.Member, q.Risk, age(time.Duration(q.AgeS) * time.Second), status, what(q)})
	}
	a.table([]string{"ID", "MEMBER", "RISK", "AGE", "STATUS", "ASKS FOR"}, rows)
}

// what says in one line what a question asks for.
func what(q operator.Question) string {
	ask := control.Ask{Tool: q.Tool, Input: string(q.Input), Host: q.Host}
	s := operator.Describe(waggle.Kind(q.Kind), ask)
	if q.Plan != "" {
		first, _, _ := strings.Cut(q.Plan, "\n")
		s += ": " + first
	}
	return s
}

func showCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a request whole: what you would be allowing",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			qs, err := op.Pending(cmd.Context(), name, true)
			if err != nil {
				return err
			}
			for _, q := range qs {
				if q.ID == args[0] {
					return a.showQuestion(q)
				}
			}
			e := &control.UnknownRequestError{ID: waggle.RequestID(args[0])}
			for _, q := range qs {
				if q.Status == "open" {
					e.Near = append(e.Near, q.ID)
				}
			}
			return e
		},
	}
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
	row("id", q.ID)
	row("member", q.Member+" ("+q.Trust+")")
	row("asks for", strings.TrimSuffix(q.Kind, "_request"))
	row("tool", q.Tool)
	row("input", string(q.Input))
	row("host", q.Host)
	row("cwd", q.Cwd)
	row("reason", q.Reason)
	row("risk", q.Risk)
	row("digest", q.Digest)
	row("status", q.Status)
	if q.ExpiresAt != nil {
		row("expires", *q.ExpiresAt)
	}
	if q.Decision != "" {
		row("answer", q.Decision+" by "+q.By+" at "+q.At)
	}
	if q.Plan != "" {
		fmt.Fprintf(&b, "%s\n", bold("plan"))
		for _, l := range strings.Split(q.Plan, "\n") {
			fmt.Fprintf(&b, "  %s\n", operator.Visible(l))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
