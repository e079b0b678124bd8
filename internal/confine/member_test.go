//go:build linux

package confine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/confine"
	"waggle/internal/json/jsonobj"
	"waggle/internal/sandbox"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/worker"
)

var required = record.Sandbox{Mode: record.SandboxRequired}

// A command of a confined member reaches its own tree and the readable directories, and no file of
// waggle.
func TestFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	secret := filepath.Join(r.dir, "key")
	testenv.Must(t, os.WriteFile(secret, []byte("very secret"), 0o600))
	m := r.member("ann", record.Sandbox{Mode: record.SandboxRequired, Secrets: []string{secret, "~/other"}})
	if held := m.fold().Ready.Sandbox; held == nil || held.Level != record.HeldEnforced || len(held.Gaps) > 0 {
		t.Errorf("held %+v", held)
	}
	own := r.Op.Root.MemberDir(r.Name, "ann")
	testenv.Must(t, os.MkdirAll(filepath.Join(m.work, ".git"), 0o700))
	got := m.run(`echo mine > out && cat out; echo art > "$WAGGLE_ARTIFACTS/a"; echo tmp > "$TMPDIR/t"; cat "$TMPDIR/t"; echo id:$(id -u)
cat ` + secret + `; echo x > ` + own + `/output.log; echo x > ` + own + `/task-status.json; ls ` + r.Op.Home.Path + ` ` + r.Op.Root.Path + `/teams; echo x > ` + r.dir + `/outside`)
	for _, want := range []string{"mine\n", "tmp\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in %s", want, got.out)
		}
	}
	for _, not := range []string{"very secret", "box-", "\nbox\n"} {
		if strings.Contains(got.out, not) {
			t.Errorf("%q is in %s", not, got.out)
		}
	}
	if n := strings.Count(got.out, "Read-only file system"); n != 2 {
		t.Errorf("%d refused writes of 2: %s", n, got.out)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "outside")); err == nil { // below /tmp it wrote into a /tmp of its own
		t.Error("it wrote outside of its tree")
	}
	if b, err := os.ReadFile(filepath.Join(own, "artifacts", "a")); string(b) != "art\n" {
		t.Errorf("%q %v", b, err)
	}
	if again := m.run(`cat "$TMPDIR/t"`); again.out != "tmp\n" {
		t.Errorf("$TMPDIR did not stay: %q", again.out)
	}
}

// A link at a directory that is opened for its commands, which the member made while it was not
// confined, is not followed.
func TestLinkedArtifacts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// Not below /tmp, which a sandbox replaces as a whole.
	secret, err := os.MkdirTemp("/var/tmp", "wla")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(secret) })
	r.confining = func(c worker.Confining) {
		path := filepath.Join(c.Own, "artifacts")
		if err := errors.Join(os.RemoveAll(path), os.Symlink(secret, path)); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.begin("ann", required); err == nil || !strings.Contains(err.Error(), "artifacts") {
		t.Errorf("it says %v", err)
	}
}

// The directory of a member became a link to a place that is neither secret nor the home directory while its process was
// away, as another member's command makes it. The next start follows it in no mode.
func TestDirectoryThatMoved(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name protocol.MemberName
		mode record.SandboxMode
	}{{"ann", record.SandboxRequired}, {"bob", record.SandboxAuto}} {
		r := newRig(t)
		m := r.member(tc.name, record.Sandbox{Mode: tc.mode})
		i := m.fold().Instance
		m.stop()
		<-m.done
		elsewhere := t.TempDir()
		testenv.Must(t, errors.Join(os.Rename(m.work, m.work+"-aside"), os.Symlink(elsewhere, m.work)))
		again := process.Of(r.Op).Worker(r.State(), i)
		again.Agent = operatortest.Turn(operatortest.Idle)
		ctx, stop := context.WithCancel(t.Context())
		again.Begun = func(protocol.MemberName) { stop() }
		err := worker.Join(ctx, again)
		stop()
		if !errors.Is(err, worker.ErrUnconfined) || !strings.Contains(err.Error(), elsewhere) || !strings.Contains(err.Error(), "put the directory back") {
			t.Errorf("with mode %s: %v", tc.mode, err)
		}
	}
}

