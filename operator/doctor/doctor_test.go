package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/claude/claudesettings"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/doctor"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
	"waggle/worker"
)

// bench is a machine with a config directory of Claude Code.
type bench struct {
	t   *testing.T
	op  operator.Operator
	o   doctor.Options
	env map[string]string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, op: operatortest.New(t), env: map[string]string{}}
	dir := t.TempDir()
	testenv.Must(t, os.MkdirAll(filepath.Join(dir, "claude", "sessions"), 0o700))
	b.o = doctor.Options{ClaudeDir: filepath.Join(dir, "claude"), Cwd: dir, Env: func(key string) string { return b.env[key] }}
	return b
}

// of are the findings about one thing.
func (b *bench) of(what string) (out []doctor.Finding) {
	b.t.Helper()
	fs := testenv.Value(doctor.Of(b.op).Examine(b.t.Context(), b.o))(b.t)
	for _, f := range fs {
		if f.What == what {
			out = append(out, f)
		}
	}
	return out
}

// has wants a finding whose detail contains a text, and returns it.
func (b *bench) has(what string, s doctor.Status, text string) doctor.Finding {
	b.t.Helper()
	fs := b.of(what)
	for _, f := range fs {
		if f.Status == s && strings.Contains(f.Detail, text) {
			return f
		}
	}
	b.t.Errorf("%s: no %s with %q in %+v", what, s, text, fs)
	return doctor.Finding{}
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	testenv.Must(b.t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.Must(b.t, os.WriteFile(path, []byte(text), 0o600))
}

// TestPlaces: a missing state directory is no problem; one that others can read is a Problem with the
// command that repairs it. Without a team the next step is a demo.
func TestPlaces(t *testing.T) {
	b := newBench(t)
	b.has("waggle", doctor.OK, "test, go")
	b.has("root", doctor.OK, b.op.Root.Path)
	b.has("state", doctor.OK, "made when it is needed")
	if f := b.has("teams", doctor.Note, "there is none"); f.Next.Do.Step != operator.NextDemo {
		t.Errorf("%+v", f)
	}
	testenv.Must(t, os.MkdirAll(b.op.Home.Path, 0o700))
	b.has("state", doctor.OK, b.op.Home.Path)
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(b.op.Home.Path, 0o755); err != nil { //nolint:gosec // what is to be found
		t.Fatal(err)
	}
	if f := b.has("state", doctor.Problem, "is open to others"); f.Next.Text != "chmod 700 "+b.op.Home.Path {
		t.Errorf("%+v", f)
	}
}

// TestTelemetry: Examine notes an exporter that the environment asks for, unless the SDK is switched
// off.
func TestTelemetry(t *testing.T) {
	b := newBench(t)
	if got := b.of("opentelemetry"); got != nil {
		t.Errorf("nobody asks: %+v", got)
	}
	b.env["OTEL_TRACES_EXPORTER"] = "none"
	if got := b.of("opentelemetry"); got != nil {
		t.Errorf("none is asked for: %+v", got)
	}
	b.env["OTEL_METRICS_EXPORTER"] = "otlp"
	if f := b.has("opentelemetry", doctor.Note, "OTEL_METRICS_EXPORTER is set"); f.Next.Do.Step != operator.NextTransitions {
		t.Errorf("%+v", f)
	}
	b.env["OTEL_SDK_DISABLED"] = "TRUE"
	if got := b.of("opentelemetry"); got != nil {
		t.Errorf("it is off: %+v", got)
	}
}

// TestTeam: a new team of waggle is OK. Examine finds a mailbox of no member, an entry that cannot be
// read, and a registry that cannot be read, each with the place to look at.
func TestTeam(t *testing.T) {
	b := newBench(t)
	operatortest.Team(t, b.op, "api", record.PolicySet{})
	b.has("team api", doctor.OK, "led by waggle, 1 members")
	if got := b.of("team api"); len(got) != 1 {
		t.Errorf("a new team: %+v", got)
	}
	if got := b.of("teams"); got != nil {
		t.Errorf("there is a team: %+v", got)
	}
	inboxes := filepath.Join(b.op.Root.TeamDir("api"), "inboxes")
	b.write(filepath.Join(inboxes, "ghost.json"), `[{"from":7}]`)
	if f := b.has("team api", doctor.Note, "mailbox ghost belongs to no member"); f.Next.Do != (operator.Next{Step: operator.NextInboxOf, Team: "api", Member: "ghost"}) {
		t.Errorf("%+v", f)
	}
	b.has("team api", doctor.Problem, "mailbox ghost, entry 0")
	b.write(b.op.Root.ConfigPath("api"), "{")
	if f := b.has("team api", doctor.Problem, ""); f.Next.Text != "look at "+b.op.Root.ConfigPath("api") {
		t.Errorf("%+v", f)
	}
}

// TestForeignTeam: the finding of another program's team names it as another program's.
func TestForeignTeam(t *testing.T) {
	b := newBench(t)
	testenv.Value(team.Create(t.Context(), b.op.Root, team.Config{Name: "other", CreatedAt: time.Now(), LeadAgentID: "team-lead@other"}, team.Options{}))(t)
	b.has("team other", doctor.OK, "another program's")
}

// TestHooks: without the hooks the next step is their install; a setting that keeps hooks
// from running is named with its file.
func TestHooks(t *testing.T) {
	b := newBench(t)
	if f := b.has("Claude hooks", doctor.Note, "sessions that you start yourself do not report"); f.Next.Do.Step != operator.NextInstallHooks {
		t.Errorf("%+v", f)
	}
	settings := filepath.Join(b.o.ClaudeDir, "settings.json")
	b.write(settings, `{"disableAllHooks": true}`)
	if f := b.has("Claude hooks", doctor.Note, "disableAllHooks in "+settings); f.Next.Text != "take disableAllHooks out of "+settings {
		t.Errorf("%+v", f)
	}
	b.write(settings, `{"hooks`)
	b.has("Claude hooks", doctor.Problem, settings)

	// A program that was removed: hooks of the user, and those of the repository.
	here, gone := filepath.Join(b.o.Cwd, "waggle"), filepath.Join(b.o.Cwd, "1.0", "waggle")
	b.write(here, "")
	hooks := func(program string) string {
		return `{"hooks":{"PermissionRequest":[{"matcher":"*","hooks":[{"type":"command","command":"` + claudesettings.Claude.Command(program, "PermissionRequest") + `"}]}]}}`
	}
	b.write(settings, hooks(here))
	b.has("Claude hooks", doctor.Note, "no hook for")
	if f := b.of("Claude hooks"); len(f) != 1 {
		t.Errorf("%+v", f)
	}
	b.write(settings, hooks(gone))
	if f := b.has("Claude hooks", doctor.Problem, gone+" is not there any more"); f.Next.Do.Step != operator.NextInstallHooks {
		t.Errorf("%+v", f)
	}
	b.write(settings, hooks(here))
	for _, dir := range []string{".git", ".claude"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(b.o.Cwd, dir), 0o700))
	}
	b.write(filepath.Join(b.o.Cwd, ".git", "HEAD"), "ref: refs/heads/main\n")
	local, _ := claudesettings.LocalFiles(b.o.Cwd)
	b.write(local, hooks(gone))
	if f := b.has("Claude hooks", doctor.Problem, "the hooks in "+local+" do nothing"); f.Next.Do.Step != operator.NextInstallHere {
		t.Errorf("%+v", f)
	}
}

