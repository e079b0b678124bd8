package cli

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/doctor"
)

func doctorCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine this machine: what works, and what to do about problems",
		Long: `Examine this machine: versions, the wire tree, locks, tmux, bubblewrap, and the Claude
Code sessions without the hooks of waggle. The command prints a line for each finding, a
problem with the next command, and changes nothing. Exit 1 when there is a problem.

--json: {"findings":[{"what","status","detail","next"}]}.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, _ []string) (err error) {
			o := doctor.Options{Env: a.Env, Relay: op.Self}
			if o.ClaudeDir, err = decidecmd.ClaudePath(a); err != nil {
				return err
			}
			if o.Cwd, err = os.Getwd(); err != nil {
				return err
			}
			fs, err := doctor.Of(op).Examine(ctx, o)
			if err != nil {
				return err
			}
			if err := a.Give(map[string]any{"findings": fs}, view.FindingsPage(fs, app.StepText)); err != nil {
				return err
			}
			if slices.ContainsFunc(fs, func(f doctor.Finding) bool { return f.Status == doctor.Problem }) {
				return app.ExitError(app.ExitFailed)
			}
			return nil
		}),
	}
	cmd.AddCommand(doctorAgentCmd(a))
	return cmd
}