// What builds fill is on disk, in STATE: RUN may be a small file system in memory, from which nothing is
// executed, and has the sockets alone.
func TestTemporaryFilesOnDisk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Op.RunDir = t.TempDir()
	m := r.member("ann", required)
	m.run(`echo big >"$TMPDIR/file"`)
	state, err := filepath.Glob(filepath.Join(r.State().Dir.Path, "box-*", "tmp", "file"))
	if err != nil || len(state) != 1 {
		t.Errorf("in STATE %v %v", state, err)
	}
	testenv.Must(t, filepath.WalkDir(r.Op.RunDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			t.Errorf("in RUN is %s", path)
		}
		return err
	}))
}

// A write that waggle itself makes for a member is held to the member's sandbox, too.
func TestWriteTool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.member("ann", required)
	testenv.Must(t, os.MkdirAll(filepath.Join(m.work, ".git"), 0o700))
	for _, tc := range []struct {
		path string
		asks bool
	}{{filepath.Join(r.dir, "outside"), false}, {filepath.Join(m.work, ".git", "config"), false}, {filepath.Join(m.work, "inside"), true}} {
		in, err := jsonobj.Marshal(map[string]string{"file_path": tc.path, "content": "x"})
		testenv.Must(t, err)
		done := make(chan agent.Outcome, 1)
		m.do <- func(ctx context.Context, h agent.Host) {
			go func() {
				out, err := h.Tool(ctx, agent.Call{Tool: "Write", Input: in, Cwd: m.work, Files: []policy.RealPath{{Spelled: tc.path, Real: tc.path}}},
					func(context.Context, json.RawMessage) agent.Ran { return agent.Ran{} })
				if err != nil {
					out.Reason = err.Error()
				}
				done <- out
			}()
		}
		if tc.asks {
			r.Pending(1)
			continue
		}
		if out := <-done; out.Allowed || !strings.Contains(out.Reason, "the member's sandbox does not let "+tc.path+" be written") {
			t.Errorf("%+v", out)
		}
	}
}

// A member that requires a sandbox does not start without one, and the error names what would permit
// it; with auto it starts, and the level that holds is on record.
func TestRequired(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.kit = func(dir string) (sandbox.Kit, error) {
		k, err := plainKit(dir)
		k.Bwrap = ""
		return k, err
	}
	if _, err := r.begin("ann", required); !errors.Is(err, worker.ErrUnconfined) || !strings.Contains(err.Error(), "bubblewrap is not installed") || !strings.Contains(err.Error(), "install the package bubblewrap") {
		t.Errorf("it says %v", err)
	}
	status, err := os.ReadFile(filepath.Join(r.Op.Root.MemberDir(r.Name, "ann"), "task-status.json"))
	if !strings.Contains(string(status), "bubblewrap") {
		t.Errorf("status %s %v", status, err)
	}
	bob := r.member("bob", record.Sandbox{Mode: record.SandboxAuto})
	held := bob.fold().Ready.Sandbox
	if held == nil || held.Level == record.HeldEnforced || len(held.Gaps) == 0 || !strings.Contains(held.Why, "bubblewrap") || held.Fix == "" {
		t.Errorf("held %+v", held)
	}
	if got := bob.run("echo works"); got.out != "works\n" || got.err != nil {
		t.Errorf("%+v", got)
	}
	if held.Level == record.HeldLevel(sandbox.FilesOnly) {
		if got := bob.run("touch /usr/x"); !strings.Contains(got.out, "`writable: [PATH]`") {
			t.Errorf("no way out: %+v", got)
		}
	}
}

// What a member's commands may have left keeps it from starting, also with auto: a lower level would let
// them turn their sandbox off.
func TestOwnDoing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	auto := record.Sandbox{Mode: record.SandboxAuto}
	refused := func(name protocol.MemberName, words string) {
		t.Helper()
		if _, err := r.begin(name, auto); !errors.Is(err, worker.ErrUnconfined) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: it says %v", name, err)
		}
	}
	r.before = func(work string) { testenv.Must(t, os.Symlink("/", filepath.Join(work, ".codex"))) }
	refused("ann", ".codex is a link")
	r.before = nil
	kit := r.kit
	r.kit = func(dir string) (sandbox.Kit, error) {
		return sandbox.Kit{}, &os.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC}
	}
	refused("bob", "no space left")
	r.kit = kit
	if os.Geteuid() != 0 {
		return // a full disk needs root
	}
	r.before = func(work string) {
		testenv.Must(t, unix.Mount("none", work, "tmpfs", 0, "size=4k,nr_inodes=1"))
		t.Cleanup(func() { testenv.Must(t, unix.Unmount(work, unix.MNT_DETACH)) })
	}
	refused("eve", "takes no file")
}

