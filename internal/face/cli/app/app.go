// Package app has what every command of waggle needs: the streams and the environment of one
// invocation, the paths of its files, output for people and for programs, questions to a person,
// exit codes, hints and completion. No other package below it reads the environment, the clock or
// the terminal.
package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"waggle/home"
	"waggle/internal/face/view/page"
	"waggle/internal/telemetry"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/teamfile"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// App is the environment of one invocation. The zero value does not work; Main makes it from the
// process, tests from parts.
type App struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string
	Now     func() time.Time
	Rand    io.Reader
	Version string

	Alone  bool  // the process ends with this command
	Log    bool  // its stderr is a log, also where that is a terminal: lines are not broken for a width, and have no colours
	Asker  asker // the one reader of answers; see canAsk
	hangup hangup
	Stand  func() time.Duration // see ask.Options
	Waits  operator.Waits

	Typed []string // the words of the command line after the program's name
	Flags struct {
		Root, State, Team, As, Config string
		JSON, NoColor, Quiet, UTC     bool
	}
}

// Clock returns the present time where people are shown times: local, in UTC with --utc.
func (a *App) Clock() time.Time {
	if a.Flags.UTC {
		return a.Now().In(page.UTC)
	}
	return a.Now().Local()
}

// Env returns a variable of the environment.
func (a *App) Env(key string) string { return spawn.Getenv(a.Environ, key) }

// RootPath returns the wire tree: --root, WAGGLE_ROOT, CLAUDE_CONFIG_DIR, ~/.claude.
func (a *App) RootPath() (string, error) {
	if v := cmp.Or(a.Flags.Root, a.Env("WAGGLE_ROOT"), a.Env("CLAUDE_CONFIG_DIR")); v != "" {
		return parseRoot(v)
	}
	home, err := a.Home()
	return filepath.Join(home, ".claude"), err
}

// parseRoot reads a root URL or a path.
func parseRoot(v string) (string, error) {
	scheme, _, isURL := strings.Cut(v, "://")
	if !isURL {
		return filepath.Abs(v)
	}
	u, err := url.Parse(v)
	if err != nil {
		return "", &operator.Error{Kind: operator.Usage, Op: "root", Err: err}
	}
	switch {
	case scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path):
		return filepath.Clean(u.Path), nil
	case scheme == "file":
		return "", &operator.Error{Kind: operator.Usage, Op: "root", Msg: "a file root is file:///absolute/path, not " + v}
	}
	return "", &operator.Error{Kind: operator.Usage, Op: "root", Msg: "this build has no store for " + scheme + " roots", Advice: "use a directory, or file:///absolute/path"}
}

func (a *App) Home() (string, error) {
	if h := cmp.Or(a.Env("HOME"), a.Env("USERPROFILE")); h != "" {
		return h, nil
	}
	return "", &operator.Error{Kind: operator.Usage, Op: "root", Msg: "HOME is not set", Advice: "say --root DIR and --state DIR"}
}

// StatePath returns STATE: --state, WAGGLE_STATE, $XDG_STATE_HOME/waggle, ~/.local/state/waggle.
func (a *App) StatePath() (string, error) {
	return a.pathOf(cmp.Or(a.Flags.State, a.Env("WAGGLE_STATE")), "XDG_STATE_HOME", ".local/state", "waggle")
}

// pathOf returns the path that a flag or a variable says, else below in the directory of a variable of XDG, else in usual,
// which is in the home directory.
func (a *App) pathOf(said, xdg, usual, below string) (string, error) {
	if said != "" {
		return filepath.Abs(said)
	}
	if v := a.Env(xdg); filepath.IsAbs(v) {
		return filepath.Join(v, below), nil
	}
	home, err := a.Home()
	return filepath.Join(home, usual, below), err
}

// ClaudeDir returns the directory in which Claude Code keeps its settings and its registry of
// sessions: $CLAUDE_CONFIG_DIR, else ~/.claude; "" when neither is known.
func (a *App) ClaudeDir() (string, error) {
	if v := a.Env("CLAUDE_CONFIG_DIR"); v != "" {
		return filepath.Abs(v)
	}
	if home, err := a.Home(); err == nil {
		return filepath.Join(home, ".claude"), nil
	}
	return "", nil
}

// runPath returns RUN, the directory of sockets: $XDG_RUNTIME_DIR/waggle, or STATE/run where there
// is no such directory.
func (a *App) runPath(state home.Home) string {
	if v := a.Env("XDG_RUNTIME_DIR"); filepath.IsAbs(v) {
		if fi, err := os.Stat(v); err == nil && fi.IsDir() {
			return filepath.Join(v, "waggle")
		}
	}
	return state.Run()
}

