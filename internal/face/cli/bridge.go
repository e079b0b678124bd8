package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/bridge"
	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/protocol"
)

func bridgeCmd(a *app.App) *cobra.Command {
	var listen string
	var origins []string
	var where bool
	cmd := &cobra.Command{
		Use:   "bridge",
		Short: "Serve editors: messages and questions in your editor, answers from it",
		Long: `Serve editors on this machine's loopback until the command is interrupted. An editor's
extension connects over a WebSocket and registers an id. It gets the team's messages and
the open requests, which it can answer. Messages to bridge:ID wait until that editor has
taken them.

A program that has the token acts as the operator. The token is in a private file, and
--where prints it. A web page can connect only if --allow-origin names its origin.`,
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, _ []string) error {
			if where {
				e, err := bridge.Find(ctx, op, name)
				if err != nil {
					return err
				}
				return a.Give(e, nil, func() { a.Say("url    %s\ntoken  %s\npid    %d", e.URL, e.Token, e.PID) })
			}
			var said error
			err := bridge.Serve(ctx, op, name, bridge.ServeOptions{Listen: listen, Rand: a.Rand, Options: bridge.Options{Origins: origins, Explain: app.Explain, Log: op.Log},
				Ready: func(e bridge.Endpoint) {
					a.Talk("editors of team %s connect to %s; Ctrl-C ends it", e.Team, e.URL)
					if a.Flags.JSON {
						said = a.Line(e)
					}
				}})
			return cmp.Or(err, said)
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "", "loopback address and port (default a free port of 127.0.0.1)")
	cmd.Flags().StringArrayVar(&origins, "allow-origin", nil, "allow web pages of this origin to connect; may be repeated")
	cmd.Flags().BoolVar(&where, "where", false, "only print the URL and the token of the running bridge")
	return cmd
}
