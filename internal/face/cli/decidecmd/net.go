package decidecmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

func Net(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Network access, per host and port: open requests, standing answers, allow, deny",
		RunE:  func(cmd *cobra.Command, _ []string) error { return netPending(cmd.Context(), a) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "pending",
		Short: "List the hosts of open requests",
		Long: `List the hosts that members ask for. Several requests of a member for one host are one
line, and one answer answers all of them. Without an enforced sandbox an answer binds only
what keeps to it. --json: {"pending":[{"host","port","shown","member","instance","ids",
"reason","age_s","expires_at","status","enforced","sandbox"}]}; several hosts that are
asked for as a whole are one "host", joined by commas.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return netPending(cmd.Context(), a) },
	}, netListCmd(a), netAnswerCmd(a, true), netAnswerCmd(a, false), netRevokeCmd(a))
	return cmd
}

func netPending(ctx context.Context, a *app.App) error {
	return app.ShowEach(ctx, a, a.TeamRead, func(op operator.Operator, name protocol.TeamName) ([]decide.NetRequest, error) {
		return decide.Of(op).NetPending(ctx, name)
	}, func(ns []decide.NetRequest) app.Output {
		return app.Output{Doc: map[string]any{"pending": ns}, Page: policyview.NetPendingPage(ns, a.Now()), None: "no member asks for a host",
			Talk: app.Faint("next:") + " waggle net allow HOST | ID [--session | --until TIME] | net deny HOST | ID -m REASON"}
	})
}

func netListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list [NAME]",
		Aliases: []string{"ls"},
		Short:   "List the standing answers",
		Long: `List the answers that apply to later requests, with NAME those for that member, who gave
each, and whether a sandbox enforces it for the member's commands. Without an enforced
sandbox an answer binds only tools that ask. A deny rule for a host
(WebFetch(domain:HOST)) and a mode that denies every host close what an answer allows:
the row names them.
--json: {"hosts":[{"host","port","shown","effect","scope","expires_at","from","by",
"enforced","sandbox","closed"}]}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asMember(cmd.Context(), a, args); err != nil {
				return err
			}
			return showPolicy(cmd.Context(), a, a.Flags.As, func(v *decide.PolicyView) app.Output {
				return app.Output{Doc: map[string]any{"hosts": v.Hosts}, Page: policyview.GrantPage(v.Hosts, a.Clock()), None: "no answer about a host stands"}
			})
		},
	}
}

const netLong = ` TARGET is the handle or the id of an open request, HOST, HOST:PORT or
HOST:* for every port; HOST may be *.NAME for the hosts below a name, and an IPv6 address
with a port is in brackets. What has a dot or a colon is a host. The command answers every
open request for the target, each by its own id; one for several hosts is answered as a
whole: allowed when the target covers all of them, denied when it covers one.

Without a flag the answer covers the open requests only. With --session it applies to the
member until it leaves, with --until 2h, 18:00 or a date until then: it answers later
requests, and the network proxy of the sandbox applies it. --for names one member, or '*'
for the team.
`

func netAnswerCmd(a *app.App, allow bool) *cobra.Command {
	f := netFlags{NetAnswer: decide.NetAnswer{Allow: allow}}
	cmd := &cobra.Command{
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			return netAnswer(ctx, a, op, args[0], f)
		})}
	fl := cmd.Flags()
	fl.BoolVar(&f.once, "once", false, "only for the open requests (the default)")
	fl.BoolVar(&f.Session, "session", false, "until the member leaves")
	app.WhenVar(fl, &f.until, "until", "until then: 2h, 18:00, 2026-12-24")
	fl.StringVar((*string)(&f.Member), "for", "", "for this member, or '*' for the team (default: the members that ask)")
	fl.StringVar(&f.Digest, "digest", "", "with an id: only if its digest begins with these (at least 16) hex digits")
	fl.StringVarP(&f.Reason, "message", "m", "", "why")
	if allow {
		cmd.Use, cmd.Short = "allow TARGET", "Allow a host: once, for the session, or until a time"
		cmd.Long = "Allow a host." + netLong + `
A wildcard, also one that is asked for, needs --wildcard, or a yes on the terminal, and
cannot be a public suffix such as *.com or *.github.io. The command shows an international
name in both spellings, and says where nothing enforces the answer.
--json: {"results","policy","grants","unenforced"}.`
		fl.BoolVar(&f.Wildcard, "wildcard", false, "confirm that it covers every host below that name")
		return cmd
	}
	cmd.Use, cmd.Short = "deny TARGET", "Deny a host, and remove the permission for it"
	cmd.Long = "Deny a host." + netLong + `
The command removes the permission for that very host and port. --json: {"results",
"policy","grants","unenforced"}.`
	return cmd
}

func netRevokeCmd(a *app.App) *cobra.Command {
	f := netFlags{NetAnswer: decide.NetAnswer{Revoke: true}}
	cmd := &cobra.Command{
		Use:     "revoke TARGET",
		Aliases: []string{"rm"},
		Short:   "Remove the permission for a host; the next connection asks",
		Long: `Remove the permission for HOST, HOST:PORT, or HOST:* for every port, from every member
or with --for from one. Open connections to it are closed, and the next connection asks
again. Open requests stay open. --json is as for net deny.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			return netAnswer(ctx, a, op, args[0], f)
		}),
	}
	cmd.Flags().StringVar((*string)(&f.Member), "for", "", "from this member, or '*' for the team's permission (default: from every member)")
	return cmd
}

// netFlags are an answer about a host, and the words of its end.
type netFlags struct {
	decide.NetAnswer
	once  bool
	until string
}

func netAnswer(ctx context.Context, a *app.App, op operator.Operator, target string, n netFlags) error {
	if n.once && n.Session || n.until != "" && (n.once || n.Session) {
		return &operator.Error{Kind: operator.Usage, Op: "net", Msg: "--once, --session and --until exclude each other"}
	}
	op, name, err := teamHaving(ctx, a, op, "net", target)
	if err != nil {
		return err
	}
	asked, err := decide.Of(op).NetNamed(ctx, name, target)
	switch {
	case err != nil:
		return err
	case asked != nil && !n.Revoke:
		n.ID = asked.ID
		if n.Digest == "" {
			n.Digest = asked.Digest
		}
	default:
		if n.Target, err = decide.ParseNetTarget(target); err != nil {
			return err
		}
	}
	if n.Until, err = untilOf(a, n.until); err != nil {
		return err
	}
	open := n.Allow && !n.Wildcard // each of them is confirmed
	for _, base := range opens(n.NetAnswer, asked) {
		if !open || !a.CanAsk() {
			break
		}
		if err := confirmed(a.Yes(ctx, "this opens every host below "+base+", also those that do not exist yet", "open them?")); err != nil {
			return err
		}
		n.Wildcard = true
	}
	out, err := decide.Of(op).DecideNet(ctx, name, n.NetAnswer)
	if err != nil {
		return err
	}
	return sayDecided(a, name, out.Results, out, policyview.NetDecidedPage(out, a.Clock()))
}

// opens lists the names below which an allow opens every host.
func opens(n decide.NetAnswer, asked *decide.Request) (names []string) {
	targets := []record.Target{{Host: n.Target.Host}}
	if asked != nil {
		targets = record.Ask{Host: asked.Host, Port: asked.Port}.Targets()
	}
	for _, t := range targets {
		if t.Wild() {
			names = append(names, t.Host[2:])
		}
	}
	return names
}