// WorktreesPath returns the directory of members' worktrees: WAGGLE_WORKTREES,
// $XDG_DATA_HOME/waggle/worktrees, ~/.local/share/waggle/worktrees; "" when none is known.
func (a *App) WorktreesPath() (string, error) {
	path, err := a.pathOf(a.Env("WAGGLE_WORKTREES"), "XDG_DATA_HOME", ".local/share", "waggle/worktrees")
	if operator.KindOf(err) == operator.Usage {
		return "", nil
	}
	return path, err
}

// Op returns the operator of this invocation.
func (a *App) Op() (operator.Operator, error) {
	root, rootErr := a.RootPath()
	// A tree has one URL, through every symbolic link.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	state, stateErr := a.StatePath()
	self, selfErr := spawn.Self(a.Environ)
	config, configErr := a.config()
	worktrees, treesErr := a.WorktreesPath()
	claude, claudeErr := a.ClaudeDir()
	box, boxErr := Confine()
	if err := cmp.Or(rootErr, stateErr, selfErr, configErr, treesErr, claudeErr, boxErr); err != nil {
		return operator.Operator{}, err
	}
	observe, err := a.observer()
	if err != nil {
		return operator.Operator{}, err
	}
	var ceiling *record.Ceiling
	brake := teamfile.UsualBrake
	if config != nil {
		ceiling, brake = &config.Ceiling, config.Brake
	}
	dir, _ := os.Getwd() // "" when it is gone
	rootURL := (&url.URL{Scheme: "file", Path: filepath.ToSlash(root)}).String()
	return operator.Operator{ClaudeDir: claude, Observe: observe, Ceiling: ceiling, Brake: brake, Root: team.Root{Path: root, Locks: filepath.Join(a.runPath(home.Home{Path: state}), "locks"), Led: led{home.Home{Path: state}, rootURL}}, RootURL: rootURL,
		Home: home.Home{Path: state}, RunDir: a.runPath(home.Home{Path: state}), Worktrees: worktrees, WorkDir: dir, Edits: &operator.EditCache{}, Token: a.Env("WAGGLE_TOKEN"), Minter: a.Minter(), Self: self, Environ: a.MemberEnviron(), Version: a.Version, PID: os.Getpid(),
		Log: a.log(), Ancestors: spawn.Ancestors, Called: a.Environ, Confine: box, Waits: a.Waits}, nil
}

// led are the teams with a state here, which waggle leads.
type led struct {
	home home.Home
	root string
}

// Leads implements team.Led. A team that cannot be looked up counts as led by waggle.
func (l led) Leads(name protocol.TeamName) bool {
	dirs, err := l.home.Find(l.root, name)
	return err != nil || len(dirs) > 0
}

// MemberEnviron returns the environment for what works for a team: without the operator's tokens and default team,
// and without what is of the session, the repository or the member in which waggle itself was started. It names the
// terminal still, beside which members get panes.
func (a *App) MemberEnviron() []string {
	return spawn.Without(a.Environ, spawn.ScopeRepository, spawn.ScopeSession, spawn.ScopeMember)
}

func (a *App) Minter() poll.Minter { return poll.Minter{Now: a.Now, Rand: a.Rand} }

// observer writes the transitions of the machines to the target of WAGGLE_TRANSITIONS: a file, to
// which it appends JSON lines, or - for stderr. Nil without the variable.
func (a *App) observer() (machine.Observer, error) {
	switch path := a.Env("WAGGLE_TRANSITIONS"); path {
	case "":
		return nil, nil
	case "-":
		return telemetry.Slog(slog.New(slog.NewTextHandler(a.Err, nil))), nil
	default:
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, &operator.Error{Kind: operator.Usage, Op: "log", Msg: "WAGGLE_TRANSITIONS: " + err.Error(), Advice: "name a file that can be written, or - for stderr"}
		}
		return telemetry.Slog(slog.New(slog.NewJSONHandler(f, nil))), nil // open for as long as the program runs
	}
}

// Team picks the team of --team or WAGGLE_TEAM, that of this directory, or the only one, for a command that acts: it is
// an error when this directory has a team file of another team, which is not up.
func (a *App) Team() (operator.Operator, protocol.TeamName, error) {
	op, name, err := a.pick()
	if err == nil {
		err = a.acts(op, name)
	}
	return op, name, err
}

// InTeam makes what a command does of what it does in the team that pick returns, such as Team.
func InTeam(pick func() (operator.Operator, protocol.TeamName, error), do func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		op, name, err := pick()
		if err != nil {
			return err
		}
		return do(cmd.Context(), op, name, args)
	}
}

