package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

func Take(a *app.App) *cobra.Command {
	var to process.TakeOptions
	cmd := &cobra.Command{
		Use:   "take NAME",
		Short: "Go on with a member's session yourself, in its own client",
		Long: `Open a member's session in the client of its agent, in this terminal: that of a Claude
Code member that runs without a terminal, in its directory. The member's turn is cut short
between two calls; a call or a check that runs ends first, what it had asked is withdrawn,
also when it was allowed and had not begun, and what its client runs in the background
ends. The session is the member's again when the client ends: it goes on by itself with
its open task, then with the mail that came meanwhile, and repeats no call.

In that client your own settings and rules hold: it asks in this terminal, and waggle
gates and records nothing of it. It runs outside of the member's sandbox; a member that
must have one is not taken. One process has a session at a time; status names it.

Ctrl-C gives up before the client is open. A member in a pane is typed to there (waggle
attach NAME --type). Without a terminal, and with --json, it is an error (exit code 2).`,
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, team protocol.TeamName, args []string) error {
			switch {
			case a.Flags.JSON:
				return &operator.Error{Kind: operator.Usage, Op: "take", Msg: "take opens a client in this terminal, and has no --json", Advice: "leave out --json"}
			case !app.Tty(a.In) || !app.Tty(a.Out):
				return &operator.Error{Kind: operator.Usage, Op: "take", Msg: "take opens a client in this terminal, and there is none", Advice: "run it in a terminal"}
			}
			name := operator.Visible(args[0])
			to.Waits = func(what string) {
				a.Talk("%s lets a call end first: %s\nCtrl-C gives up; then waggle take %s --now interrupts it", name, operator.Visible(what), name)
			}
			t, err := process.Of(op).Take(ctx, team, args[0], to)
			if errors.Is(err, context.Canceled) {
				return &operator.Error{Kind: operator.Refused, Op: "take", Msg: "not taken: " + name + " keeps its session"}
			}
			if err != nil {
				return err
			}
			outside := ""
			if t.Confined != record.HeldOff {
				outside = ", outside of the member's sandbox"
			}
			// Also with --quiet: whoever opens it must know.
			app.Fprint(a, a.Err, "the client asks in this terminal by its own rules%s, and waggle gates and records nothing of it; %s goes on when it ends", outside, operator.Visible(string(t.Member)))
			err = become(a, t.Command)
			return errors.Join(err, t.Return(context.WithoutCancel(ctx), "its client was not started"))
		}),
	}
	cmd.Flags().BoolVar(&to.Now, "now", false, "interrupt a call or a check that runs")
	return cmd
}

// become replaces this process by a command, which stays among the ancestors of whatever is started below it:
// the model of a member's session is the member there, also in a process that has left its parent. It returns
// only with an error.
func become(a *app.App, c spawn.Command) error {
	back, err := a.Asker.Lend()
	if err != nil {
		return err
	}
	defer back()
	if err := errors.Join(spawn.Subreaper(), os.Chdir(c.Dir)); err != nil {
		return err
	}
	if err := syscall.Exec(c.Argv[0], c.Argv, append(c.Env, "PWD="+c.Dir)); err != nil {
		return fmt.Errorf("%s: %w", c.Argv[0], err)
	}
	return nil
}
