package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/reach"
	"waggle/spawn"
)

func sandboxCmd(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Test a member's sandbox, explain a command in it, run one in it",
		RunE:  func(cmd *cobra.Command, _ []string) error { return sandboxTest(cmd.Context(), a) },
	}
	cmd.AddCommand(sandboxTestCmd(a), sandboxExplainCmd(a), sandboxRunCmd(a))
	return cmd
}

func sandboxTestCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "test [NAME]",
		Short: "Test what the sandbox enforces on this machine, point by point",
		Long: `Test the sandbox on this machine, for this directory or for member NAME.
The command prints each point of the self-test with its result, the level, and the command
that would permit a higher level. Exit 0 when the level is enforced and every point
passed, else 1. --json: {"member","tree","level","passed","why","fix","gaps":[],
"points":[{"name","ok","detail"}]}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				a.Flags.As = args[0]
			}
			return sandboxTest(cmd.Context(), a)
		},
	}
}

func sandboxTest(ctx context.Context, a *app.App) error {
	_, b, _, err := openBox(ctx, a)
	if err != nil {
		return err
	}
	t := b.Tested()
	if err := errors.Join(b.Close(), a.Give(t, policyview.SandboxPage(t))); err != nil {
		return err
	}
	if !t.Passed() {
		return app.ExitError(app.ExitFailed)
	}
	return nil
}

// boxOf takes the member off the arguments of a command [NAME] -- COMMAND, and returns COMMAND.
func boxOf(a *app.App, cmd *cobra.Command, args []string) ([]string, error) {
	at := cmd.ArgsLenAtDash()
	if at < 0 || at > 1 || at == len(args) {
		return nil, &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Msg: `the command stands behind "--", and one member at most before it`, Advice: "usage: " + cmd.UseLine()}
	}
	if at == 1 {
		a.Flags.As = args[0]
	}
	return args[at:], nil
}

// openBox makes the sandbox of the member that the command line names, or of this directory.
func openBox(ctx context.Context, a *app.App) (op operator.Operator, b *reach.Box, w reach.Where, err error) {
	if w.Member = a.Flags.As; w.Member != "" {
		op, w.Team, err = a.Team()
	} else if w.Dir, err = os.Getwd(); err == nil {
		op, err = a.Op()
	}
	if err != nil {
		return op, nil, w, err
	}
	program, err := app.Relay()
	if err != nil {
		return op, nil, w, err
	}
	b, err = reach.Of(op).OpenBox(ctx, program, w)
	return op, b, w, err
}

func sandboxExplainCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [NAME] -- COMMAND [ARG]... | 'COMMAND'",
		Short: "Show what a command could do, and why: rules, files, hosts",
		Long: `Show what a command could do in this directory, or as a command of member NAME: which rule
decides it, which files it could read and change, which hosts it could reach, and why. A
single word is a shell text, and needs no "--". Nothing runs. --json: the document of
sandbox test with {"command","dir","lines":[{"subject","verdict","why"}],"judged"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || cmd.ArgsLenAtDash() >= 0 {
				var err error
				if args, err = boxOf(a, cmd, args); err != nil {
					return err
				}
			}
			op, b, w, err := openBox(cmd.Context(), a)
			if err != nil {
				return err
			}
			e, err := reach.Of(op).Explain(cmd.Context(), b, w, args)
			if err = errors.Join(err, b.Close()); err != nil {
				return err
			}
			return a.Give(e, policyview.ReachPage(e))
		},
	}
}

func sandboxRunCmd(a *app.App) *cobra.Command {
	var any bool
	cmd := &cobra.Command{
		Use:   "run [NAME] -- COMMAND [ARG]...",
		Short: "Run a command in a member's sandbox, for the shell of any agent",
		Long: `Run a command on this terminal in the sandbox of member NAME, or in one for this
directory. Hosts that were granted before are open; the command asks about no other host.
Exit 6 when the level of the sandbox is not enforced, unless --files-only accepts a
sandbox that protects only files. Otherwise the exit code is that of the command.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			argv, err := boxOf(a, cmd, args)
			if err != nil {
				return err
			}
			return sandboxRun(cmd.Context(), a, argv, any)
		},
	}
	cmd.Flags().BoolVar(&any, "files-only", false, "run also when the sandbox protects only files")
	return cmd
}

func sandboxRun(ctx context.Context, a *app.App, argv []string, any bool) (err error) {
	_, b, _, err := openBox(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if t := b.Tested(); t.Level != "enforced" && (!any || t.Level == "off") {
		return &operator.Error{Kind: operator.Refused, Op: "sandbox run", Msg: fmt.Sprintf("the sandbox is %q: %s", t.Level, t.Why), Advice: t.Fix}
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if a.Flags.As != "" {
		dir = b.Dir
	}
	r, err := b.Prepare(spawn.Command{Argv: argv, Dir: dir, Env: a.MemberEnviron()})
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, r.Argv[0], r.Argv[1:]...)
	c.Env, c.Dir, c.Stdin, c.Stdout, c.Stderr = r.Env, dir, a.In, os.Stdout, os.Stderr
	c.Cancel = r.End
	runErr := c.Run()
	exit, closeErr := r.Close()
	switch {
	case closeErr != nil:
		return closeErr
	case exit != nil && exit.Code != 0:
		return app.ExitError(exit.Code)
	case exit != nil:
		return nil
	}
	var status *exec.ExitError
	if errors.As(runErr, &status) {
		return app.ExitError(max(1, status.ExitCode()))
	}
	return runErr
}