// A kit whose self-test fails is not relied upon.
func TestSelfTestFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.kit = func(dir string) (sandbox.Kit, error) {
		k, err := plainKit(dir)
		k.Relay = "/bin/true" // it starts, and tries nothing
		return k, err
	}
	if _, err := r.begin("ann", required); !errors.Is(err, worker.ErrUnconfined) || !strings.Contains(err.Error(), "self-test") {
		t.Errorf("it says %v", err)
	}
	bob := r.member("bob", record.Sandbox{Mode: record.SandboxAuto})
	if held := bob.fold().Ready.Sandbox; held == nil || held.Level != record.HeldOff {
		t.Errorf("held %+v", held)
	}
}

// Ten connections to a host that no grant covers are one question. Allowed, the same connections
// proceed, and are on record with the grant and their bytes.
func TestHeldUntilAllowed(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	done := m.start(`for i in 0 1 2 3 4 5 6 7 8 9; do curl -sS http://api.example.com/ & done; wait`)
	asked := r.Pending(1)[0]
	r.served(0)
	r.net(decide.NetAnswer{ID: string(asked.ID), Allow: true})
	got := m.wait(done)
	if n := strings.Count(got.out, "served\n"); n != 10 {
		t.Errorf("%d of 10 were served: %s", n, got.out)
	}
	if n := len(r.State().Lead.Requests); n != 1 {
		t.Errorf("%d questions for one host", n)
	}
	r.Until("they are on record", func(*control.Leader) bool { return total(m.connections()) == 10 })
	for _, c := range m.connections() {
		if c.Host != "api.example.com" || c.Port != "80" || c.Grant != string(asked.ID) || c.Event != "closed" || c.Sent == 0 || c.Received == 0 {
			t.Errorf("on record %+v", c)
		}
	}
	if got := m.run(`curl -sS http://api.example.com/`); got.out != "served\n" {
		t.Errorf("once is for the turn: %q", got.out)
	}
}

// TestReserved: entries that decide what other programs run, and were not there, are nobody's while the member is there. Afterwards
// they are gone, but for what somebody else has put there.
func TestReserved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.member("ann", required)
	got := m.run(`for d in .claude .codex .gemini; do echo x >$d/settings.json; rmdir $d; done; rm -rf .mcp.json; echo x >.mcp.json; git init -q . && git status --short`)
	if strings.Count(got.out, "Read-only file system") != 3 || !strings.Contains(got.out, "cannot create .mcp.json: Is a directory") || strings.Contains(got.out, "??") {
		t.Errorf("%s", got.out)
	}
	testenv.Must(t, os.WriteFile(filepath.Join(m.work, ".codex", "own"), nil, 0o600))
	box, _ := r.boxes.Load(m.name)
	testenv.Must(t, box.(*confine.Member).Close())
	var left []string
	entries, err := os.ReadDir(m.work)
	testenv.Must(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".codex", ".git"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

// TestVariables: of what looks like a secret a command has what the team file names, and what it lacks is said.
func TestVariables(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Op.Environ = append(r.Op.Environ, "NPM_TOKEN=npm geheim", "GH_TOKEN=gh geheim")
	want := required
	want.Variables = []string{"NPM_TOKEN"}
	m := r.member("ann", want)
	if got := m.run(`env`); !strings.Contains(got.out, "NPM_TOKEN=npm geheim\n") || strings.Contains(got.out, "gh geheim") {
		t.Errorf("%s", got.out)
	}
	box, _ := r.boxes.Load(m.name)
	lines, err := box.(*confine.Member).Explain([]string{"true"}, m.work, nil, false)
	testenv.Must(t, err)
	said := map[string]string{}
	for _, l := range lines {
		said[l.Subject] = l.Why
	}
	if !strings.Contains(said["$GH_TOKEN"], "variables: [GH_TOKEN]") || said["$NPM_TOKEN"] != "" {
		t.Errorf("%q", said)
	}
}

// TestMachineProxy: what the operator's environment names as the way to the network is that of a granted connection.
func TestMachineProxy(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "curl")
	r := newRig(t)
	r.Op.Environ = append(r.Op.Environ, "HTTP_PROXY=http://ann:geheim@10.1.1.1:3128")
	m := r.member("ann", required)
	done := m.start(`curl -sS http://api.example.com/; env`)
	asked := r.Pending(1)[0]
	r.net(decide.NetAnswer{ID: string(asked.ID), Allow: true})
	if got := m.wait(done); !strings.HasPrefix(got.out, "served\n") || strings.Contains(got.out, "geheim") {
		t.Errorf("%s", got.out)
	}
	r.Until("it is on record", func(*control.Leader) bool { return total(m.connections()) == 1 })
	if c := m.connections()[0]; c.Host != "api.example.com" || c.Address != "10.1.1.1:3128" {
		t.Errorf("on record %+v", c)
	}
}

