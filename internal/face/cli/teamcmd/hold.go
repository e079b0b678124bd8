package teamcmd

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/spawn/terminal"
)

// Hold is the hidden command that a backend starts around a member's process.
func Hold(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:    "hold FILE",
		Short:  "Hold a member's terminal (started by waggle itself)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			screen, _ := a.In.(*os.File)
			// Signals go to the held process; this command ends after it.
			code, err := terminal.Hold(context.WithoutCancel(cmd.Context()), args[0], screen, a.Environ)
			if err == nil && code != 0 {
				err = app.ExitError(code)
			}
			return err
		},
	}
}
