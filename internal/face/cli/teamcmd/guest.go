package teamcmd

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/worker"
)

// newGuest is the guest of a command line, or the member of a team file.
func newGuest(args []string, file string) (n teams.NewGuest, err error) {
	name, err := protocol.ParseNewMember(args[0])
	switch {
	case err != nil:
		return n, &operator.Error{Kind: operator.Usage, Op: "guest", Err: err}
	case file == "":
		return teams.NewGuest{Name: name, Command: args[1:]}, nil
	case len(args) > 1:
		return n, &operator.Error{Kind: operator.Usage, Op: "guest", Msg: "a guest has a command or a file, not both", Next: operator.NextGuest.With()}
	}
	f, err := teamfile.ReadFile(file)
	if err != nil {
		return n, err
	}
	return teams.GuestOf(f, name)
}

func Guest(a *app.App) *cobra.Command {
	var cwd, mode, file string
	cmd := &cobra.Command{
		Use:   "guest NAME {--file FILE | -- COMMAND...}",
		Short: "Work as a member in a team that another program leads",
		Long: `Run the member NAME in this process, in a team that another program leads, such as a
Claude Code session's, until its lead asks it to end. The command registers NAME first if
'team add' has not. COMMAND runs for each message, which it reads on its standard input.
Before each run the guest asks the lead, in the lead's own dialect, unless the mode allows
the run. The lead's answer allows that one run as it was asked, and nothing that the
ceiling of your configuration denies. What the command prints goes to the lead as words,
its last 4 KiB, and in the idle notice. With --file the guest is the member NAME of a
team file, of agent exec or script: its plans and questions about hosts go to the lead
too. What the lead says of modes and rules only narrows, until the guest is started again.
The guest sets isActive in the team's registry while a turn runs, and changes nothing else
there. Claude Code's lead reads mail once it has spawned a member of its own: a guest that
comes before says so.`,
		Args: app.Arguments(1, app.Many),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := newGuest(args, file)
			if err != nil {
				return err
			}
			if mode != "" {
				if n.Mode, err = policy.ParseMode(mode); err != nil {
					return &operator.Error{Kind: operator.Usage, Op: "guest", Err: err}
				}
			}
			if n.Cwd == "" || cmd.Flags().Changed("cwd") {
				if n.Cwd, err = filepath.Abs(cwd); err != nil {
					return err
				}
			}
			if fi, err := os.Stat(n.Cwd); err != nil || !fi.IsDir() {
				return &operator.Error{Kind: operator.Usage, Op: "guest", Msg: fmt.Sprintf("%s is not a directory", n.Cwd)}
			}
			op, team, err := a.Team()
			if err != nil {
				return err
			}
			g, err := teams.Of(op).Guest(cmd.Context(), team, n)
			if err != nil {
				return err
			}
			if err := spawn.Subreaper(); err != nil {
				return err
			}
			a.Talk("%s works in team %s until its lead ends it; Ctrl-C leaves", g.Name, team)
			if g.Early {
				a.Talk("%s its lead has started no member yet, and Claude Code's lead reads no mail before: ask it to spawn one", app.Yellow("note:"))
			}
			stop := spawn.Reap(func(err error) { unreaped(a, err) })
			err = g.Run(cmd.Context(), worker.Options{Environ: a.MemberEnviron(), Output: a.Out, Log: slog.New(slog.NewTextHandler(a.Err, nil))})
			stop()
			return interrupted(err)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "team file that describes it")
	cmd.Flags().StringVar(&cwd, "cwd", ".", "directory in which its command runs")
	cmd.Flags().StringVar(&mode, "permission-mode", "", "its permission mode: which runs need no answer of its lead, inside the ceiling (default \"default\")")
	return cmd
}
