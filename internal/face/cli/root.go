package cli

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/face/ask"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/cli/teamcmd"
	"waggle/operator"
)

// The agents of other packages than agent, which every command knows that reads a team file.
func init() { agent.Register(claude.Kind, claude.New) }

// commands lists the commands of the tree; each has its own file.
var commands = []func(*app.App) *cobra.Command{
	approveCmd,
	teamcmd.Adopt,
	decidecmd.Audit,
	decidecmd.Answer,
	decidecmd.Away,
	teamcmd.Attach,
	beginCmd,
	benchCmd,
	compareCmd,
	bridgeCmd,
	teamcmd.Budget,
	demoCmd,
	decidecmd.Deny,
	decidecmd.Recap,
	teamcmd.Detach,
	diffCmd,
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
	teamcmd.MCP,
	logsCmd,
	mergeCmd,
	repairCmd,
	decidecmd.Mode,
	msgCmd,
	decidecmd.Net,
	newCmd,
	openCmd,
	pathCmd,
	decidecmd.Notify,
	decidecmd.Pending,
	peekCmd,
	decidecmd.Plan,
	decidecmd.Policy,
	protocolCmd,
	pullCmd,
	teamcmd.Resume,
	reviewCmd,
	teamcmd.Run,
	sandboxCmd,
	sendCmd,
	shellCmd,
	skillCmd,
	teamcmd.Serve,
	decidecmd.Show,
	decidecmd.Undo,
	teamcmd.Spawn,
	teamcmd.Status,
	teamcmd.Stop,
	teamcmd.Take,
	taskCmd,
	teamcmd.Team,
	topCmd,
	uninstallCmd,
	teamcmd.Up,
	versionCmd,
	decidecmd.Wait,
	decidecmd.Why,
	teamcmd.Worker,
}

// Main runs the command line of this process and returns its exit code.
func Main() int { return MainOf(Options{}) }

// Options are settings that tests change. The zero value is what the released program has.
type Options struct {
	// Stand returns how long a question stands on the terminal before a key counts; nil: ask.Stand.
	Stand func() time.Duration
	Waits operator.Waits
}

