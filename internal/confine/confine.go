package confine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"waggle/internal/cut"
	"waggle/internal/fs/logfile"
	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/sandbox/relay"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// Variable is the environment variable that turns sandboxes off with the value "off": mode auto is
// off then, and a member that requires a sandbox does not start.
const Variable = "WAGGLE_SANDBOX"

// With returns the function that makes the sandboxes of members. program is the relay: a static
// binary whose main calls relay.Main for the subcommand relay.Subcommand.
func With(program string) worker.Confine {
	return with(settings{kit: func(dir string) (sandbox.Kit, error) { return sandbox.NewKit(dir, program) }})
}

// settings are the parts that tests replace.
type settings struct {
	kit   func(dir string) (sandbox.Kit, error)
	proxy proxy.Options // tests replace Resolve and Dial
}

func with(s settings) worker.Confine {
	return func(ctx context.Context, c worker.Confining) (worker.Confinement, error) {
		m, err := open(ctx, s, c)
		if err != nil {
			return nil, err // not a nil *Member in an interface
		}
		return m, nil
	}
}

// Member is the sandbox of one member's commands.
type Member struct {
	settings
	c     worker.Confining
	doors string // sockets of commands, removed by Close
	box   sandbox.Sandbox
	way   *proxy.Proxy // to the network; nil: the level has no proxy
	held  record.Held
	log   *slog.Logger
	lost  missed // by the agent's program, which runs in the sandbox as a whole
	// points are the points of the last self-test.
	points []relay.Point

	mu       sync.Mutex
	found    map[string][]string // what the wildcards of deny rules name
	reserved []string            // the entries of its tree that reserve made
}

var _ worker.Confinement = (*Member)(nil)

// doorRoom is the length that the names below a kit's directory add to a socket's path.
const (
	socketPathMax = 103
	doorRoom      = len("/d") + 10 + len("/s")
)

func open(ctx context.Context, s settings, c worker.Confining) (m *Member, err error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	m = &Member{settings: s, c: c, doors: c.Sockets, log: c.Log, box: sandbox.Sandbox{Level: sandbox.Off}}
	if !switchedOff(c.Environ) {
		if err := m.build(ctx); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	} else {
		m.held = record.Held{Level: record.HeldOff, Why: Variable + "=off is set", Fix: "unset " + Variable}
	}
	if c.Want.Mode == record.SandboxRequired && m.held.Level != record.HeldEnforced {
		return nil, errors.Join(m.refusal(), m.Close())
	}
	return m, nil
}

func switchedOff(environ []string) bool { return spawn.Getenv(environ, Variable) == "off" }

// refusal returns why a member that requires a sandbox has none.
func (m *Member) refusal() error {
	text := fmt.Sprintf("the sandbox is %q and must be %q", m.held.Level, record.HeldEnforced)
	if m.held.Why != "" {
		text += ": " + m.held.Why
	}
	if m.held.Fix != "" {
		text += "; to permit more: " + m.held.Fix
	} else {
		text += "; sandbox: {mode: auto} starts with what can be had, and says so"
	}
	return errors.New(text)
}

// build makes the kit and the profile, and takes the highest level whose self-test passes.
func (m *Member) build(ctx context.Context) error {
	kit, err := m.parts()
	if err != nil {
		return m.none(err)
	}
	support := kit.Detect(ctx)
	m.box = sandbox.Sandbox{Kit: kit, Level: support.Level, Name: string(m.c.Name)}
	if err := m.shape(); err != nil && m.box.Level != sandbox.Off {
		return m.none(err)
	}
	if m.outside() && m.box.Level != sandbox.Off {
		if err := m.untouched(); err != nil {
			return err
		}
	}
	m.held = record.Held{Why: support.Why, Fix: support.Fix}
	for m.box.Level != sandbox.Off {
		err := m.try(ctx)
		if err == nil && m.outsider(ctx) { // its profile is another now
			err = m.try(ctx)
		}
		if err == nil {
			break
		}
		if membersDoing(err) {
			return err
		}
		m.log.Warn("the sandbox does not hold", "level", string(m.box.Level), "err", err)
		m.held.Why = strings.TrimPrefix(m.held.Why+"; "+err.Error(), "; ")
		if m.box.Level = below(m.box.Level); m.c.Want.Mode == record.SandboxRequired {
			m.box.Level = sandbox.Off
		}
	}
	m.hold()
	return ctx.Err()
}

// shape makes the profile, with its limits.
func (m *Member) shape() error {
	p, err := m.profile()
	if err != nil {
		return err
	}
	m.box.Profile = p
	if p.Limits == (relay.Limits{}) {
		return nil
	}
	m.box.Groups = sandbox.FindGroups("/proc", m.c.Now())
	// The memory limit is that of a control group for all processes together where there is one, else an rlimit of each.
	if l := &m.box.Profile.Limits; m.box.Groups.Memory != "" {
		l.GroupMemory, l.Memory = l.Memory, 0
	}
	return nil
}

