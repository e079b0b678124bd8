package decidecmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/protocol"
	"waggle/team"
)

const pastHelp = `TEAM is a name, or the id of a team that was (<team>-<8 hex digits>); the
journals of a deleted team are kept, and the wire tree is not needed.`

func Audit(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Who allowed what: verify, query, show and export the journals",
		Long:  "Show who allowed what, by which rule or person, under which policy, and the outcome.\n" + pastHelp,
	}
	cmd.AddCommand(auditVerifyCmd(a), auditQueryCmd(a), auditShowCmd(a), auditExportCmd(a))
	return cmd
}

func auditVerifyCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [TEAM]",
		Short: "Read every line of every journal and name the first bad record",
		Long: `Read every line of every journal and check its sum, the chain of sums, the record bodies,
the order of the records, and that the journals agree, which also finds a journal whose
end was cut off. The command compares each snapshot with its journal, and asks the rules
again about the calls that they decided, when the same version of the rules' judge did.
It names the first bad record of each journal with file and line, and then exits 1.
Keep the heads in another place: a person who rewrites a whole chain changes its head.
` + pastHelp + `

--json: {"team","id","ok","journals":[{"name","owner","records","head","ok"}],
"problems":[{"journal","owner","file","line","seq","why"}],"acknowledged":[{"journal",
"owner","file","line","seq","why","lost_records","kept","at"}],"snapshots","recomputed",
"not_recomputed"}. A break that you have acknowledged is listed and is not a problem.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.EachTeam(cmd.Context(), pastTeam(a, args), func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				v, err := inspect.Of(op).Verify(cmd.Context(), string(name))
				if err != nil {
					return app.Output{}, err
				}
				if !v.OK {
					err = app.ExitError(app.ExitFailed)
				}
				return app.Output{Doc: v, Page: view.VerifiedPage(v)}, err
			})
		},
	}
}

// What --decision and --by take.
var (
	decisions = []string{"allow", "deny", "answer"}
	deciders  = []string{"operator", "rules", "leader", "system", "worker"}
)

// oneOf refuses a word that a flag does not take.
func oneOf(flag, word string, of []string) error {
	if word == "" || slices.Contains(of, word) {
		return nil
	}
	return &operator.Error{Kind: operator.Usage, Op: "audit query", Msg: fmt.Sprintf("%s %q is none of %s", flag, word, strings.Join(of, ", ")), Near: team.Near(word, of)}
}

func auditQueryCmd(a *app.App) *cobra.Command {
	var q operator.AuditQuery
	var since, until string
	cmd := &cobra.Command{
		Use:   "query [NAME | TEAM]",
		Short: "List the gated calls with their decisions and outcomes",
		Long: `List the gated calls, the person or rule that decided each, and its outcome; with NAME,
those of one member, which is found in all teams.
` + pastHelp + `
The team "-" stands for the sessions that you started yourself, and their requests.

--json: {"team","id","events":[{"id","handle","kind","member","instance","trust","task",
"tool","input","cwd","reason","digest","risk","asked_at","decision","by","channel","via",
"rule","said","policy_version","decided_at","outcome","exit_code"}]}, and updated_input
and updated_digest when you changed the input. Outcome is done, failed, running or
unknown; "" when the call did not start. A journal that is broken is named in "problems",
as by audit verify, and is exit 1; the calls of the other members are listed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(oneOf("--decision", q.Decision, decisions), oneOf("--by", q.By, deciders)); err != nil {
				return err
			}
			sessions := len(args) > 0 && args[0] == decide.SessionTeam
			if sessions {
				args = nil
			}
			op, args, name, err := subject(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			q.Member = name
			if len(args) > 1 { // the member is in several teams
				args = nil
			}
			if q.Since, err = ago(a, since); err != nil {
				return err
			}
			if q.Until, err = ago(a, until); err != nil {
				return err
			}
			if sessions {
				es, broken := decide.Of(op).SessionAudit(q)
				if len(es) == 0 && !a.Flags.JSON {
					a.Talk("no such call is on record in sessions")
					return broken
				}
				return errors.Join(a.Give(view.Audit("sessions", decide.SessionTeam, es, broken), view.AuditPage(es, a.Clock())), broken)
			}
			return a.EachTeam(cmd.Context(), pastTeam(a, args), func(op operator.Operator, of protocol.TeamName) (app.Output, error) {
				r, es, broken := inspect.Of(op).Audit(cmd.Context(), string(of), q)
				if r == nil {
					return app.Output{}, broken
				}
				return app.Output{Doc: view.Audit(r.ID(), string(r.Team), es, broken), Page: view.AuditPage(es, a.Clock()), None: "no such call is on record"}, broken
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&q.Tool, "tool", "", "only calls of this tool")
	fl.StringVar(&q.Decision, "decision", "", "only these decisions: "+strings.Join(decisions, ", "))
	fl.StringVar(&q.By, "by", "", "only decided by one of "+strings.Join(deciders, ", "))
	fl.StringVar(&q.Rule, "rule", "", "only decided by a rule that contains this text")
	app.WhenVar(fl, &since, "since", "asked since: 7d, 2h, 2026-11-20")
	app.WhenVar(fl, &until, "until", "asked before: 7d, 2h, 2026-11-20")
	app.OneOf(cmd, "decision", decisions...)
	app.OneOf(cmd, "by", deciders...)
	return cmd
}

// ago reads a past time: a span back from now, a date, RFC 3339.
func ago(a *app.App, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := operator.ParseSpan(s); err == nil {
		return a.Now().Add(-d), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, a.Now().Location()); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, &operator.Error{Kind: operator.Usage, Op: "audit", Msg: fmt.Sprintf("%q is not a time: give a span back (7d, 2h), a date (2026-11-20) or RFC 3339", s)}
	}
	return t, nil
}

func auditShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show one call whole: what was shown, who decided, every record about it",
		Long: `Show one call whole: the request, what you were shown, who decided, through which channel
and by which rule, its outcome, and every record about it. --team names a team, also one
that was deleted. --json: {"event","records":[{"journal","owner","seq","time","writer",
"kind","body"}]}; event is as for audit query.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.EachTeam(cmd.Context(), pastTeam(a, nil), func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				d, err := inspect.Of(op).AuditShow(cmd.Context(), string(name), args[0])
				if d == nil {
					return app.Output{}, err
				}
				return app.Output{Doc: d, Page: view.AuditShowPage(d, a.Clock())}, err
			})
		},
	}
}

func auditExportCmd(a *app.App) *cobra.Command {
	var redact bool
	cmd := &cobra.Command{
		Use:   "export [TEAM] [--redact]",
		Short: "Write all records, one JSON object a line",
		Long: `Write every record of the journals to stdout in order of time, one JSON object a line:
{"journal","owner","seq","time","writer","kind","body"}. --redact masks secrets: values
that the environment holds under names such as API_KEY, tokens of known forms, and what
follows words such as password. It cannot find every secret. The journals themselves do
not change.
` + pastHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := Past(a, args)
			if err != nil {
				return err
			}
			var r *inspect.Redactor
			if redact {
				r = inspect.NewRedactor(a.Environ)
			}
			return inspect.Of(op).Export(cmd.Context(), of, r, func(rec inspect.AuditRecord) error { return a.Line(rec) })
		},
	}
	cmd.Flags().BoolVar(&redact, "redact", false, "mask secrets")
	return cmd
}
