package teamcmd

import (
	"context"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator/inspect"
	"waggle/protocol"
)

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
