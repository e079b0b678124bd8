package reach

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/cmdline"
	"waggle/internal/confine"
	"waggle/internal/sandbox"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// Where selects the member or the directory of a sandbox.
type Where struct {
	Team   protocol.TeamName
	Member string // "": the sandbox of a directory, with mode auto and every build cache
	Dir    string // the directory; with a member, the command's: "" is the member's own
}

// Box is a sandbox for inspection.
type Box struct {
	Name  string // the member; "": a directory
	Dir   string // working directory of a command
	Tree  string // the directory that it may change
	Wants record.Sandbox

	box    *confine.Member
	dir    string // the directory of its own files
	grants []control.Grant
	asks   bool
	closed string // the rule or mode that closes every host that a preset does not open; "": none
}

// OpenBox makes the sandbox of a member, or of a directory. program is the relay: waggle's own binary.
func (o Operator) OpenBox(ctx context.Context, program string, w Where) (b *Box, err error) {
	if err := os.MkdirAll(o.Home.Run(), 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(o.Home.Run(), "box-")
	if err != nil {
		return nil, err
	}
	b = &Box{dir: dir, Dir: w.Dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	c, err := o.ofDirectory(w.Dir, dir)
	if w.Member != "" {
		c, err = o.ofMember(ctx, b, w)
	}
	if err != nil {
		return nil, err
	}
	c.Dir, c.Sockets = filepath.Join(dir, "kit"), ""
	if c.Want.Mode == record.SandboxRequired {
		c.Want.Mode = record.SandboxAuto // an inspection does not fail at a lower level
	}
	c.Ask = func(context.Context, string, string) (agent.Decision, error) {
		return agent.Decision{Reason: "nobody is asked here: only hosts that are granted already are open", By: "system"}, nil
	}
	c.Connected = func(record.Connection) {}
	b.Tree, b.Wants = c.Tree, c.Want
	if b.box, err = confine.Open(ctx, program, c); err != nil {
		return nil, err
	}
	held := b.box.Held()
	if held.Enforces() {
		err = b.box.Enforce(ctx, b.grants)
	}
	return b, err
}

// ofDirectory returns the settings of a sandbox for a directory without a member.
func (o Operator) ofDirectory(tree, dir string) (worker.Confining, error) {
	tree, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return worker.Confining{}, err
	}
	return worker.Confining{Want: record.Sandbox{Mode: record.SandboxAuto, Caches: sandbox.CacheNames()}, Existing: true, Tree: tree, Own: filepath.Join(dir, "own"),
		Hidden: o.hidden(), Environ: o.Environ, Now: o.Minter.Now}, nil
}

// hidden are waggle's own directories.
func (o Operator) hidden() []string {
	return []string{o.Home.Path, o.RunPath(), filepath.Join(o.Root.Path, "teams"), filepath.Join(o.Root.Path, "tasks")}
}

// ofMember returns the settings of the sandbox of a member, from the records of its team.
func (o Operator) ofMember(ctx context.Context, b *Box, w Where) (worker.Confining, error) {
	s, err := o.Open(ctx, w.Team, operator.Act)
	if err != nil {
		return worker.Confining{}, err
	}
	m, err := decide.Member(s, w.Member)
	if err != nil {
		return worker.Confining{}, err
	}
	if !m.Joined.Sandbox.Asked() {
		return worker.Confining{}, &operator.Error{Kind: operator.Refused, Op: "sandbox", Msg: string(m.Name) + " has no sandbox: its commands run as you",
			Advice: "write sandbox: {mode: auto} into the team file"}
	}
	fold, err := s.Worker(m.Instance)
	if err != nil {
		return worker.Confining{}, err
	}
	now := o.Minter.Now()
	b.Name, b.Dir = string(m.Name), cmp.Or(w.Dir, m.Cwd)
	b.grants = fold.Grants(s.Lead, now)
	for _, d := range fold.HostsDenied(s.Lead, now) {
		if d.Host == "" {
			b.closed = d.Rule
		}
	}
	b.asks = b.closed != "" || fold.Judge(protocol.KindSandboxPermissionRequest, record.Ask{Host: anyHost, Port: "443"}, s.Lead, now).Decision != policy.Deny
	c := worker.ConfiningOf(process.Of(o.Operator).Worker(s, m.Instance), s.Lead, m)
	if c.Needs != nil {
		c.Needs.Start = nil // the member's process has tried it
		if fold.Ready != nil && fold.Ready.Sandbox != nil {
			c.Outside = fold.Ready.Sandbox.Outside
		}
	}
	return c, nil
}

// anyHost stands for a host that nobody has granted.
const anyHost = "host.invalid"

// Close removes the sandbox. The caller ends its commands first.
func (b *Box) Close() error { return errors.Join(b.box.Close(), os.RemoveAll(b.dir)) }

// Point is one point of the self-test.
type Point struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Tested is the result of the self-test of a sandbox.
type Tested struct {
	Member string           `json:"member"` // "": a directory
	Tree   string           `json:"tree"`   // what commands may change
	Level  record.HeldLevel `json:"level"`  // enforced, files only, off
	OK     bool             `json:"passed"` // what Passed says
	Why    string           `json:"why"`    // why the level is not higher
	Fix    string           `json:"fix"`    // the command that would permit a higher level
	Gaps   []string         `json:"gaps"`   // what the level does not hold
	Points []Point          `json:"points"`
}

// Passed reports whether the level is enforced and every point passed.
func (t Tested) Passed() bool {
	return t.Level == record.HeldEnforced && len(t.Points) > 0 && !slices.ContainsFunc(t.Points, func(p Point) bool { return !p.OK })
}

// Tested returns the self-test.
func (b *Box) Tested() Tested {
	h := b.box.Held()
	t := Tested{Member: b.Name, Tree: b.Tree, Level: h.Level, Why: h.Why, Fix: h.Fix, Gaps: h.Gaps}
	for _, p := range b.box.Points() {
		t.Points = append(t.Points, Point(p))
	}
	t.OK = t.Passed()
	return t
}

// Line is the access of a command to one path or host.
type Line struct {
	Subject string `json:"subject"` // a path, a host, or what the line is about
	Verdict string `json:"verdict"` // read, write, forbidden, absent, own; allowed, denied, asked, refused, open
	Why     string `json:"why"`
}

// Explained lists the access of a command.
type Explained struct {
	Tested
	Command operator.Nullable[string] `json:"command"`
	Dir     string                    `json:"dir"`
	Lines   []Line                    `json:"lines"`
	Judged  *decide.Judged            `json:"judged"` // the judgement of the rules; nil: without a member
}

// Explain lists what a command could access in a directory, and why.
func (o Operator) Explain(ctx context.Context, b *Box, w Where, argv []string) (*Explained, error) {
	lines, err := b.box.Explain(argv, b.Dir, b.grants, b.asks)
	if err != nil {
		return nil, err
	}
	e := &Explained{Tested: b.Tested(), Command: argv, Dir: b.Dir}
	for _, l := range lines {
		if l.Verdict == "asked" && b.closed != "" {
			l.Verdict, l.Why = "denied", b.closed+", whatever is granted"
		}
		e.Lines = append(e.Lines, Line(l))
	}
	if b.Name == "" {
		return e, nil
	}
	text, err := shellText(argv)
	if err == nil {
		e.Judged, err = decide.Of(o.Operator).TestPolicy(ctx, w.Team, b.Name, "Bash("+text+")", b.Dir)
	}
	return e, err
}

// shellText is a command as the rules judge it: one word is a shell text.
func shellText(argv []string) (string, error) {
	if len(argv) == 1 {
		return argv[0], nil
	}
	text, err := cmdline.Quote(argv)
	if err != nil {
		return "", &operator.Error{Kind: operator.Usage, Op: "sandbox", Err: err}
	}
	return text, nil
}

// Ready is a command that the caller starts in its own terminal, and closes when the command has
// ended.
type Ready struct {
	Argv []string
	Env  []string // the whole environment

	ready *sandbox.Ready
}

// Prepare makes a Ready. The caller closes it, also when it starts no process.
func (b *Box) Prepare(c spawn.Command) (*Ready, error) {
	r, err := b.box.Prepare(c)
	if err != nil {
		return nil, err
	}
	return &Ready{Argv: r.Argv, Env: r.Env, ready: r}, nil
}

// End asks the command to end.
func (r *Ready) End() error { return r.ready.Signal(syscall.SIGTERM) }

// Close ends the command and returns how it ended; nil: the process that the caller started has the
// result.
func (r *Ready) Close() (*spawn.Exit, error) { return r.ready.Close() }