func total(cs []record.Connection) (n int) {
	for _, c := range cs {
		n += c.Count
	}
	return n
}

// cutWithin is how soon a denial or a revocation must end a connection.
const cutWithin = 100 * time.Millisecond

// A denied connection is cut at once, with a message to the tool.
func TestHeldUntilDenied(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	done := m.start(`curl -sS http://api.example.com/`)
	asked := r.Pending(1)[0]
	r.net(decide.NetAnswer{ID: string(asked.ID), Reason: "not today"})
	got := m.wait(done)
	if !strings.Contains(got.out, "waggle: the sandbox does not let this through to api.example.com:80: not today") {
		t.Errorf("the tool was told %q", got.out)
	}
	r.Until("it is on record", func(*control.Leader) bool { return total(m.connections()) == 1 })
	cut := m.connections()[0]
	at := r.answeredAt(m, asked.ID)
	if cut.Event != "refused" || cut.Ended.Sub(at) > cutWithin {
		t.Errorf("%+v, %s after the answer", cut, cut.Ended.Sub(at))
	}
	if r.hits.count() != 0 {
		t.Error("it reached the host")
	}
}

// A program that shows the status of a proxy's answer alone, or nothing, does not keep the reason from the
// agent: the end of the call's output has what that call did not get, once each, also when it did not fail.
func TestReasonAtTheEnd(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	r.net(decide.NetAnswer{Target: decide.NetTarget{Host: "inside.example.com", Port: "443"}, Member: "ann", Allow: true, Session: true})
	r.net(decide.NetAnswer{Target: decide.NetTarget{Host: "bad.example.com", Port: "443"}, Member: "ann", Session: true})
	if got := m.run(`curl -s https://bad.example.com/ || curl -s https://bad.example.com/ || curl -s http://bad.example.com:443/x || true`); got.out !=
		"waggle: the sandbox does not let this through to bad.example.com:443: the host is denied\n" {
		t.Errorf("shown by the program, it is told %q", got.out)
	}
	const told = "\n[waggle: the sandbox does not let this through to bad.example.com:443: the host is denied]\n"
	if got := m.run(`curl -s https://bad.example.com/; curl -s https://bad.example.com/; true`); got.exit.Code != 0 || got.out != told {
		t.Errorf("%d: it is told %q", got.exit.Code, got.out)
	}
	if got := m.run(`true`); got.out != "" {
		t.Errorf("the next one is told %q", got.out)
	}
	if got := m.run(`for i in 0 1 2 3 4 5 6 7 8 9; do curl -s https://h$i.bad.example.com/; done`); strings.Count(got.out, "[waggle: the sandbox") != 8 || !strings.Contains(got.out, "[waggle: 2 more connections") {
		t.Errorf("of many it is told %q", got.out)
	}
}

// A program that tries a denied host again, as pip and apt do, asks once.
func TestDeniedForTheCommand(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	done := m.start(`for i in 0 1 2 3; do curl -s https://api.example.com/; done; curl -s http://api.example.com/; echo over`)
	for _, port := range []string{"443", "80"} {
		asked := r.Pending(1)[0]
		if asked.Ask.Port != port {
			t.Fatalf("asks for %s:%s", asked.Ask.Host, asked.Ask.Port)
		}
		r.net(decide.NetAnswer{ID: string(asked.ID), Reason: "not today"})
	}
	if got := m.wait(done); !strings.Contains(got.out, "over") {
		t.Errorf("%+v", got)
	}
	if n := len(r.State().Lead.Requests); n != 2 {
		t.Errorf("%d questions", n)
	}
}