// errTree means that the self-test could not write to the member's directory: nothing of the machine's.
var errTree = errors.New("the member's directory takes no file")

// membersDoing reports a sandbox that failed by what the member's commands may have left: files in its
// way, a full disk. A lower level then would let them turn their sandbox off.
func membersDoing(err error) bool {
	return errors.Is(err, sandbox.ErrTree) || errors.Is(err, errTree) || errors.Is(err, errWritable) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// none sets the level Off because the parts of the sandbox could not be made. A member that
// requires a sandbox is refused with that error, and one whose commands may be the reason.
func (m *Member) none(err error) error {
	m.held = record.Held{Level: record.HeldOff, Why: err.Error()}
	if m.c.Want.Mode == record.SandboxRequired || membersDoing(err) {
		return err
	}
	m.log.Warn("no sandbox", "err", err)
	return nil
}

// parts makes the kit in a private directory whose sockets have short enough names.
func (m *Member) parts() (sandbox.Kit, error) {
	m.doors = cmp.Or(m.doors, filepath.Join(m.c.Dir, "doors"))
	for _, left := range []string{m.c.Dir, m.doors} { // by a process that was killed
		if err := worker.RemoveBox(left); err != nil {
			return sandbox.Kit{}, err
		}
	}
	if len(m.doors)+doorRoom > socketPathMax {
		short, err := os.MkdirTemp("/tmp", "waggle-box-")
		if err != nil {
			return sandbox.Kit{}, err
		}
		m.doors = short
	}
	if err := os.MkdirAll(m.doors, 0o700); err != nil {
		return sandbox.Kit{}, err
	}
	k, err := m.kit(m.c.Dir)
	k.Doors = m.doors
	return k, err
}

// below returns the next lower level.
func below(l sandbox.Level) sandbox.Level {
	if l == sandbox.Enforced && relay.LandlockABI() > 0 {
		return sandbox.FilesOnly
	}
	return sandbox.Off
}

// limitPoint is the name of the self-test's point for limits; Gaps lists each missing limit.
const limitPoint = "every limit holds"

// try runs the self-test at the present level.
func (m *Member) try(ctx context.Context) error {
	box := m.box
	if box.Level == sandbox.Enforced {
		box.Network = func(net.Listener, string) error { return nil } // the self-test has its own proxy
	}
	points, err := box.Test(ctx, resolved(m.c.Tree))
	if err != nil {
		return err
	}
	m.points = points
	var failed []string
	for _, p := range points {
		if !p.OK && (p.Name != limitPoint || m.c.Want.Mode == record.SandboxRequired) {
			failed = append(failed, p.Name+" ("+p.Detail+")")
		}
	}
	switch {
	case slices.ContainsFunc(points, func(p relay.Point) bool { return !p.OK && p.Name == relay.WritablePoint }):
		return fmt.Errorf("%w: %s", errTree, strings.Join(failed, "; "))
	case len(points) == 0:
		return errors.New("the self-test tried nothing")
	case len(failed) > 0:
		return errors.New("the self-test failed: " + strings.Join(failed, "; "))
	}
	return nil
}

// hold records the level that passed.
func (m *Member) hold() {
	m.held.Level = record.HeldLevel(m.box.Level)
	if m.box.Level == sandbox.Enforced {
		m.held.Why, m.held.Fix = "", ""
		o := m.proxy
		o.Decider, o.Recorder, o.Now, o.Log, o.Listed = m, m, m.c.Now, m.log, true
		o.Upstream = proxy.EnvironUpstream(m.c.Environ)
		m.way = proxy.New(o)
		m.way.Grant(m.presets())
		m.box.Network = m.way.Serve
	}
	m.held.Gaps = m.box.Level.Gaps()
	if m.box.Level != sandbox.Off {
		m.held.Shell, m.held.Outside = m.outside(), m.c.Outside
		m.held.Gaps = append(m.held.Gaps, m.box.LimitGaps(os.Geteuid())...)
	}
}

// Held implements worker.Confinement.
func (m *Member) Held() record.Held { return m.held }

// Run implements agent.Exec.
func (m *Member) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	if c.Terminal != nil { // what waggle says to it goes through a socket, which would be inside
		return spawn.Exit{Code: -1}, errors.New("a program in a pane is not confined: write backend: process, or sandbox: {mode: off} for the member")
	}
	var end *cut.Tail
	shown := c.Output
	if m.box.Level != sandbox.Off && c.Output != nil && m.Box() == nil {
		end = &cut.Tail{Max: hintTail}
		c.Output = io.MultiWriter(end, shown)
	}
	box, missed, err := m.noting(c)
	if err != nil {
		return spawn.Exit{Code: -1}, err
	}
	exit, err := box.Run(ctx, c)
	if end != nil && err == nil {
		_, err = io.WriteString(shown, missed.note(exit, string(end.Kept)))
	}
	return exit, err
}

