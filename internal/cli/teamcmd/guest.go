package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/operator"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/spawn"
	"waggle/worker"
)

func Guest(a *app.App) *cobra.Command {
	var cwd, mode string
	cmd := &cobra.Command{
		Use:   "guest NAME -- COMMAND...",
		Short: "Work as a member in a team that another program leads",
		Long: `guest runs NAME in this process, as a member of a team that another program leads,
such as a Claude Code session's, until its lead asks it to end. A name that 'team add'
has not registered is registered first. COMMAND is run for the words that arrive, which
it reads on its standard input; before each run the lead is asked, in its own dialect,
unless the mode allows it. The lead's answer allows that one run as it was asked, and
nothing that the ceiling of the configuration denies. The registry of the team shows in
isActive whether a turn runs; nothing else of it is changed while the guest works.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := teams.NewGuest{Command: args[1:]}
			var err error
			if n.Name, err = waggle.ParseNewMember(args[0]); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "guest", Err: err}
			}
			if mode != "" {
				if n.Mode, err = policy.ParseMode(mode); err != nil {
					return &operator.Error{Kind: operator.Usage, Op: "guest", Err: err}
				}
			}
			if n.Cwd, err = filepath.Abs(cwd); err != nil {
				return err
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
			stop := spawn.Reap(func(err error) { unreaped(a, err) })
			err = g.Run(cmd.Context(), worker.Options{Environ: a.MemberEnviron(), Output: a.Out, Log: slog.New(slog.NewTextHandler(a.Err, nil))})
			stop()
			if errors.Is(err, context.Canceled) {
				err = app.ExitError(app.ExitFailed) // it was asked to end by a signal
			}
			return err
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", ".", "where its command runs")
	cmd.Flags().StringVar(&mode, "mode", "", "what it may do without asking its lead, inside of the ceiling (default \"default\")")
	app.Must(cmd.RegisterFlagCompletionFunc("mode", a.CompleteModes))
	return cmd
}
