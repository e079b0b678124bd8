package teamcmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator/inspect"
	"waggle/protocol"
)

// lineFlag is status --line.
func lineFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("line", false, "one short line for a status bar: ?2 waiting >5 working x1 failed; empty when all is quiet")
}

// statusLine prints the numbers of all teams, or of that of --team. A status bar gets no error: what
// cannot be read is left out.
func statusLine(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	name := protocol.TeamName("")
	if a.Flags.Team != "" {
		if op, name, err = a.TeamOrEnded(ctx); err != nil {
			return err
		}
	}
	g, err := inspect.Of(op).Glance(ctx, name)
	if a.Flags.JSON {
		if err != nil {
			return err
		}
		return a.Document(g)
	}
	if text := view.GlanceLine(g); text != "" {
		a.Say("%s", text)
	}
	return nil
}