// MainOf is Main with options.
func MainOf(o Options) int {
	a := &app.App{Alone: true, Stand: o.Stand, Waits: o.Waits, In: os.Stdin, Environ: os.Environ(), Now: time.Now, Rand: rand.Reader, Version: version()}
	a.Out, a.Err = ask.OutputTo(os.Stdout, a.Asker.Terminal), ask.OutputTo(os.Stderr, a.Asker.Terminal)
	if err := ask.Repair(os.Stdin, os.Stderr, func() bool { return a.ScreenKilled(os.Stdin) }); err != nil {
		a.Talk("%s %v", app.Yellow("note:"), err)
	}
	app.OutliveReaders()
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

Several agents work at once under one leader. Requests, orders and answers between them
are typed messages in plain mailbox files. Each request is decided once, by the right
authority, and the journal has every decision.`

const exitCodes = `
Exit codes:
  0 done                       6 refused or denied
  1 failed                     7 incomplete: required tasks are open
  2 wrong usage                8 locked by another process
  3 a human decision is due    9 not found (near names are listed)
  4 timed out                 10 a budget is used up
  5 a worker died
`

const transitions = `WAGGLE_TRANSITIONS=FILE, or - for stderr: commands that lead write each change of state
of members, requests and tasks there, as a JSON line.`

// Root builds the command tree.
func Root(a *app.App) *cobra.Command {
	var plain bool
	root := &cobra.Command{
		Use:   "waggle",
		Short: "Teams of coding agents that a person can trust",
		Long:  long + "\n" + exitCodes + "\n" + transitions,
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return screenOrPage(cmd.Context(), a, plain) },
	}
	root.Flags().BoolVar(&plain, "plain", false, "lines of text instead of the full screen, as into a pipe")
	f := root.PersistentFlags()
	f.StringVar(&a.Flags.Root, "root", "", "wire tree: a directory or file:///… (default $WAGGLE_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude)")
	f.StringVar(&a.Flags.State, "state", "", "private state (default $WAGGLE_STATE, $XDG_STATE_HOME/waggle)")
	f.StringVar(&a.Flags.Config, "config", "", "your own settings (default $WAGGLE_CONFIG, $XDG_CONFIG_HOME/waggle/config.yaml, ~/.config/waggle/config.yaml)")
	f.StringVar(&a.Flags.Team, "team", "", "team (default $WAGGLE_TEAM, the team whose file is in this directory or above, the only one)")
	f.StringVar(&a.Flags.As, "as", "", "the member in whose name the command acts; it never grants authority")
	f.BoolVar(&a.Flags.JSON, "json", false, "one JSON document on stdout")
	f.BoolVar(&a.Flags.NoColor, "no-color", false, "no colour (also NO_COLOR)")
	f.BoolVar(&a.Flags.UTC, "utc", false, "show whole times in UTC instead of local ones")
	f.BoolVarP(&a.Flags.Quiet, "quiet", "q", false, "no messages on stderr")
	root.SetFlagErrorFunc(flagError)
	root.Version = a.Version
	root.SetVersionTemplate(versionLine(a.Version) + "\n")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	for _, c := range commands {
		cmd := c(a)
		for _, cmd := range app.Commands(cmd) {
			app.UsageArgs(cmd)
			suggest(cmd)
		}
		root.AddCommand(cmd)
	}
	root.SetHelpCommand(helpCmd(root))
	completeBelow(root)
	for _, cmd := range app.Commands(root) {
		exemplify(cmd)
	}
	helpBelow(a, root)
	return root
}

// Run runs one command line and returns its exit code.
func Run(ctx context.Context, a *app.App, args []string) int {
	a.Typed = args
	out, root := app.WatchOutput(a.Out), Root(a)
	if a.Log = machinery(root, args); !a.Log {
		a.Out = out
		root.SetOut(out)
		if a.Alone {
			collectLater()
			var stop func()
			ctx, stop = a.WatchHangup(ctx)
			defer stop()
		}
	}
	root.SetArgs(args)
	a.Flags.Team = a.Env("WAGGLE_TEAM") // --team replaces it
	if asked, all := rootHelp(root, args); asked {
		sayHelp(a, root, all)
		return outputFailed(ctx, a, out, 0)
	}
	code := 0
	completes := len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
	for _, cmd := range app.Commands(root) {
		if completes {
			a.Complete(cmd, nameOf(cmd))
		}
		guarded(a, cmd)
		app.MemberAt(a, cmd)
		keepErrors(cmd, func(err error) { code = a.Fail(ctx, err) })
	}
	err := fang.Execute(ctx, root, fang.WithVersion(a.Version), fang.WithoutVersion(),
		fang.WithErrorHandler(func(_ io.Writer, _ fang.Styles, err error) { code = a.Fail(ctx, err) }))
	if err != nil && code == 0 {
		code = app.ExitFailed
	}
	return outputFailed(ctx, a, out, code)
}

// outputFailed returns the exit code of a command, with the failure of its output.
func outputFailed(ctx context.Context, a *app.App, out interface{ Failed() error }, code int) int {
	if err := app.Unread(out.Failed()); err != nil && code == 0 {
		code = a.Fail(ctx, &operator.Error{Kind: operator.Failed, Op: "output", Err: err, Advice: "what the command did is done; its output is not whole"})
	}
	return code
}

// suggest makes a command that only has subcommands name those that are like a wrong word.
func suggest(cmd *cobra.Command) {
	switch check := cmd.Args; {
	case !cmd.HasSubCommands():
	case !cmd.Runnable():
		cmd.Args, cmd.RunE = unknownCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	case check != nil:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
				return unknownCommand(cmd, args)
			}
			return err
		}
	}
}

// machinery reports a command that only waggle itself starts. It prints no answer: a worker writes
// to its log, and continues when that is full.
func machinery(root *cobra.Command, args []string) bool {
	cmd, _, err := root.Find(args)
	return err == nil && cmd.Hidden
}

// keepErrors hands the errors of a command to fail and keeps them from fang, which
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
}