// WithOp is InTeam for a command that is about no team.
func (a *App) WithOp(do func(ctx context.Context, op operator.Operator, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		op, err := a.Op()
		if err != nil {
			return err
		}
		return do(cmd.Context(), op, args)
	}
}

// Turns are the commands on and off below another one.
func (a *App) Turns(on, off string, turn func(ctx context.Context, op operator.Operator, on bool) error) (turnOn, turnOff *cobra.Command) {
	of := func(use, short string, on bool) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, RunE: a.WithOp(func(ctx context.Context, op operator.Operator, _ []string) error { return turn(ctx, op, on) })}
	}
	return of("on", on, true), of("off", off, false)
}

// TeamArg makes the argument of a command, where it has one, the team that the command is about, as by --team.
func (a *App) TeamArg(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			a.Flags.Team = args[0]
		}
		return run(cmd, args)
	}
}

// TeamOr reads an argument that names a team, or else something of the team that --team, the directory or the only team
// says: of is "" where it names the team. noTeam is why it is no team, err why there is no other one.
func (a *App) TeamOr(args []string) (op operator.Operator, name protocol.TeamName, of string, noTeam, err error) {
	named := a.Flags.Team
	if len(args) > 0 {
		a.Flags.Team = args[0]
	}
	op, name, err = a.Team()
	if err == nil || len(args) == 0 {
		return op, name, "", err, err
	}
	noTeam, a.Flags.Team = err, named
	op, name, err = a.Team()
	return op, name, args[0], noTeam, err
}

// pick is Team for a command that reads.
func (a *App) pick() (operator.Operator, protocol.TeamName, error) {
	op, err := a.Op()
	if err != nil {
		return op, "", err
	}
	name, err := op.Pick(a.Flags.Team)
	return op, name, err
}

// acts returns an error when a picked team is not that of this directory, whose own is not up.
func (a *App) acts(op operator.Operator, name protocol.TeamName) error {
	if why := a.otherTeam(op, name); why != "" {
		return &operator.Error{Kind: operator.Usage, Op: "team", Msg: why, Near: []string{string(name)}, Next: operator.NextSameIn.With()}
	}
	return nil
}

