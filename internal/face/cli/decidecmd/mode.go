package decidecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

func Mode(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "mode [NAME MODE]",
		Short: "Show the members' permission modes, or set one",
		Long: `Show the members' permission modes, or set one. NAME '*' is the team: its mode applies to
every member without a mode of its own. MODE is one of
` + modeList() + `
The mode applies to the next call once it is recorded. A member that needs an approved
plan still needs it. --json: {"team","version","changed","members":[{"name","state",
"version","mode"}]}; state is applied, pending or unsupported.`,
		Args: cobra.MatchAll(app.Arguments(0, 2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return fmt.Errorf("want NAME and MODE, or neither")
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return showPolicy(cmd.Context(), a, "", func(v *decide.PolicyView) app.Output {
					return app.Output{Doc: policyview.Mode(v), Page: policyview.ModePage(v)}
				})
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			m, err := policy.ParseMode(args[1])
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "mode", Err: err}
			}
			c, err := decide.Of(op).SetMode(cmd.Context(), name, args[0], m)
			return changed(a, c, err, "mode "+string(m))
		},
	}
}

func modeList() string {
	s := ""
	for _, m := range policy.Modes() {
		s += fmt.Sprintf("  %s\n    %s\n", m.Mode, m.Meaning)
	}
	return s
}
