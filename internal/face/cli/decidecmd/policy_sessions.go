package decidecmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

func policySessionsCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Your rules for sessions that waggle does not run; off until you turn them on",
		Long: `Your rules for sessions that waggle does not run and that have its hook (waggle hooks
install). When they are on, a rule that covers a permission request answers it at once,
and the journal has the request and the answer. The rules answer permission requests only:
you decide every plan and every question. They gate no call: a session does not ask about
a call that its own rules allow.

approve ID --rule RULE --for sessions adds a rule with an answer. --json: {"on",
"rules":[{"rule","effect","expires_at","over"}],"changed"}.`,
		RunE: a.WithOp(func(_ context.Context, op operator.Operator, _ []string) error {
			return app.Answer(a, policyview.SessionRulesPage)(decide.Of(op).SessionRules())
		}),
	}
	on, off := a.Turns("Let the rules answer requests of sessions", "Let no rule answer requests of sessions", func(ctx context.Context, op operator.Operator, on bool) error {
		return app.Answer(a, policyview.SessionRulesPage)(decide.Of(op).TurnSessionRules(ctx, on))
	})
	cmd.AddCommand(on, off, policySessionsEdit(a, "add RULE", "Add a rule for sessions", true), policySessionsEdit(a, "rm RULE", "Remove a rule for sessions", false))
	return cmd
}

func policySessionsEdit(a *app.App, use, short string, add bool) *cobra.Command {
	var deny bool
	var expires string
	cmd := &cobra.Command{Use: use, Short: short, RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
		rule, err := policy.ParseRule(args[0])
		if err != nil {
			return &operator.Error{Kind: operator.Usage, Op: "policy", Err: err}
		}
		if !add {
			return app.Answer(a, policyview.SessionRulesPage)(decide.Of(op).RemoveSessionRule(ctx, rule, deny))
		}
		until, err := untilOf(a, expires)
		if err != nil {
			return err
		}
		return app.Answer(a, policyview.SessionRulesPage)(decide.Of(op).AddSessionRule(ctx, rule, deny, until))
	})}
	cmd.Flags().BoolVar(&deny, "deny", false, "a rule that denies")
	if add {
		app.WhenVar(cmd.Flags(), &expires, "until", "when it ends: 8h, 14d, 18:00, 2026-12-24")
	}
	return cmd
}
