package cli

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"waggle/internal/ask"
	"waggle/internal/cli/app"
	"waggle/internal/cli/decidecmd"
	"waggle/internal/cli/teamcmd"
	"waggle/operator"
)

// commands lists the commands of the tree; each has its own file.
var commands = []func(*app.App) *cobra.Command{
	decidecmd.Approve,
	teamcmd.Adopt,
	decidecmd.Audit,
	decidecmd.Answer,
	teamcmd.Attach,
	benchCmd,
	bridgeCmd,
	demoCmd,
	decidecmd.Deny,
	decidecmd.Digest,
	teamcmd.Detach,
	doctorCmd,
	teamcmd.Down,
	teamcmd.Gc,
	teamcmd.Guest,
	teamcmd.Hold,
	decidecmd.Hook,
	decidecmd.Hooks,
	inboxCmd,
	teamcmd.Init,
	teamcmd.Join,
	teamcmd.Lead,
	decidecmd.Log,
	decidecmd.Mode,
	msgCmd,
	decidecmd.Net,
	decidecmd.Pending,
	peekCmd,
	decidecmd.Plan,
	decidecmd.Policy,
	protocolCmd,
	teamcmd.Resume,
	teamcmd.Run,
	sendCmd,
	teamcmd.Serve,
	decidecmd.Show,
	teamcmd.Spawn,
	teamcmd.Status,
	teamcmd.Stop,
	taskCmd,
	teamcmd.Team,
	uninstallCmd,
	teamcmd.Up,
	versionCmd,
	decidecmd.Why,
	teamcmd.Worker,
}

// Main runs the command line of this process and returns its exit code.
func Main() int {
	a := &app.App{Alone: true, In: os.Stdin, Environ: os.Environ(), Now: time.Now, Rand: rand.Reader, Version: version()}
	a.Out, a.Err = ask.OutputTo(os.Stdout, a.Asker.Terminal), ask.OutputTo(os.Stderr, a.Asker.Terminal)
	if err := ask.Repair(os.Stdin, os.Stderr); err != nil {
		a.Talk("%s %v", app.Yellow("note:"), err)
	}
	defer a.Asker.Close() // also when a panic ends the program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, a, os.Args[1:])
}

// release is the version that make dist writes into the program.
var release string

// version returns the version in the build information.
func version() string {
	if release != "" {
		return release
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" {
		return bi.Main.Version
	}
	return "(devel)"
}

const long = `waggle runs teams of coding agents that a person can trust.

Several agents work at once under one leader; what matters between them passes
as typed messages through plain mailbox files, is decided once by the right
authority, and is on record.`

const exitCodes = `
Exit codes:
  0 done                      5 a worker died
  1 failed                    6 refused or denied
  2 wrong usage               7 incomplete: required tasks are open
  3 a human decision is due   8 locked by another process
  4 timed out                 9 not found (near names are listed)`

// Root builds the command tree.
func Root(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "waggle",
		Short: "Teams of coding agents that a person can trust",
		Long:  long + "\n" + exitCodes,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return teamcmd.Bare(cmd.Context(), a) },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.Flags.Root, "root", "", "wire tree: a directory or file:///… (default $WAGGLE_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude)")
	f.StringVar(&a.Flags.State, "state", "", "private state (default $WAGGLE_STATE, $XDG_STATE_HOME/waggle)")
	f.StringVar(&a.Flags.Config, "config", "", "your own settings (default $WAGGLE_CONFIG, $XDG_CONFIG_HOME/waggle/config.yaml, ~/.config/waggle/config.yaml)")
	f.StringVar(&a.Flags.Team, "team", "", "team (default: the only one there is)")
	f.StringVar(&a.Flags.As, "as", "", "whose chat this is; it never carries authority")
	f.BoolVar(&a.Flags.JSON, "json", false, "one JSON document on stdout")
	f.BoolVar(&a.Flags.NoColor, "no-color", false, "no colour (also NO_COLOR)")
	f.BoolVarP(&a.Flags.Quiet, "quiet", "q", false, "no talk on stderr")
	app.Must(root.RegisterFlagCompletionFunc("team", a.CompleteTeams))
	app.Must(root.RegisterFlagCompletionFunc("as", a.CompleteMembers))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Err: err, Advice: cmd.CommandPath() + " --help"}
	})
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	for _, c := range commands {
		cmd := c(a)
		app.UsageArgs(cmd)
		root.AddCommand(cmd)
	}
	return root
}

// Run runs one command line and returns its exit code.
func Run(ctx context.Context, a *app.App, args []string) int {
	out, root := app.WatchOutput(a.Out), Root(a)
	if !machinery(root, args) {
		a.Out = out
		root.SetOut(out)
		if a.Alone {
			collectLater()
		}
	}
	root.SetArgs(args)
	code := 0
	keepErrors(root, func(err error) { code = a.Fail(err) })
	err := fang.Execute(ctx, root, fang.WithVersion(a.Version), fang.WithoutVersion(),
		fang.WithErrorHandler(func(_ io.Writer, _ fang.Styles, err error) { code = a.Fail(err) }))
	if err != nil && code == 0 {
		code = app.ExitFailed
	}
	if err := out.Failed(); err != nil && code == 0 {
		code = a.Fail(&operator.Error{Kind: operator.Failed, Op: "output", Err: err, Advice: "what the command did is done; its output is not whole"})
	}
	return code
}

// machinery reports a command that only waggle itself starts. It prints no answer: a worker writes
// to its log, and continues when that is full.
func machinery(root *cobra.Command, args []string) bool {
	cmd, _, err := root.Find(args)
	return err == nil && cmd.Hidden
}

// keepErrors hands the errors of commands to fail and keeps them from fang, which
// asks the terminal for its colours before it has one handled: a terminal that does
// not answer, or whose answer the question prompt reads, costs seconds.
func keepErrors(cmd *cobra.Command, fail func(error)) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := run(cmd, args); err != nil {
				fail(err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		keepErrors(sub, fail)
	}
}
