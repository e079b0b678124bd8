package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/pane"
	"waggle/internal/fs/logfile"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/spawn/terminal"
	"waggle/worker"
)

// Worker is the hidden command that a backend starts for a member.
func Worker(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "worker",
		Short:  "Run one member (started by waggle itself)",
		Hidden: true,
		// Its arguments are those of worker.Options.Argv.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, _, err := worker.Invoked(append([]string{"waggle", "worker"}, args...))
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "worker", Err: err}
			}
			debug.SetMemoryLimit(workerMemory)
			claude, err := a.ClaudeDir()
			if err != nil {
				return err
			}
			if o.Dir, err = os.Getwd(); err != nil {
				return err
			}
			o.Who, o.Minter, o.Environ, o.Output, o.Terminal, o.Version = mail.SessionsOf(claude), a.Minter(), a.Environ, a.Out, app.Tty(a.Out), a.Version
			o.Log = slog.New(slog.NewTextHandler(a.Err, nil))
			if o.Pane != "" {
				shut, err := paned(&o)
				if err != nil {
					return err
				}
				defer shut()
			}
			if o.Confine, err = app.Confine(); err != nil {
				return err
			}
			return interrupted(worker.Join(cmd.Context(), o))
		},
	}
	return cmd
}

// paned gives the terminal of this process to the member's program, and what the member writes to a
// log. Without a terminal it stays as it is.
func paned(o *worker.Options) (shut func(), err error) {
	if !app.Tty(os.Stdin) || !app.Tty(os.Stdout) {
		return func() {}, nil
	}
	log, err := logfile.Open(o.Pane, logfile.Options{})
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: "worker", Err: err}
	}
	o.Display, o.Output, o.Log = pane.New(os.Stdin, os.Stdout), log, slog.New(slog.NewTextHandler(log, nil))
	return func() { _ = log.Close() }, nil
}

// workerMemory is the heap size from which on a worker collects garbage more often instead of
// growing: a small one never reaches it, and one with a large mailbox needs little more than the
// mailbox.
const workerMemory = 64 << 20

// interrupted returns an error without text for a member whose process was asked to end by a
// signal.
func interrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return app.ExitError(app.ExitFailed)
	}
	if errors.Is(err, worker.ErrUnconfined) {
		return &operator.Error{Kind: operator.Refused, Op: "worker", Err: err}
	}
	return err
}

// unreaped prints why an orphan could not be reaped.
func unreaped(a *app.App, err error) { fmt.Fprintln(a.Err, "reap orphans:", err) }

// Hold is the hidden command that a backend starts around a member's process.
func Hold(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:    "hold FILE",
		Short:  "Hold a member's terminal (started by waggle itself)",
		Hidden: true,
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
