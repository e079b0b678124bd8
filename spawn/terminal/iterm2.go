package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waggle/internal/backoff"
	"waggle/spawn"
)

// ITerm2Options say which iTerm2, and where in it.
type ITerm2Options struct {
	Options
	// Program is it2, the command line of iTerm2's API, an absolute path.
	Program string
	// Env is what it2 itself is run with; a member gets only what its Spec says.
	Env []string
	// Home is the session that members get splits beside: ours, as InITerm says.
	// Required.
	Home string
	// Profiles is the directory whose profiles iTerm2 loads at once; "" is iTerm2's own below the
	// HOME of Env.
	Profiles string
	// Patience is how long iTerm2 may take to load a profile, and again to run a holder in a new
	// split; 0 is 20 s.
	Patience time.Duration
}

func (o ITerm2Options) filled() (ITerm2Options, error) {
	if o.Profiles == "" {
		o.Profiles = filepath.Join(spawn.Getenv(o.Env, "HOME"), "Library", "Application Support", "iTerm2", "DynamicProfiles")
	}
	o.Patience = cmp.Or(o.Patience, 20*time.Second)
	switch {
	case !filepath.IsAbs(o.Program):
		return o, errors.New("it2 is not an absolute path")
	case !filepath.IsAbs(o.Profiles):
		return o, errors.New("the directory of iTerm2's profiles is not an absolute path")
	case !sessionID(o.Home):
		return o, fmt.Errorf("%q is no session of iTerm2", o.Home)
	}
	return o, nil
}

// InITerm reads from an environment in which session of iTerm2 a program runs. ok
// is false outside iTerm2.
func InITerm(env []string) (session string, ok bool) {
	// ITERM_SESSION_ID is w0t1p2:GUID.
	_, id, found := strings.Cut(spawn.Getenv(env, "ITERM_SESSION_ID"), ":")
	return id, found && sessionID(id)
}

// sessionID reports whether s is spelled like iTerm2 spells the id of a session: a
// GUID.
func sessionID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (r == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return false
		}
	}
	return true
}

