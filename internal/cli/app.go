// Package cli is the command line: a thin face over operator. It is the one
// place that reads the environment, the clock and the terminal. Each command is
// a file and one line in root.go.
package cli

import (
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"waggle"
	"waggle/home"
	"waggle/internal/telemetry"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/poll"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// App is one invocation's world. The zero value does not work; Main makes it
// from the process, tests from parts.
type App struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string
	Now     func() time.Time
	Rand    io.Reader
	Version string

	alone bool  // the process ends with this command
	asker asker // the one reader of answers; see canAsk

	flags struct {
		root, state, team, as, config string
		json, noColor, quiet          bool
	}
}

// env looks a variable up.
func (a *App) env(key string) string {
	for i := len(a.Environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(a.Environ[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// rootPath is the wire tree: --root, WAGGLE_ROOT, CLAUDE_CONFIG_DIR, ~/.claude.
func (a *App) rootPath() (string, error) {
	for _, v := range []string{a.flags.root, a.env("WAGGLE_ROOT"), a.env("CLAUDE_CONFIG_DIR")} {
		if v != "" {
			return parseRoot(v)
		}
	}
	home, err := a.home()
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

func (a *App) home() (string, error) {
	if h := a.env("HOME"); h != "" {
		return h, nil
	}
	if h := a.env("USERPROFILE"); h != "" {
		return h, nil
	}
	return "", &operator.Error{Kind: operator.Usage, Op: "root", Msg: "HOME is not set", Advice: "say --root DIR and --state DIR"}
}

// statePath is STATE: --state, WAGGLE_STATE, $XDG_STATE_HOME/waggle,
// ~/.local/state/waggle.
func (a *App) statePath() (string, error) {
	for _, v := range []string{a.flags.state, a.env("WAGGLE_STATE")} {
		if v != "" {
			return filepath.Abs(v)
		}
	}
	if v := a.env("XDG_STATE_HOME"); filepath.IsAbs(v) {
		return filepath.Join(v, "waggle"), nil
	}
	home, err := a.home()
	return filepath.Join(home, ".local", "state", "waggle"), err
}

// claudeDir is where Claude Code keeps its settings and its registry of sessions:
// $CLAUDE_CONFIG_DIR, else ~/.claude; "" when neither is known.
func (a *App) claudeDir() (string, error) {
	if v := a.env("CLAUDE_CONFIG_DIR"); v != "" {
		return filepath.Abs(v)
	}
	if home, err := a.home(); err == nil {
		return filepath.Join(home, ".claude"), nil
	}
	return "", nil
}

// runPath is RUN, where sockets lie: $XDG_RUNTIME_DIR/waggle, or STATE/run where
// there is no such directory.
func (a *App) runPath(state home.Home) string {
	if v := a.env("XDG_RUNTIME_DIR"); filepath.IsAbs(v) {
		if fi, err := os.Stat(v); err == nil && fi.IsDir() {
			return filepath.Join(v, "waggle")
		}
	}
	return state.Run()
}

// worktreesPath is where members' worktrees are made: WAGGLE_WORKTREES,
// $XDG_DATA_HOME/waggle/worktrees, ~/.local/share/waggle/worktrees; "" when none is
// known.
func (a *App) worktreesPath() (string, error) {
	if v := a.env("WAGGLE_WORKTREES"); v != "" {
		return filepath.Abs(v)
	}
	if v := a.env("XDG_DATA_HOME"); filepath.IsAbs(v) {
		return filepath.Join(v, "waggle", "worktrees"), nil
	}
	if home, err := a.home(); err == nil {
		return filepath.Join(home, ".local", "share", "waggle", "worktrees"), nil
	}
	return "", nil
}

// op is the operator of this invocation.
func (a *App) op() (operator.Operator, error) {
	root, err := a.rootPath()
	if err != nil {
		return operator.Operator{}, err
	}
	// One tree has one URL, whichever link led to it.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	state, err := a.statePath()
	if err != nil {
		return operator.Operator{}, err
	}
	self, err := operator.Self()
	if err != nil {
		return operator.Operator{}, err
	}
	observe, err := a.observer()
	if err != nil {
		return operator.Operator{}, err
	}
	config, err := a.config()
	if err != nil {
		return operator.Operator{}, err
	}
	worktrees, err := a.worktreesPath()
	if err != nil {
		return operator.Operator{}, err
	}
	var ceiling *record.Ceiling
	if config != nil {
		ceiling = &config.Ceiling
	}
	claude, err := a.claudeDir()
	if err != nil {
		return operator.Operator{}, err
	}
	rootURL := (&url.URL{Scheme: "file", Path: filepath.ToSlash(root)}).String()
	return operator.Operator{ClaudeDir: claude, Observe: observe, Ceiling: ceiling, Root: team.Root{Path: root, Locks: filepath.Join(a.runPath(home.Home{Path: state}), "locks"), Led: led{home.Home{Path: state}, rootURL}}, RootURL: rootURL,
		Home: home.Home{Path: state}, RunDir: a.runPath(home.Home{Path: state}), Worktrees: worktrees, Edits: &operator.EditCache{}, Token: a.env("WAGGLE_TOKEN"), Minter: a.minter(), Self: self, Environ: a.memberEnviron(), Version: a.Version, PID: os.Getpid(),
		Log: a.log(), Ancestors: spawn.Ancestors}, nil
}

// led are the teams that have a state here: nobody else leads those.
type led struct {
	home home.Home
	root string
}

// Leads implements team.Led. What cannot be looked up counts as ours.
func (l led) Leads(name waggle.TeamName) bool {
	dirs, err := l.home.Find(l.root, name)
	return err != nil || len(dirs) > 0
}

// memberEnviron is the environment of members' processes: without tokens, which are
// not their agents'.
func (a *App) memberEnviron() []string {
	return slices.DeleteFunc(slices.Clone(a.Environ), func(v string) bool {
		return strings.HasPrefix(v, "WAGGLE_TOKEN=") || strings.HasPrefix(v, "WAGGLE_JOIN=")
	})
}

func (a *App) minter() poll.Minter { return poll.Minter{Now: a.Now, Rand: a.Rand} }

// observer writes the transitions of the machines where WAGGLE_TRANSITIONS says: a
// file, as JSON lines behind those that are there, or - for stderr. Nil without it.
func (a *App) observer() (machine.Observer, error) {
	switch path := a.env("WAGGLE_TRANSITIONS"); path {
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

func (a *App) log() *slog.Logger {
	level := slog.LevelWarn
	if a.env("WAGGLE_DEBUG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}

// team picks the team of --team, or the only one.
func (a *App) team() (operator.Operator, waggle.TeamName, error) {
	op, err := a.op()
	if err != nil {
		return op, "", err
	}
	name, err := op.Pick(a.flags.team)
	return op, name, err
}

// teamPast is team, and the one that --team names when another program led it, it is
// gone, and something is on record that was done in it.
func (a *App) teamPast() (operator.Operator, waggle.TeamName, error) {
	op, name, err := a.team()
	if operator.KindOf(err) == operator.NotFound && a.flags.team != "" {
		if past, perr := waggle.ParseTeam(a.flags.team); perr == nil && inspect.Of(op).WorkedIn(past) {
			return op, past, nil
		}
	}
	return op, name, err
}

// teamArg picks the team that a positional argument or --team names.
func (a *App) teamArg(args []string) (operator.Operator, waggle.TeamName, error) {
	if len(args) > 0 {
		a.flags.team = args[0]
	}
	return a.team()
}

// tty reports whether a stream is a terminal.
func tty(v any) bool {
	f, ok := v.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// profile is how much colour a stream gets: none with --no-color, NO_COLOR, or
// when it is no terminal.
func (a *App) profile(w io.Writer) colorprofile.Profile {
	if a.flags.noColor {
		return colorprofile.NoTTY
	}
	return colorprofile.Detect(w, a.Environ)
}

// width is the terminal's, 0 when there is none.
func width(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}
