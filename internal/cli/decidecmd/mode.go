package decidecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

func Mode(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "mode [NAME MODE]",
		Short: "Show the members' permission modes, or set one",
		Long: `Show the members' permission modes, or set one. NAME '*' is the team: its mode is
every member's that has none of its own. MODE is one of
` + modeList() + `
It holds from the moment it is on record: the next call is judged by it. A plan that a
member owes stays owed. --json: {"team","version","changed","members":[{"name","state",
"version","mode"}]}; state is applied, pending or unsupported.`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return fmt.Errorf("want NAME and MODE, or neither")
			}
			return nil
		}),
		ValidArgsFunction: a.CompleteModes,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				v, err := decide.Of(op).Policy(cmd.Context(), name, "")
				if err != nil {
					return err
				}
				return a.Give(view.Mode(v), view.ModePage(v))
			}
			m, err := policy.ParseMode(args[1])
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "mode", Err: err}
			}
			c, err := decide.Of(op).SetMode(cmd.Context(), name, args[0], m)
			if err != nil {
				return err
			}
			return changed(a, c, "mode "+string(m))
		},
	}
}

func modeList() string {
	s := ""
	for _, m := range policy.Modes() {
		s += fmt.Sprintf("  %-18s %s\n", m.Mode, m.Meaning)
	}
	return s
}