// answeredAt is when the worker had the answer to a request.
func (r *rig) answeredAt(m *member, id protocol.RequestID) (at time.Time) {
	r.T.Helper()
	for _, line := range m.journal() {
		if strings.Contains(line, `"kind":"answered"`) && strings.Contains(line, string(id)) {
			var rec struct {
				Time time.Time `json:"time"`
			}
			testenv.Must(r.T, json.Unmarshal([]byte(line), &rec))
			at = rec.Time
		}
	}
	if at.IsZero() {
		r.T.Fatalf("no answer to %s is on record", id)
	}
	return at
}

// A grant that is revoked cuts the connections that it opened.
func TestRevoked(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	r.net(decide.NetAnswer{Target: target, Member: "ann", Allow: true, Session: true})
	done := m.start(`curl -sS http://api.example.com/slow; echo over`)
	<-r.hits.began
	began := time.Now()
	r.net(decide.NetAnswer{Target: target, Member: "ann"})
	<-r.hits.ended
	took := time.Since(began)
	got := m.wait(done)
	if !strings.Contains(got.out, "over") {
		t.Errorf("not cut: %q", got.out)
	}
	testenv.Within(t, "the cut", took, patience/10)
	r.Until("it is on record", func(*control.Leader) bool { return total(m.connections()) == 1 })
	if c := m.connections()[0]; c.Event != "cut" || !strings.Contains(c.Grant, "api.example.com:80") {
		t.Errorf("on record %+v", c)
	}
	if n := len(r.State().Lead.Requests); n != 0 {
		t.Errorf("%d questions about a host that is granted", n)
	}
	t.Logf("the connection was cut %s after the revocation", took)
}

// A host that was allowed when it was asked for, once, for the session or for a time, is cut in the
// same turn by a revocation, a denial and the end of its time, too, and the next connection asks
// again.
func TestRevokedInTheTurn(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	r, m := withCurl(t)
	for i, tc := range []struct {
		name        string
		allow, take decide.NetAnswer
		ends        time.Duration // by itself
	}{
		{"once, revoked", decide.NetAnswer{}, decide.NetAnswer{Target: target, Revoke: true}, 0},
		{"once, denied", decide.NetAnswer{}, decide.NetAnswer{Target: target, Member: "ann"}, 0},
		{"the session, revoked", decide.NetAnswer{Session: true}, decide.NetAnswer{Target: target, Revoke: true}, 0},
		{"the session, denied", decide.NetAnswer{Session: true}, decide.NetAnswer{Target: target}, 0},
		{"the session by host, revoked", decide.NetAnswer{Session: true, Target: target}, decide.NetAnswer{Target: decide.NetTarget{Host: target.Host}, Revoke: true}, 0},
		{"a time", decide.NetAnswer{}, decide.NetAnswer{}, 1500 * time.Millisecond},
	} {
		done := m.start(`curl -sS http://api.example.com/slow`)
		asked := r.Pending(1)[0]
		a := tc.allow
		if a.Allow = true; a.Target.Host == "" {
			a.ID = string(asked.ID)
		}
		if tc.ends > 0 {
			end := time.Now().Add(tc.ends).UTC()
			a.Until = &end
		}
		r.net(a)
		<-r.hits.began
		if tc.ends == 0 {
			r.net(tc.take)
		}
		select {
		case <-r.hits.ended:
		case <-time.After(patience / 4):
			t.Fatalf("%s: it stays open", tc.name)
		}
		m.wait(done)
		r.Until("it is on record", func(*control.Leader) bool { return total(m.connections()) == i+1 })
		cs := m.connections()
		if c := cs[len(cs)-1]; c.Event != "cut" || c.Grant == "" || c.Received == 0 {
			t.Errorf("%s: on record %+v", tc.name, c)
		}
	}
	done := m.start(`curl -sS http://api.example.com/`)
	asked := r.Pending(1)[0]
	r.net(decide.NetAnswer{ID: string(asked.ID)})
	if got := m.wait(done); strings.Contains(got.out, "served") {
		t.Errorf("%+v", got)
	}
}