// TestLock: a lock that is held is measured by the operator's clock.
func TestLock(t *testing.T) {
	b := newBench(t)
	operatortest.Team(t, b.op, "api", record.PolicySet{})
	box := filepath.Join(b.op.Root.TeamDir("api"), "inboxes", "team-lead.json")
	b.write(box, "[]")
	testenv.Must(t, os.Mkdir(box+".lock", 0o700))
	st := testenv.Value(os.Stat(box + ".lock"))(t)
	b.op.Minter.Now = func() time.Time { return st.ModTime().Add(90 * time.Second) }
	b.has("team api", doctor.Note, fmt.Sprintf("%s is locked since 1m30s", box))
	b.op.Minter.Now = func() time.Time { return st.ModTime().Add(-24 * time.Hour) }
	b.has("team api", doctor.Note, fmt.Sprintf("%s is locked since a time in the future", box))

	// What is no lock is named, and so is what was set aside.
	queue, list := b.op.Root.ConfigPath("api")+".lock", filepath.Join(b.op.Root.TasksDir("api"), ".lock")
	b.write(queue, "no lock")
	b.write(list+"-20261120T192635.537Z", "")
	b.has("team api", doctor.Problem, queue+" is a regular file where a lock belongs")
	b.has("team api", doctor.Note, list+"-20261120T192635.537Z is a regular file that was where a lock belongs")
	testenv.Must(t, errors.Join(os.Remove(queue), os.Mkdir(queue, 0o700)))
	b.op.Minter.Now = func() time.Time { return time.Now().Add(time.Hour) }
	b.has("team api", doctor.Note, queue+" is a lock that its holder has had for")
}

