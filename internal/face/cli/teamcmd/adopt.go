package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/protocol"
)

func Adopt(a *app.App) *cobra.Command {
	var ao teams.AdoptOptions
	cmd := &cobra.Command{
		Use:   "adopt --pid N | --session UUID NAME",
		Short: "Make a running session that waggle did not start a member",
		Long: `Make a running session a member. The session is not restarted, not interrupted and never
signalled. The journal has its process by pid and start time, so that status shows whether
it runs. Its state is what its client registers and its hooks report; what it asks, where
it has the hooks, is listed and answered as any session's; send NAME goes to its messaging
socket, where it has one. The command prints what waggle can do with the session and what
it cannot: its tool calls are not gated, and stop and down only ask it by message, then
remove it from the team.

--session finds the process of a session by the client's registry of sessions, by the
records of hooks, or by the files of its team: the config.json whose leadSessionId is that
id names it (leadProcess). The command refuses processes that are gone, of another user,
process 1, those that are members already, and one whose entry in that registry is of an
earlier process of its number, or no file.
It accepts a process below which it runs itself; later commands below that process act as
that member, so decide from another terminal. NAME can be an entry of the team: the
process takes it over when no living process has it and the process's own --agent-name
and --team-name, or its session id, are those of the entry. --as NAME names it too.

--json: {"team","name","instance","pid","start","session","above","trust",
"controls":[{"what","can","how"}]}.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			as := a.Flags.As
			switch {
			case len(args) > 0 && as != "" && args[0] != as:
				return &operator.Error{Kind: operator.Usage, Op: "adopt", Msg: "NAME and --as name two members"}
			case len(args) > 0:
				as = args[0]
			case as == "":
				return &operator.Error{Kind: operator.Usage, Op: "adopt", Msg: "what is the member to be called?", Advice: "waggle adopt --pid N NAME"}
			}
			var err error
			if ao.As, err = protocol.ParseMember(as); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "adopt", Err: err}
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			got, err := teams.Of(op).Adopt(cmd.Context(), name, ao)
			if err != nil {
				return err
			}
			return a.Give(got, view.AdoptedPage(got, app.StepText), func() { a.Tell(view.AdoptedNotes(got), name) })
		},
	}
	cmd.Flags().IntVar(&ao.PID, "pid", 0, "the session's process")
	cmd.Flags().StringVar(&ao.Session, "session", "", "the session's id (UUID) of Claude Code")
	return cmd
}