// boxOf is the sandbox of one command: with what the team's rules deny now.
func (m *Member) boxOf(c spawn.Command) (box sandbox.Sandbox, err error) {
	box = m.box
	if box.Level != sandbox.Off {
		box.Profile, err = m.masked(box.Profile, c.Dir)
	}
	return box, err
}

// Writable implements worker.Confinement.
func (m *Member) Writable(path string) error {
	p, machine, err := sandbox.Look(m.box.Profile, m.box.Level)
	if err != nil {
		return err
	}
	access, why, err := p.AccessTo(machine, path)
	if err != nil {
		return err
	}
	for _, own := range []string{"/tmp", "/var/tmp"} { // waggle sees the machine's directories of these names, not the sandbox's
		if rest, ok := strings.CutPrefix(path, own); ok && why == "the sandbox's own" && (rest == "" || rest[0] == '/') {
			access = sandbox.Read
		}
	}
	if access != sandbox.Write {
		return fmt.Errorf("the member's sandbox does not let %s be written: %s", path, why)
	}
	return nil
}

// Close implements worker.Confinement.
func (m *Member) Close() error {
	var errs []error
	if m.way != nil {
		errs = append(errs, m.way.Close())
	}
	m.release()
	for _, dir := range []string{m.doors, m.c.Dir} {
		if dir == "" {
			continue
		}
		if err := worker.RemoveBox(dir); err != nil {
			m.log.Warn("runtime files of the sandbox stay", "err", err)
		}
	}
	return errors.Join(errs...)
}

// hintTail is the length of the output's end in which Run looks for network errors.
const hintTail = 4 << 10

// tmpName is the directory of a member's temporary files, which are /tmp for its commands.
const tmpName = "tmp"

// profile makes the profile of the member's commands.
func (m *Member) profile() (sandbox.Profile, error) {
	want, home := m.c.Want, spawn.Getenv(m.c.Environ, "HOME")
	p := sandbox.Profile{Hidden: slices.Clone(m.c.Hidden), ReadOnly: slices.Clone(m.c.Guarded), UnixSockets: want.UnixSockets != "",
		Tmp: filepath.Join(m.c.Dir, tmpName), Readable: slices.Concat(expand(want.Readable, home), []string{m.c.Own}, m.c.Lent), KeepEnv: want.Variables}
	p.Writable = []string{m.c.Tree, filepath.Join(m.c.Own, "artifacts")}
	m.needs(&p)
	if home != "" {
		p.Secrets = sandbox.Secrets(home)
	}
	// Servers of the user begin to listen there also while a command runs.
	if dir := filepath.Clean(spawn.Getenv(m.c.Environ, "XDG_RUNTIME_DIR")); filepath.IsAbs(dir) && !slices.Contains(systemRoots, dir) && !strings.HasPrefix(home+"/", dir+"/") {
		p.Hidden = append(p.Hidden, dir)
	}
	if config := spawn.Getenv(m.c.Environ, "CLAUDE_CONFIG_DIR"); filepath.IsAbs(config) {
		p.Secrets = append(p.Secrets, sandbox.ConfigSecrets(filepath.Clean(config))...)
	}
	p.Secrets = append(p.Secrets, expand(want.Secrets, home)...)
	if l := want.Limits; l != nil {
		p.Limits = relay.Limits{CPU: time.Duration(l.CPU) * time.Millisecond, Memory: l.Memory, Processes: l.Processes}
		if m.c.Needs != nil && !m.outside() {
			p.Limits.CPU = 0 // it would end the program: its calls are held to it
		}
	}
	if err := os.MkdirAll(p.Tmp, 0o700); err != nil {
		return p, err
	}
	// A link there may be of its commands when they were not confined: it would open what it leads to.
	artifacts, err := logfile.MakeDir(m.c.Own, "artifacts", 0o755)
	if err != nil {
		return p, fmt.Errorf("the member's own directory: %w", err)
	}
	artifacts.Close()
	for _, dir := range p.Writable[2:] {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return p, fmt.Errorf("a directory that its commands may change: %w", err)
		}
	}
	if err := m.astray(p.Secrets, home); err != nil {
		return p, err
	}
	if err := errors.Join(m.granted(&p, home), m.cached(&p, home), m.files(&p)); err != nil {
		return p, err
	}
	if p.Writable, err = sandbox.Real(p.Writable); err != nil {
		return p, err
	}
	return p, m.moved(p.Writable[0])
}

// expand writes paths below the home directory as absolute ones. Without a home directory it drops
// them.
func expand(paths []string, home string) (list []string) {
	for _, p := range paths {
		rest, below := strings.CutPrefix(p, "~/")
		switch {
		case !below:
			list = append(list, p)
		case home != "":
			list = append(list, filepath.Join(home, rest))
		}
	}
	return list
}