// TestReach: Examine lists what the commands of members without an enforced sandbox reach: waggle's
// own state and operator socket, servers of the user, git's hooks. A confined member is not on the
// list.
func TestReach(t *testing.T) {
	b := newBench(t)
	r := operatortest.Team(t, b.op, "api", record.PolicySet{})
	if got := b.of("team api"); len(got) != 1 {
		t.Errorf("without members: %+v", got)
	}
	dir := shortDir(t)
	agent, docker, bus := filepath.Join(dir, "agent"), filepath.Join(dir, "docker.sock"), filepath.Join(dir, "bus")
	for _, path := range []string{agent, docker, bus} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	b.env["SSH_AUTH_SOCK"], b.env["XDG_RUNTIME_DIR"] = agent, dir
	r.Member("ann", operatortest.Idle)
	r.Until("ann is ready", func(l *control.Leader) bool { return len(l.Live()) == 1 })
	f := b.has("team api", doctor.Note, "not confined: ann; in reach of its commands: waggle's state and operator socket")
	for _, want := range []string{agent, docker, bus} {
		if !strings.Contains(f.Detail, want) {
			t.Errorf("no %s in %s", want, f.Detail)
		}
	}
	if f.Next.Do.Step != operator.NextSandboxTest {
		t.Errorf("%+v", f)
	}
	// A path that is not a socket is not listed as a server.
	b.env["SSH_AUTH_SOCK"], b.env["XDG_RUNTIME_DIR"] = filepath.Join(dir, "none"), ""
	if f := b.has("team api", doctor.Note, "not confined: ann"); strings.Contains(f.Detail, dir) {
		t.Errorf("%s", f.Detail)
	}
	// The finding names both members.
	r.Join("bob")
	b.has("team api", doctor.Note, "not confined: ann, bob; in reach of their commands")
}

// TestReachConfined: a member whose sandbox was found to hold is not on the list; one of which only
// the files are confined is.
func TestReachConfined(t *testing.T) {
	for level, listed := range map[record.HeldLevel]bool{record.HeldEnforced: false, record.HeldFilesOnly: true, record.HeldOff: true} {
		b := newBench(t)
		b.op.Confine = func(context.Context, worker.Confining) (worker.Confinement, error) { return held(level), nil }
		r := operatortest.Team(t, b.op, "api", record.PolicySet{})
		r.Member("ann", operatortest.Idle, func(m *teamfile.FileMember) { m.Sandbox = &record.Sandbox{Mode: record.SandboxAuto} })
		r.Until("ann is ready", func(l *control.Leader) bool { return len(l.Live()) == 1 })
		var detail string
		for _, f := range b.of("team api") {
			detail += f.Detail
		}
		if strings.Contains(detail, "not confined: ann") != listed {
			t.Errorf("%s: %q", level, detail)
		}
	}
}

// held is a sandbox of a level, in which nothing runs.
type held record.HeldLevel

func (h held) Held() record.Held { return record.Held{Level: record.HeldLevel(h)} }
func (held) Run(context.Context, spawn.Command) (spawn.Exit, error) {
	return spawn.Exit{}, errors.New("nothing runs")
}
func (held) Enforce(context.Context, []control.Grant) error { return nil }
func (held) Writable(string) error                          { return nil }
func (held) Box() *agent.Box                                { return nil }
func (held) Shell() *agent.Shell                            { return nil }
func (held) Close() error                                   { return nil }

// TestSandbox: Examine distinguishes a bubblewrap that works from one that is installed and cannot
// make namespaces.
func TestSandbox(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is about bubblewrap")
	}
	b := newBench(t)
	if got := b.of("sandbox"); len(got) > 0 {
		t.Errorf("without a relay: %+v", got)
	}
	bin := t.TempDir()
	put := func(name, script string) string {
		path := filepath.Join(bin, name)
		testenv.Must(t, testenv.Executable(path, []byte("#!/bin/sh\n"+script)))
		return path
	}
	b.o.Relay = put("relay", "exit 0\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	put("bwrap", "exit 0\n")
	b.has("sandbox", doctor.OK, "enforced")
	put("bwrap", "echo 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
	if f := b.has("sandbox", doctor.Note, "setting up uid map: Permission denied"); f.Next.Text == "" || strings.HasPrefix(f.Detail, "enforced") {
		t.Errorf("%+v", f)
	}
}

// shortDir is a directory whose sockets have short enough names.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "wd")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
