package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"waggle/control"
	"waggle/internal/ask"
	"waggle/internal/jsonobj"
	"waggle/journal"
	"waggle/operator"
	"waggle/record"
	"waggle/team"
)

// commands is the command line: one line each, one file each.
var commands = []func(*App) *cobra.Command{
	approveCmd,
	adoptCmd,
	auditCmd,
	answerCmd,
	attachCmd,
	benchCmd,
	bridgeCmd,
	demoCmd,
	denyCmd,
	digestCmd,
	detachCmd,
	doctorCmd,
	downCmd,
	gcCmd,
	guestCmd,
	holdCmd,
	hookCmd,
	hooksCmd,
	inboxCmd,
	initCmd,
	joinCmd,
	leadCmd,
	logCmd,
	modeCmd,
	msgCmd,
	netCmd,
	pendingCmd,
	peekCmd,
	planCmd,
	policyCmd,
	protocolCmd,
	resumeCmd,
	runCmd,
	sendCmd,
	serveCmd,
	showCmd,
	spawnCmd,
	statusCmd,
	stopCmd,
	taskCmd,
	teamCmd,
	uninstallCmd,
	upCmd,
	versionCmd,
	whyCmd,
	workerCmd,
}

// Main runs the command line of this process and returns its exit code.
func Main() int {
	a := &App{alone: true, In: os.Stdin, Environ: os.Environ(), Now: time.Now, Rand: rand.Reader, Version: version()}
	a.Out, a.Err = ask.OutputTo(os.Stdout, a.asker.terminal), ask.OutputTo(os.Stderr, a.asker.terminal)
	if err := ask.Repair(os.Stdin, os.Stderr); err != nil {
		a.talk("%s %v", yellow("note:"), err)
	}
	defer a.asker.close() // also when a panic ends the program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.Run(ctx, os.Args[1:])
}

// release is the version that make dist writes into the program.
var release string

// version is what the build knows of itself.
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
func (a *App) Root() *cobra.Command {
	root := &cobra.Command{
		Use:   "waggle",
		Short: "Teams of coding agents that a person can trust",
		Long:  long + "\n" + exitCodes,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.bare(cmd.Context()) },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.flags.root, "root", "", "wire tree: a directory or file:///… (default $WAGGLE_ROOT, $CLAUDE_CONFIG_DIR, ~/.claude)")
	f.StringVar(&a.flags.state, "state", "", "private state (default $WAGGLE_STATE, $XDG_STATE_HOME/waggle)")
	f.StringVar(&a.flags.config, "config", "", "your own settings (default $WAGGLE_CONFIG, $XDG_CONFIG_HOME/waggle/config.yaml, ~/.config/waggle/config.yaml)")
	f.StringVar(&a.flags.team, "team", "", "team (default: the only one there is)")
	f.StringVar(&a.flags.as, "as", "", "whose chat this is; it never carries authority")
	f.BoolVar(&a.flags.json, "json", false, "one JSON document on stdout")
	f.BoolVar(&a.flags.noColor, "no-color", false, "no colour (also NO_COLOR)")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "no talk on stderr")
	must(root.RegisterFlagCompletionFunc("team", a.completeTeams))
	must(root.RegisterFlagCompletionFunc("as", a.completeMembers))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Err: err, Advice: cmd.CommandPath() + " --help"}
	})
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	for _, c := range commands {
		cmd := c(a)
		usageArgs(cmd)
		root.AddCommand(cmd)
	}
	return root
}

// must is for registrations that only fail when this program is wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// usageArgs turns complaints about arguments into usage errors.
func usageArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: cmd.CommandPath(), Err: err, Advice: "usage: " + cmd.UseLine()}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		usageArgs(sub)
	}
}