// Members that ask for the same host at once are one question each, answered by its own id.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	testenv.Require(t, "curl")
	r := newRig(t)
	n := 10
	var ms []*member
	for i := range n {
		ms = append(ms, r.member(protocol.MemberName("m"+string(rune('a'+i))), required))
	}
	var dones []<-chan ran
	for _, m := range ms {
		dones = append(dones, m.start(`curl -sS http://api.example.com/ & curl -sS http://api.example.com/; wait`))
	}
	open := r.Pending(n)
	for i, q := range open {
		r.net(decide.NetAnswer{ID: string(q.ID), Allow: i%2 == 0})
	}
	for i, m := range ms {
		got := m.wait(dones[i])
		if served := strings.Count(got.out, "served\n"); served != 2*((i+1)%2) {
			t.Errorf("%s: %d served: %s", m.name, served, got.out)
		}
	}
	if have := len(r.State().Lead.Requests); have != n {
		t.Errorf("%d questions of %d members", have, n)
	}
}

// When the worker ends, its connections end; while no process leads, no connection is open.
func TestWorkerEnds(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	r.net(decide.NetAnswer{Target: target, Member: "ann", Allow: true, Session: true})
	done := m.start(`curl -sS http://api.example.com/slow & curl -sS http://other.example.com/; sleep 60`)
	<-r.hits.began
	r.served(1)
	m.stop()
	select {
	case <-r.hits.ended:
	case <-time.After(patience):
		t.Fatal("the connection outlives its worker")
	}
	<-done
	<-m.done
	r.served(1)
	for _, dir := range []string{r.State().Dir.Sockets(r.Op.RunPath()).Dir, r.State().Dir.Path} {
		if left, err := filepath.Glob(filepath.Join(dir, "box-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind %v %v", left, err)
		}
	}
}

// The proxy dies in the middle of a connection: open connections are cut, held ones are refused, no
// new one is opened, and the call has that error.
func TestProxyDies(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	r.net(decide.NetAnswer{Target: target, Member: "ann", Allow: true, Session: true})
	done := m.start(`curl -sSN http://api.example.com/slow | tee first & curl -sS http://other.example.com/ & wait; curl -sS http://api.example.com/; echo over`)
	<-r.hits.began
	r.Until("the first has its answer, and the other one is asked about", func(l *control.Leader) bool {
		return holds(filepath.Join(m.work, "first"), "served") && len(l.Pending()) == 1
	})
	box, _ := r.boxes.Load(m.name)
	testenv.Must(t, box.(*confine.Member).EndProxy())
	<-r.hits.ended
	got := m.wait(done)
	if !strings.Contains(got.out, "over") || strings.Count(got.out, "served") != 1 || !errors.Is(got.err, sandbox.ErrProxy) {
		t.Errorf("%+v", got)
	}
	r.served(1)
	// Every later call has the same error, and no network.
	if got := m.run(`curl -sS http://api.example.com/`); !errors.Is(got.err, sandbox.ErrProxy) || got.exit.Code == 0 {
		t.Errorf("%+v", got)
	}
	r.served(1)
}

// The call whose proxy fails is on record as failed, with that reason: the task and why of the member
// have it. Its sandbox holds, and has no way out.
func TestProxyDiesIsSaid(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "curl")
	r := newRigOf(t, record.PolicySet{Policy: policy.Policy{Allow: policy.MustRules("Bash")}})
	r.itself = true
	m := r.member("ann", required)
	box, _ := r.boxes.Load(m.name)
	testenv.Must(t, box.(*confine.Member).EndProxy())
	_, err := board.Of(r.Op).AddTask(t.Context(), r.Name, board.NewTask{Subject: "fetch", Owner: "ann", Description: "curl -sS http://api.example.com/"})
	testenv.Must(t, err)
	r.Until("the task is over", func(*control.Leader) bool {
		for _, k := range m.fold().Tasks {
			if k.Ended {
				return true
			}
		}
		return false
	})
	w := m.fold()
	if c := w.Calls[len(w.Calls)-1]; c.Finished == nil || !c.Finished.Failed || !strings.Contains(c.Finished.Error, sandbox.ErrProxy.Error()) {
		t.Errorf("on record %+v", c.Finished)
	}
	if note := w.Tasks[0].Note; !strings.Contains(note, sandbox.ErrProxy.Error()) {
		t.Errorf("the task says %q", note)
	}
	why, err := inspect.Of(r.Op).Why(t.Context(), string(r.Name), "ann")
	testenv.Must(t, err)
	if !slices.ContainsFunc(why.Evidence, func(f inspect.Fact) bool { return strings.Contains(f.Detail, sandbox.ErrProxy.Error()) }) {
		t.Errorf("why says nothing of it: %+v", why.Evidence)
	}
	if r.hits.count() != 0 {
		t.Error("it reached the host")
	}
}

