package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func digestCmd(a *App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use:   "digest [TEAM]",
		Short: "What happened while you were away, and what waits for you now",
		Long: `What happened since you last detached or decided something, whichever came later, or
since the time that --since names: tasks that were completed or failed, members that
died, were restarted or left, decisions that rules, the lead's agent or the deadline
made, messages for you, and what waits for you now, with the command that you would give
next. It marks nothing as read. A team that has ended is found too. Of a team that
another program leads, or led, it is what was done from here: who was registered, what
was sent, what guests did and what their lead decided. The team "-" is
that of the sessions that you started yourself; it is also meant where there is no team:
what they asked, and who answered, as {"since","events"} with --json (audit query).

--json: {"team","since","since_why","state","results":[{"at","member","task","subject",
"outcome","note","next"}],"members":[{"at","member","what","detail","next"}],
"decisions":[{"at","id","member","asks","decision","by","via","rule","reason","next"}],
"calls":{"allowed","denied":[…]},"messages":[{"at","from","text","read"}],
"sent":[{"at","from","to","text"}],
"waiting":[{"id","member","asks","risk","age_s","asker","next"}],"trouble":[…]}; trouble
lists the members that are dead, stalled or unknown now, like members.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completePast,
		RunE: func(cmd *cobra.Command, args []string) error {
			var from time.Time
			if since != "" {
				var err error
				if from, err = a.ago(since); err != nil {
					return err
				}
			}
			only, err := a.onlySessions(args)
			if err != nil {
				return err
			}
			if only {
				return a.digestSessions(from)
			}
			op, of, err := a.past(args)
			if err != nil {
				return err
			}
			d, err := inspect.Of(op).Digest(cmd.Context(), of, from)
			if err != nil {
				return err
			}
			spellDigest(d)
			if a.flags.json {
				return a.document(d)
			}
			a.sayDigest(d)
			if len(args) == 0 && a.flags.team == "" {
				if since, err := waggle.ParseTime(d.Since); err == nil {
					return a.sayDigestSessions(op, since, false)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "2h, 7d, 2026-11-20; your last decision unless said")
	return cmd
}

// sayDigest shows what there is of each kind, and what to do next.
func (a *App) sayDigest(d *inspect.Digest) {
	name := waggle.TeamName(d.Team)
	a.say("%s  %s, since %s (%s)", bold(operator.Visible(d.Team)), d.State, a.moment(d.Since), operator.Visible(d.SinceWhy))
	quiet := true
	part := func(title, next string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		quiet = false
		head := bold(title)
		if next != "" {
			head += "  " + faint(next)
		}
		a.say("\n%s", head)
		for _, l := range tableLines(make([]string, len(rows[0])), rows, width(a.Out), nil)[1:] {
			a.say("  %s", l)
		}
	}
	if d.State == "interrupted" {
		a.say("%s", faint("waggle resume "+d.Team+a.scope(name)))
	}
	var rows [][]string
	for _, w := range d.Waiting {
		asker := ""
		if w.Asker != "" {
			asker = "asker dead"
		}
		rows = append(rows, []string{w.ID, w.Member, w.Risk, ageOf(w.AgeS), w.Asks, asker})
	}
	part("Waits for you", "waggle pending"+a.scope(name), rows)
	rows = nil
	for _, r := range d.Results {
		subject := fmt.Sprintf("task %s %q", r.Task, r.Subject)
		rows = append(rows, []string{a.moment(r.At), r.Outcome, r.Member, subject, r.Note})
	}
	part("Results", nextOf(a, d.Results, func(r inspect.DigestResult) string { return r.Next }, name), rows)
	part("Members", nextOf(a, d.Members, func(m inspect.DigestMember) string { return m.Next }, name), a.memberRows(d.Members))
	part("Not well now", nextOf(a, d.Trouble, func(m inspect.DigestMember) string { return m.Next }, name), a.memberRows(d.Trouble))
	part("Decided without you", nextOf(a, d.Decisions, func(n inspect.DigestDecision) string { return n.Next }, name), a.decisionRows(d.Decisions))
	part("Refused by rules", nextOf(a, d.Calls.Denied, func(n inspect.DigestDecision) string { return n.Next }, name), a.decisionRows(d.Calls.Denied))
	rows = nil
	for _, m := range d.Messages {
		rows = append(rows, []string{a.moment(m.At), m.From, m.Text})
	}
	part("Messages", "waggle inbox"+a.scope(name), rows)
	rows = nil
	for _, m := range d.Sent {
		rows = append(rows, []string{a.moment(m.At), m.From, "to " + m.To, m.Text})
	}
	part("Sent", "waggle msg list"+a.scope(name), rows)
	switch {
	case d.Calls.Allowed > 0:
		a.say("\n%s", faint(view.Count(d.Calls.Allowed, "call")+" allowed by rules; waggle audit query"+a.scope(name)))
	case quiet:
		a.say("nothing happened")
	}
}

// moment is a time for people, "" for none.
func (a *App) moment(ts string) string {
	t, err := waggle.ParseTime(ts)
	if err != nil {
		return ""
	}
	return view.Clock(t, a.Now().Local())
}

func (a *App) memberRows(ms []inspect.DigestMember) (rows [][]string) {
	for _, m := range ms {
		rows = append(rows, []string{a.moment(m.At), m.Member, m.What, m.Detail})
	}
	return rows
}

func (a *App) decisionRows(ns []inspect.DigestDecision) (rows [][]string) {
	for _, n := range ns {
		why := n.Rule
		if why == "" {
			why = n.Reason
		}
		by := n.By
		if n.Via != "" && n.Via != n.By {
			by += " (" + n.Via + ")"
		}
		rows = append(rows, []string{a.moment(n.At), n.Decision + " by " + by, n.Member, n.Asks, why})
	}
	return rows
}

// nextOf is the command for the last item that has one, "" for none.
func nextOf[T any](a *App, items []T, next func(T) string, name waggle.TeamName) string {
	for _, i := range slices.Backward(items) {
		if n := next(i); n != "" {
			return n + a.scope(name)
		}
	}
	return ""
}