// Run runs one command line and returns its exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	out, root := watchOutput(a.Out), a.Root()
	if !machinery(root, args) {
		a.Out = out
		root.SetOut(out)
		if a.alone {
			collectLater()
		}
	}
	root.SetArgs(args)
	code := 0
	keepErrors(root, func(err error) { code = a.fail(err) })
	err := fang.Execute(ctx, root, fang.WithVersion(a.Version), fang.WithoutVersion(),
		fang.WithErrorHandler(func(_ io.Writer, _ fang.Styles, err error) { code = a.fail(err) }))
	if err != nil && code == 0 {
		code = ExitFailed
	}
	if err := out.failed(); err != nil && code == 0 {
		code = a.fail(&operator.Error{Kind: operator.Failed, Op: "output", Err: err, Advice: "what the command did is done; its output is not whole"})
	}
	return code
}

// machinery reports a command that no person types, which writes no answer: what a
// worker says goes into its log, and it lives on when that is full.
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

// exitError ends the program with a code and says nothing: what is to be said
// was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// failure is an error with --json (commands §1).
type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Code    int      `json:"code"`
	Op      string   `json:"op"`
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
	Near    []string `json:"near"`
}

// fail says what went wrong and what to do next, and returns the exit code.
func (a *App) fail(err error) int {
	var quiet exitError
	if errors.As(err, &quiet) {
		return int(quiet)
	}
	b := failureBody{Code: exitOf(err), Message: err.Error(), Near: []string{}}
	var e *operator.Error
	if errors.As(err, &e) {
		b.Op, b.Hint = e.Op, hint(e)
		b.Near = append(b.Near, e.Near...)
	} else if isUsage(err) {
		b.Code, b.Hint = ExitUsage, "waggle --help"
	}
	var missing *team.NotFoundError
	if errors.As(err, &missing) {
		b.Op = "find"
		b.Near = append(b.Near, missing.Near...)
		if b.Hint == "" && missing.What == "member" {
			b.Hint = "waggle team show lists the members"
		}
	}
	var unknown *control.UnknownRequestError
	if errors.As(err, &unknown) {
		b.Op, b.Hint = "find", "waggle pending lists the requests"
		if a.flags.json { // for people they are in the message
			b.Near = append(b.Near, unknown.Near...)
		}
	}
	var ceiling *record.CeilingError
	if errors.As(err, &ceiling) {
		b.Hint = "the ceiling is yours: edit " + ceiling.Ceiling.File + ", then give the command again"
	}
	if errors.Is(err, control.ErrDiverged) {
		b.Hint = "waggle audit acknowledge says where and what to do"
	}
	var broken *journal.BrokenError
	if errors.As(err, &broken) && b.Hint == "" {
		b.Hint = "waggle audit verify names the line; waggle audit acknowledge --team " + cmp.Or(a.flags.team, "TEAM") + " shows what is lost and lets the member go on without it; waggle stop NAME ends it"
		if broken.Journal == journal.Leader {
			b.Hint = "waggle audit verify names the line; " + waysOn(cmp.Or(a.flags.team, "TEAM"))
		}
	}
	if b.Code == ExitLocked && b.Hint == "" {
		b.Hint = "try again in a moment; waggle doctor shows who holds it"
	}
	if a.flags.json {
		doc, merr := jsonobj.Marshal(failure{b})
		if eerr := writeJSON(a.Err, doc, merr); eerr != nil {
			return ExitFailed
		}
		return b.Code
	}
	fprint(a, a.Err, "%s %s", red("error:"), operator.VisibleLines(b.Message))
	if near := strings.Join(b.Near, ", "); near != "" && !strings.Contains(b.Message, near) {
		fprint(a, a.Err, "%s %s", faint(" near:"), operator.Visible(near))
	}
	if b.Hint != "" {
		fprint(a, a.Err, "%s %s", faint(" hint:"), operator.Visible(b.Hint))
	}
	return b.Code
}

// isUsage recognises cobra's own complaints, which have no type.
func isUsage(err error) bool {
	for _, p := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "required flag"} {
		if len(err.Error()) >= len(p) && err.Error()[:len(p)] == p {
			return true
		}
	}
	return false
}
