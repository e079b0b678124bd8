package teamcmd

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"waggle/agent"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/mcp"
	"waggle/internal/face/seat"
	"waggle/operator"
	"waggle/protocol"
)

func MCP(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [--team TEAM --as NAME]",
		Short: "Serve an MCP client, which works as a member, on standard input and output",
		Long: `Serve the Model Context Protocol on standard input and output. The client that starts the
command works as the member NAME, through tools. NAME is a member that a team file has
with 'agent: mcp', or that 'waggle team add NAME --agent mcp' has made; one client at a
time can be connected as it. The member is a worker whose calls are gated like those of
every other: it can ask, and it approves nothing. Each connection is a new session of the
member: a permission of one session does not apply to the next.

A process that a member's agent has started has that member's token in its environment:
there the command takes neither --team nor --as, and the agent keeps the turn's task. The
lead's agent has the lead's tools there: to start members, to assign tasks, and to answer
what the team file's decide gives to the lead.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(a.Err, nil))
			connect := func(ctx context.Context, s mcp.Seat) error {
				return mcp.New(s, mcp.Options{Version: a.Version, Log: log}).Run(ctx, mcp.IO(io.NopCloser(a.In), keepOpen{a.Out}))
			}
			if path, token := a.Env(agent.EnvSocket), a.Env(agent.EnvSpawn); path != "" && token != "" {
				if a.Flags.As != "" {
					return &operator.Error{Kind: operator.Refused, Op: "mcp", Msg: "this process belongs to a member already: it takes no --as"}
				}
				return interrupted(seat.ServeSocket(cmd.Context(), path, token, connect))
			}
			usage := func(err error) error { return &operator.Error{Kind: operator.Usage, Op: "mcp", Err: err} }
			if a.Flags.As == "" {
				return usage(errors.New("--as names the member whose client this is"))
			}
			as, err := protocol.ParseNewMember(a.Flags.As)
			if err != nil {
				return usage(err)
			}
			if a.Flags.Team == "" {
				return usage(errors.New("--team names its team: a client's entry must not depend on which teams there are"))
			}
			op, team, err := a.Team()
			if err != nil {
				return err
			}
			return interrupted(seat.Of(op).Serve(cmd.Context(), team, as, seat.Serving{Log: log, Connect: connect,
				Begun: func(name protocol.MemberName) { a.Talk("serving %s of team %s", name, team) }}))
		},
	}
}

// keepOpen is a stream that outlives a connection.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