// otherTeam says that a team that was picked unnamed is not that of the team file of this directory or a parent; "": it
// is, or there is no file that can be read.
func (a *App) otherTeam(op operator.Operator, name protocol.TeamName) string {
	if a.Flags.Team != "" {
		return ""
	}
	at := op.Elsewhere(name)
	if at == "" {
		return ""
	}
	for dir := op.WorkDir; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "waggle.yaml")
		if _, err := os.Stat(path); err == nil {
			f, err := teamfile.ReadFile(path)
			if err != nil || f.Team == name {
				return ""
			}
			return fmt.Sprintf("team %s of %s is not up; the only team that is up is %s of %s", f.Team, operator.Visible(path), name, operator.Visible(at))
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// sayOther notes that what is read is not of this directory's team.
func (a *App) sayOther(op operator.Operator, name protocol.TeamName) {
	if why := a.otherTeam(op, name); why != "" {
		a.Notes([]string{why})
	}
}

// TeamRead is Team for a command that reads: --team may also name a team that has ended. Then the operator
// reads what is kept of it, and a note says so.
func (a *App) TeamRead(ctx context.Context) (operator.Operator, protocol.TeamName, error) {
	op, name, err := a.TeamOrEnded(ctx)
	if err == nil && op.Reads != nil {
		a.Talk("%s team %s has ended: this is what is kept of it", Yellow("note:"), name)
	}
	return op, name, err
}

// TeamOrEnded is TeamRead for a command that says itself what has ended: op.Reads is not nil then.
func (a *App) TeamOrEnded(ctx context.Context) (operator.Operator, protocol.TeamName, error) {
	op, name, err := a.pick()
	if err == nil {
		a.sayOther(op, name)
	}
	if operator.KindOf(err) != operator.NotFound || a.Flags.Team == "" {
		return op, name, err
	}
	ended, past, perr := op.EndedTeam(ctx, a.Flags.Team)
	if operator.KindOf(perr) == operator.NotFound {
		return op, name, err
	}
	return ended, past, perr
}

// TeamPast is TeamRead, and also returns a team of another program that --team names, that is gone, and
// in which the operator acted.
func (a *App) TeamPast(ctx context.Context) (operator.Operator, protocol.TeamName, error) {
	op, name, err := a.TeamRead(ctx)
	if operator.KindOf(err) == operator.NotFound && a.Flags.Team != "" {
		if past, perr := protocol.ParseTeam(a.Flags.Team); perr == nil && inspect.Of(op).WorkedIn(ctx, past) {
			return op, past, nil
		}
	}
	return op, name, err
}

// TeamWith names the team in which a command that reads looks for a member: that of --team or
// WAGGLE_TEAM, else the team here that has the member, present or past. "" stands for the only team.
func (a *App) TeamWith(ctx context.Context, member string) (op operator.Operator, of string, err error) {
	op, err = a.Op()
	if err != nil || a.Flags.Team != "" {
		return op, a.Flags.Team, err
	}
	names, err := op.Names()
	if err != nil {
		return op, "", err
	}
	if len(names) == 1 { // a member of an ended team is found too, when the living one has none of that name
		with, err := inspect.Of(op).TeamsWith(ctx, member)
		if err == nil && len(with) == 1 && with[0] != string(names[0]) {
			return op, with[0], nil
		}
		a.sayOther(op, names[0])
		return op, "", nil
	}
	if known, err := op.Home.List(); err != nil || len(names)+len(known) == 0 {
		return op, "", err
	}
	of, err = inspect.Of(op).TeamWith(ctx, member)
	return op, of, err
}

// Listed names the teams that a list is about: that of an argument, --team or WAGGLE_TEAM, else every
// team here, else those whose records are kept. A list of one "" stands for the only team there was,
// or for none.
func (a *App) Listed(args []string) (op operator.Operator, of []string, err error) {
	op, err = a.Op()
	if len(args) > 0 || a.Flags.Team != "" || err != nil {
		return op, append(slices.Clone(args), a.Flags.Team)[:1], err
	}
	names, err := op.Names()
	if err != nil {
		return op, nil, err
	}
	if of = protocol.Strings(names); len(of) == 0 {
		past, err := inspect.Of(op).PastNames()
		if err != nil {
			return op, nil, err
		}
		for _, n := range past {
			if n.Name != "" {
				of = append(of, n.Name)
			}
		}
	}
	if len(of) > 1 {
		return op, of, nil
	}
	return op, []string{""}, nil
}

// Tty reports whether a stream is a terminal.
func Tty(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// Profile returns how much colour a stream gets: none with --no-color, NO_COLOR, when it is no
// terminal, or when a log keeps what goes to it.
func (a *App) Profile(w io.Writer) colorprofile.Profile {
	if a.Flags.NoColor || a.Log {
		return colorprofile.NoTTY
	}
	return colorprofile.Detect(w, a.Environ)
}

// size returns the columns and lines of a terminal, 0 for another output.
func size(w io.Writer) (columns, lines int) {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		columns, lines, _ = term.GetSize(int(f.Fd())) // 0 with an error
	}
	return columns, lines
}

// Width returns the width of the terminal, 0 when there is none.
func Width(w io.Writer) int { columns, _ := size(w); return columns }

// Height returns how many lines a terminal has, 0 for another output.
func Height(w io.Writer) int { _, lines := size(w); return lines }

// TaskTeam picks the task list: --team, CLAUDE_CODE_TASK_LIST_ID, or the only team. A list may
// exist without its team: those of Claude Code outlive their sessions (protocol §4).
func (a *App) TaskTeam() (operator.Operator, protocol.TeamName, error) {
	op, name, err := a.pickTasks()
	if err == nil && a.Env("CLAUDE_CODE_TASK_LIST_ID") == "" {
		err = a.acts(op, name)
	}
	return op, name, err
}

// pickTasks is TaskTeam for a command that reads.
func (a *App) pickTasks() (operator.Operator, protocol.TeamName, error) {
	op, err := a.Op()
	if err != nil {
		return op, "", err
	}
	if name, err := protocol.ParseTeam(cmp.Or(a.Flags.Team, a.Env("CLAUDE_CODE_TASK_LIST_ID"))); err == nil {
		if info, err := os.Lstat(op.Root.TasksDir(name)); err == nil && info.IsDir() {
			return op, name, nil
		}
	}
	name, err := op.Pick(a.Flags.Team)
	return op, name, err
}

// TaskTeamRead is TaskTeam for a command that reads: --team may also name a team that has ended.
func (a *App) TaskTeamRead(ctx context.Context) (operator.Operator, protocol.TeamName, error) {
	op, name, err := a.pickTasks()
	if operator.KindOf(err) == operator.NotFound && a.Flags.Team != "" {
		return a.TeamRead(ctx)
	}
	if err == nil {
		a.sayOther(op, name)
	}
	return op, name, err
}