// A command that kills the processes around it inside its sandbox opens nothing: it cannot reach the
// relay, and the person is asked as before.
func TestRelayStays(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	done := m.start(`for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = $$ ] || kill -9 $p; done; curl -sS http://api.example.com/; echo over`)
	asked := r.Pending(1)[0]
	r.net(decide.NetAnswer{ID: string(asked.ID)})
	got := m.wait(done)
	if !strings.HasSuffix(got.out, "over\n") || strings.Contains(got.out, "served") || r.hits.count() != 0 {
		t.Errorf("%+v", got)
	}
	if got := m.run("echo works"); got.out != "works\n" || got.err != nil {
		t.Errorf("the next call: %+v", got)
	}
}

// How soon a denial and a revocation end a connection. A busy machine is late now and then: the
// fastest of some shows what they take.
func TestCutInTime(t *testing.T) {
	t.Parallel()
	r, m := withCurl(t)
	const tries = 3
	var denied, revoked []time.Duration
	for i := range tries {
		done := m.start(`curl -sS http://api.example.com/`)
		asked := r.Pending(1)[0]
		r.net(decide.NetAnswer{ID: string(asked.ID)})
		m.wait(done)
		r.Until("it is on record", func(*control.Leader) bool { return total(m.connections()) == i+1 })
		cs := m.connections()
		denied = append(denied, max(0, cs[len(cs)-1].Ended.Sub(r.answeredAt(m, asked.ID))))
	}
	for range tries {
		r.net(decide.NetAnswer{Target: target, Member: "ann", Allow: true, Session: true})
		done := m.start(`curl -sS http://api.example.com/slow`)
		<-r.hits.began
		r.net(decide.NetAnswer{Target: target, Revoke: true})
		recorded := time.Now() // the command has ended: how long it waits for the disk is not meant
		<-r.hits.ended
		revoked = append(revoked, time.Since(recorded))
		m.wait(done)
	}
	testenv.Measured(t, "sandbox: a denial cuts within %s of the worker's record, a revocation within %s of the end of the operator's command", denied, revoked)
	testenv.Within(t, "the cut of a denied connection, at best", slices.Min(denied), cutWithin)
	testenv.Within(t, "the cut of a revoked one, at best", slices.Min(revoked), cutWithin)
}

// A program that finds no network gets a hint with the way.
func TestHint(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "bash")
	r := newRig(t)
	m := r.member("ann", required)
	got := m.run(`bash -c 'exec 3<>/dev/tcp/93.184.215.14/80'`)
	if got.exit.Code == 0 || !strings.Contains(got.out, "[waggle: ") || !strings.Contains(got.out, "HTTPS_PROXY") {
		t.Errorf("%+v", got)
	}
}

// What the sandbox has refused of files and sockets says the way once, and only when the command failed.
func TestHintsOfFiles(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "git")
	testenv.Require(t, "python3")
	r := newRig(t)
	r.before = func(work string) {
		if out, err := exec.Command("git", "init", "-q", work).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	m := r.member("ann", required)
	for script, want := range map[string]string{
		`touch /usr/x /usr/y`:                                       "$TMPDIR",
		`git commit --allow-empty -m x`:                             "worktree: true",
		`git config user.name x`:                                    "git -c NAME=VALUE",
		`python3 -c 'import socket; socket.socket(socket.AF_UNIX)'`: "unix_sockets: own-tree",
	} {
		if got := m.run(script); got.exit.Code == 0 || !strings.Contains(got.out, want) || strings.Count(got.out, "[waggle: ") != 1 {
			t.Errorf("%s: want one hint with %q: %+v", script, want, got)
		}
	}
	if got := m.run(`touch /usr/x; true`); strings.Contains(got.out, "[waggle: ") {
		t.Errorf("it succeeded: %+v", got)
	}
}
