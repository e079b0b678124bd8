package decidecmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

func Net(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Network access, per host and port: open requests, standing answers, allow, deny",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return netPending(cmd.Context(), a) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "pending",
		Short: "List the hosts of open requests",
		Long: `List the hosts that members ask for. A host that a member asks for several times is
one line; an answer answers all. --json: {"pending":[{"host","port","shown","member",
"instance","ids","reason","age_s","expires_at","status"}]}.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return netPending(cmd.Context(), a) },
	}, netListCmd(a), netAnswerCmd(a, true), netAnswerCmd(a, false))
	return cmd
}

func netPending(ctx context.Context, a *app.App) error {
	op, name, err := a.Team()
	if err != nil {
		return err
	}
	ns, err := decide.Of(op).NetPending(ctx, name)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(view.NetPending(ns, a.Now()))
	}
	if len(ns) == 0 {
		a.Talk("no member asks for a host in team %s", name)
		return nil
	}
	a.ShowPage(view.NetPendingPage(ns, a.Now()), name, nil)
	a.Talk("%s waggle net allow HOST | ID [--session | --until TIME] | net deny HOST | ID -m REASON", app.Faint("next:"))
	return nil
}

func netListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the standing answers",
		Long:  `List the answers that stand. --json: {"hosts":[{"host","port","shown","effect","scope","expires_at","from"}]}.`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			v, err := decide.Of(op).Policy(cmd.Context(), name, a.Flags.As)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(view.Grants(v.Hosts))
			}
			if len(v.Hosts) == 0 {
				a.Talk("no answer about a host stands in team %s", name)
				return nil
			}
			a.ShowPage(view.GrantPage(v.Hosts), name, nil)
			return nil
		},
	}
}

const netLong = ` TARGET is the id of a request, HOST, HOST:PORT or HOST:* for
every port; HOST may be *.NAME for the hosts below a name. Every request that waits
for it is answered, each by its own id.

Without more it is for what is asked now. --session stands for the member as long as
it is there, --until 2h, 18:00 or a date until then: the next request is answered by
it, and an enforcer reads it. --for names one member, or '*' for the team.
`

func netAnswerCmd(a *app.App, allow bool) *cobra.Command {
	var f netFlags
	cmd := &cobra.Command{Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteHosts,
		RunE: func(cmd *cobra.Command, args []string) error { return netAnswer(cmd.Context(), a, args[0], allow, f) }}
	fl := cmd.Flags()
	fl.BoolVar(&f.once, "once", false, "for what is asked now (the default)")
	fl.BoolVar(&f.session, "session", false, "as long as the member is there")
	fl.StringVar(&f.until, "until", "", "until then: 2h, 18:00, 2026-12-24")
	fl.StringVar(&f.member, "for", "", "for this member, or '*' for the team (default: whoever asks)")
	fl.StringVar(&f.digest, "digest", "", "with an id: only if its digest begins with these (at least 16) hex digits")
	fl.StringVarP(&f.reason, "message", "m", "", "why")
	app.Must(cmd.RegisterFlagCompletionFunc("for", a.CompleteMembers))
	if allow {
		cmd.Use, cmd.Short = "allow TARGET", "Open a host: once, for the session, or until a time"
		cmd.Long = "Open a host." + netLong + `
A wildcard wants --wildcard, or a yes on the terminal, and is never a public suffix
such as *.com or *.github.io. An international name is shown in both spellings.
--json: {"results","policy","grants"}.`
		fl.BoolVar(&f.wildcard, "wildcard", false, "yes, every host below that name")
		return cmd
	}
	cmd.Use, cmd.Short = "deny TARGET", "Close a host; takes back what was allowed for it"
	cmd.Long = "Close a host." + netLong + `
What was allowed for that very host and port is taken back. --json: {"results",
"policy","grants"}.`
	return cmd
}

type netFlags struct {
	once, session, wildcard       bool
	until, member, digest, reason string
}

func netAnswer(ctx context.Context, a *app.App, target string, allow bool, f netFlags) error {
	if f.once && f.session || f.until != "" && (f.once || f.session) {
		return &operator.Error{Kind: operator.Usage, Op: "net", Msg: "--once, --session and --until exclude each other"}
	}
	op, name, err := a.Team()
	if err != nil {
		return err
	}
	n := decide.NetAnswer{Member: waggle.MemberName(f.member), Allow: allow, Reason: f.reason, Session: f.session, Digest: f.digest, Wildcard: f.wildcard}
	if strings.HasPrefix(target, "sandbox-") {
		n.ID = target
	} else if n.Target, err = decide.ParseNetTarget(target); err != nil {
		return err
	}
	if f.until != "" {
		t, err := operator.ParseUntil(f.until, a.Now())
		if err != nil {
			return err
		}
		t = t.UTC()
		n.Until = &t
	}
	if allow && n.Target.Wild() && !f.wildcard && a.CanAsk() {
		if err := confirm(ctx, a, "this opens every host below "+n.Target.Host[2:]+", also those that do not exist yet", "open them?"); err != nil {
			return err
		}
		n.Wildcard = true
	}
	out, err := decide.Of(op).DecideNet(ctx, name, n)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		if err := a.Document(view.NetDecided(out)); err != nil {
			return err
		}
	}
	err = sayDecided(a, out.Results)
	if a.Flags.JSON {
		return err
	}
	a.ShowPage(view.NetDecidedPage(out), name, nil)
	return err
}