// itermCommand encodes an argv as the command of a profile. iTerm2 splits that text itself and
// starts the result without a shell: words end at spaces and are kept together by double quotes.
// Before, it expands \(…) and asks the person for the text between two $$, so that words with such
// signs are refused rather than escaped.
func itermCommand(argv []string) (string, error) {
	words := make([]string, 0, len(argv))
	for _, a := range argv {
		if strings.ContainsAny(a, `"\`) || strings.Contains(a, "$$") || strings.ContainsFunc(a, control) {
			return "", fmt.Errorf(`iTerm2 cannot be given the word %q: it has a quote, a backslash, $$ or a control character`, a)
		}
		words = append(words, `"`+a+`"`)
	}
	return strings.Join(words, " "), nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// itermName is a name without what iTerm2 expands or a terminal obeys.
func itermName(s string) string {
	return strings.Map(func(r rune) rune {
		if control(r) || r == '\\' || r == '$' {
			return '_'
		}
		return r
	}, s)
}

// itermProfile is one profile as iTerm2 reads it. A field that is left out has the value of the
// person's default profile, so every field that starts or types something is set.
type itermProfile struct {
	Name    string `json:"Name"`
	GUID    string `json:"Guid"`
	Custom  string `json:"Custom Command"` // "Yes": Command, without a login shell
	Command string `json:"Command"`
	Initial string `json:"Initial Text"` // no typed text
	// Close is what happens when the command ends: the split stays, to be read.
	Close    bool        `json:"Close Sessions On End"`
	Prompt   int         `json:"Prompt Before Closing 2"` // 0: never
	Badge    string      `json:"Badge Text"`
	UseColor bool        `json:"Use Tab Color"`
	Color    *itermColor `json:"Tab Color,omitempty"`
}

type itermColor struct {
	Red   float64 `json:"Red Component"`
	Green float64 `json:"Green Component"`
	Blue  float64 `json:"Blue Component"`
	Space string  `json:"Color Space"`
}

// itermColors are the colours that a Spec may name.
var itermColors = map[string]itermColor{
	"red":       {0.80, 0.20, 0.18, "sRGB"},
	"green":     {0.25, 0.63, 0.24, "sRGB"},
	"yellow":    {0.83, 0.66, 0.10, "sRGB"},
	"blue":      {0.20, 0.44, 0.82, "sRGB"},
	"magenta":   {0.63, 0.29, 0.74, "sRGB"},
	"cyan":      {0.12, 0.63, 0.67, "sRGB"},
	"colour208": {1.00, 0.53, 0.00, "sRGB"},
	"colour213": {1.00, 0.53, 1.00, "sRGB"},
}

// newProfile is the profile in which a holder runs: id makes its name unique.
func newProfile(id, title, color, command string) itermProfile {
	title = itermName(title)
	p := itermProfile{Name: title + " [" + id + "]", GUID: "waggle-" + id, Custom: "Yes", Command: command, Badge: title}
	if c, ok := itermColors[color]; ok {
		p.UseColor, p.Color = true, &c
	}
	return p
}

// ITerm2 is the backend "iterm2": each process in a split of iTerm2, beside Home, started as the
// command of a profile of its own and never typed. The profile carries the Title of the Spec, as
// name and badge, and its Color, as the colour of the tab, and is removed once the process runs. A
// split whose process has ended stays, for people to read, until ClosePane.
//
// It needs it2 (https://github.com/mkusaka/it2) and iTerm2's Python API switched on.
func ITerm2(o ITerm2Options) spawn.Backend { return spawn.NewBackend("iterm2", " in iTerm2", o.start) }

// splits are the sessions that this program has made, so that the next one comes
// below them before they are on record.
var splits sync.Map // of string to struct{}

func (o ITerm2Options) start(ctx context.Context, spec spawn.Spec) (*spawn.Process, error) {
	p, err := o.name(ctx, spec)
	if err == nil {
		o, err = o.filled()
	}
	if err != nil {
		return nil, err
	}
	profile, err := o.profile(p, spec)
	if err != nil {
		return nil, err
	}
	defer os.Remove(profile.path)
	it := it2{o.Program, o.Env}
	id, err := o.split(ctx, it, profile)
	if err != nil {
		return nil, err
	}
	pane := spawn.Pane{Mux: spawn.MuxITerm2, ID: id}
	h, err := p.report(ctx, o, it, spec, pane)
	if err != nil {
		ctx := context.WithoutCancel(ctx)
		if refused := notStarted(""); !errors.As(err, &refused) {
			err = errors.Join(err, p.revoke(ctx))
		}
		return nil, errors.Join(err, it.drop(ctx, id))
	}
	return spawn.NewProcess(h.Process, h.Place, func() spawn.Exit { return p.ended(h) }), nil
}

// report hands the process to the holder that iTerm2 is to run in a split, and
// waits until it says that the process runs.
func (p paths) report(ctx context.Context, o ITerm2Options, it it2, spec spawn.Spec, pane spawn.Pane) (hold, error) {
	if err := p.lay(o.Options, spec, &pane); err != nil {
		return hold{}, err
	}
	within, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	// The holder's process is known once it reports; until then only a closed split can be noticed.
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	h, err := p.wait(within, func() bool {
		select {
		case <-tick.C:
			sessions, err := it.sessions(within)
			return err != nil || has(sessions, pane.ID)
		default:
			return true
		}
	})
	switch {
	case errors.Is(err, errNoHolder):
		err = fmt.Errorf("the split %s was closed before anything ran in it", pane.ID)
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("iTerm2 made the split %s, and ran nothing in it within %v", pane.ID, o.Patience)
	}
	return h, err
}

// revoke removes a hand-over. When a holder has taken it already, revoke waits for its report and
// ends it.
func (p paths) revoke(ctx context.Context) error {
	if err := os.Remove(p.handover()); err == nil || !errors.Is(err, fs.ErrNotExist) {
		p.clear()
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, revokeWait)
	defer cancel()
	defer p.clear()
	h, err := p.wait(ctx, func() bool { return true })
	if err != nil {
		return nil // it reported that it started no process, or it ended
	}
	_, err = spawn.StopTree(ctx, h.Process, spawn.Grace{Term: time.Millisecond})
	return err
}

// revokeWait is how long a holder that has taken its hand-over may take to report.
const revokeWait = 5 * time.Second

// profileFile is a profile that was handed to iTerm2.
type profileFile struct{ path, name string }

const profilePrefix = "waggle-"

// profile writes the profile in which a holder waits for p. Its file is named after this process,
// so that a later process can remove the file of a dead one.
func (o ITerm2Options) profile(p paths, spec spawn.Spec) (profileFile, error) {
	if _, err := os.Stat(o.Profiles); err != nil {
		return profileFile{}, fmt.Errorf("iTerm2's directory of dynamic profiles: %w", err)
	}
	command, err := itermCommand(append(o.Holder[:len(o.Holder):len(o.Holder)], p.handover()))
	if err != nil {
		return profileFile{}, err
	}
	self, err := spawn.Identify(os.Getpid())
	if err != nil {
		return profileFile{}, err
	}
	o.sweep()
	id := filepath.Base(p.base)
	made := newProfile(id, spec.Title, spec.Color, command)
	path := filepath.Join(o.Profiles, profilePrefix+id+"."+mark(self)+".json")
	return profileFile{path, made.Name}, writeJSON(path, map[string][]itermProfile{"Profiles": {made}})
}

// sweep removes the profiles of starters that were killed.
func (o ITerm2Options) sweep() {
	found, _ := filepath.Glob(filepath.Join(o.Profiles, profilePrefix+"*.json")) // the pattern is well formed
	for _, path := range found {
		f := strings.Split(filepath.Base(path), ".") // waggle-ID PID START json
		if len(f) != 4 {
			continue
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		id, err := spawn.Identify(pid)
		if errors.Is(err, spawn.ErrGone) || err == nil && id.Start != f[2] {
			_ = os.Remove(path)
		}
	}
}

// split makes a session with a profile: below the last one of ours, or beside Home.
func (o ITerm2Options) split(ctx context.Context, it it2, profile profileFile) (string, error) {
	over, err := o.turn(ctx, "iterm2.lock")
	if err != nil {
		return "", err
	}
	defer over()
	before, err := it.sessions(ctx)
	if err != nil {
		return "", err
	}
	if !has(before, o.Home) {
		return "", fmt.Errorf("iTerm2 has no session %s any more: start from one of its windows", o.Home)
	}
	args := []string{"session", "split", "-s", o.Home, "-v"}
	held, _ := List(o.Dir) // a record that cannot be read has no place in the layout
	for _, s := range before {
		_, ours := splits.Load(s.ID)
		if ours || slices.ContainsFunc(held, func(h Held) bool { return h.Place.Pane != nil && h.Place.Pane.ID == s.ID }) {
			args = []string{"session", "split", "-s", s.ID}
		}
	}
	made, err := it.splitWith(ctx, append(args, "-p", profile.name), o.Patience)
	id := ""
	if err == nil {
		id, err = madeSession(made)
	}
	if err == nil && has(before, id) {
		err = fmt.Errorf("it2 named the session %s as new, which was there before", id)
	}
	if err != nil {
		return "", errors.Join(err, it.dropLost(context.WithoutCancel(ctx), before, profile))
	}
	splits.Store(id, struct{}{})
	return id, nil
}

// splitWith splits as soon as iTerm2 has loaded the profile.
func (it it2) splitWith(ctx context.Context, args []string, patience time.Duration) (string, error) {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		out, err := it.run(ctx, args...)
		// The API names what it misses: INVALID_PROFILE_NAME.
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "profile") {
			return out, err
		}
		if !backoff.Pause(within, 100*time.Millisecond) {
			return "", errors.Join(err, ctx.Err())
		}
	}
}

// madeSession reads the id out of what it2 says of a split.
func madeSession(out string) (string, error) {
	_, rest, ok := strings.Cut(out, "Created new pane:")
	if f := strings.Fields(rest); ok && len(f) > 0 && sessionID(f[0]) {
		return f[0], nil
	}
	return "", fmt.Errorf("it2 said %.200q of its new session", out)
}

// it2 runs iTerm2's command line.
type it2 struct {
	program string
	env     []string
}

// maxSaid bounds what is read of it2 and of tmux.
const maxSaid = 1 << 20

// it2Wait is how long one call of it2 may take: it starts an interpreter and asks a
// program that a person works in.
const it2Wait = 30 * time.Second

func (it it2) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, it2Wait)
	defer cancel()
	out, said, err := runApart(ctx, it.env, it.program, args...)
	if err != nil {
		if text := strings.TrimSpace(string(said.Kept)); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return "", fmt.Errorf("it2 %s: %w", strings.Join(args[:2], " "), errors.Join(ctx.Err(), err))
	}
	return string(out.Kept), nil
}

// session is one of iTerm2's as it2 lists it; it says more.
type session struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func has(sessions []session, id string) bool {
	return slices.ContainsFunc(sessions, func(s session) bool { return s.ID == id })
}

// sessions are all sessions, in the order of the windows.
func (it it2) sessions(ctx context.Context) ([]session, error) {
	out, err := it.run(ctx, "session", "list", "--json")
	if err != nil {
		return nil, err
	}
	var list []session
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("it2 said %.200q of its sessions", out)
	}
	return list, nil
}

func (it it2) close(ctx context.Context, id string) error {
	_, err := it.run(ctx, "session", "close", "-s", id, "-f")
	return err
}

// drop closes a split whose start failed, if it is still there.
func (it it2) drop(ctx context.Context, id string) error {
	sessions, err := it.sessions(ctx)
	if err != nil || !has(sessions, id) {
		return err
	}
	return it.close(ctx, id)
}

// dropLost closes the split of a profile when it2 did not say which it is: a new one
// that has the profile's name, which no other has.
func (it it2) dropLost(ctx context.Context, before []session, profile profileFile) error {
	sessions, err := it.sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if strings.Contains(s.Name, profile.name) && !has(before, s.ID) {
			return it.close(ctx, s.ID)
		}
	}
	return nil
}

// used reports that something runs in a session whose holder has ended: a person
// has started it again.
func (it it2) used(ctx context.Context, id string) bool {
	out, err := it.run(ctx, "session", "get-var", "pid", "-s", id)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		return false // not every iTerm2 says
	}
	now, err := spawn.Identify(pid)
	return err == nil && now.Alive()
}

// ITermHere says why members cannot be shown beside a program with this environment: it
// does not run in iTerm2, or iTerm2's API does not answer. nil: they can. program is
// it2.
func ITermHere(ctx context.Context, program string, env []string) error {
	own, ok := InITerm(env)
	if !ok {
		return errors.New("this is no session of iTerm2")
	}
	sessions, err := it2{program, env}.sessions(ctx)
	if err == nil && !has(sessions, own) {
		err = fmt.Errorf("iTerm2 has no session %s", own)
	}
	return err
}

// closeSession closes the session of a process that has ended, if it still is the
// one that was made for it.
func closeSession(ctx context.Context, it it2, p spawn.Pane) error {
	own, _ := InITerm(it.env)
	if !sessionID(p.ID) || p.ID == own || p.Server.PID != 0 && !p.Server.Alive() {
		return nil
	}
	sessions, err := it.sessions(ctx)
	if err != nil {
		return fmt.Errorf("spawn: close split: %w", err)
	}
	if !has(sessions, p.ID) || it.used(ctx, p.ID) {
		return nil
	}
	if err := it.close(ctx, p.ID); err != nil {
		return fmt.Errorf("spawn: close split: %w", err)
	}
	return nil
}

// terminalOwner is the process that made the terminal that this one runs in: the
// parent of who leads its session. The zero Identity when that cannot be told.
func terminalOwner() spawn.Identity {
	self, err := spawn.Identify(os.Getpid())
	if err != nil || self.SID == 0 {
		return spawn.Identity{}
	}
	pid, err := spawn.Parent(self.SID)
	if err != nil || pid <= 1 {
		return spawn.Identity{}
	}
	id, err := spawn.Identify(pid)
	if err != nil {
		return spawn.Identity{}
	}
	return id
}
