package teams_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	hooks "waggle/internal/claude/session"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// session is a process of the user's that waggle did not start.
func session(t *testing.T) (spawn.Identity, *exec.Cmd) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("this system does not say whose a process is")
	}
	cmd := exec.Command(testenv.Require(t, "sleep"), "300")
	testenv.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	id, err := spawn.Identify(cmd.Process.Pid)
	testenv.Must(t, err)
	return id, cmd
}

// The socket of a session is found below the directory that either variable names.
func TestAdoptSocket(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"TMPDIR", "XDG_RUNTIME_DIR"} {
		dir, err := os.MkdirTemp("", "wad") // a short name, because the path of a socket is limited
		testenv.Must(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		op := operatortest.New(t)
		op.Environ = append(op.Environ, name+"="+dir)
		operatortest.Team(t, op, "api", record.PolicySet{})
		id, _ := session(t)
		path := filepath.Join(dir, "cc-socks", fmt.Sprintf("%d.sock", id.PID))
		testenv.Must(t, os.Mkdir(filepath.Dir(path), 0o700))
		l, err := net.Listen("unix", path)
		testenv.Must(t, err)
		t.Cleanup(func() { l.Close() })
		a, err := teams.Of(op).Adopt(t.Context(), "api", teams.AdoptOptions{PID: id.PID, As: "reviewer"})
		if err != nil || !slices.ContainsFunc(a.Controls, func(c teams.Control) bool { return c.What == "socket" && c.Can && strings.Contains(c.How.Text, path) }) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// A running process becomes a member as it is: watched, reached by its mailbox, never ended.
func TestAdopt(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	o, ctx := teams.Of(op), t.Context()
	id, _ := session(t)
	a, err := o.Adopt(ctx, "api", teams.AdoptOptions{PID: id.PID, As: "reviewer"})
	if err != nil || a.Name != "reviewer" || a.PID != id.PID || a.Start != id.Start || a.Trust != record.FileTrust || a.Above || a.Session != "" {
		t.Fatalf("%+v, %v", a, err)
	}
	m, ok := tm.State().Lead.ByInstance(record.Instance(a.Instance))
	if !ok || m.Backend != mail.BackendAdopted || m.Process == nil || m.Process.ID.PID != id.PID || !m.Process.ID.Theirs {
		t.Errorf("on record: %+v", m)
	}
	can := map[string]bool{}
	for _, c := range a.Controls {
		if can[c.What] = c.Can; c.How.Text == "" && c.How.Do.Step == "" {
			t.Errorf("%+v", c)
		}
	}
	if !can["liveness"] || !can["messages"] || can["tool calls"] || can["stop"] || can["restart"] || can["socket"] {
		t.Errorf("%+v", can)
	}
	send(t, tm, "reviewer", "look")
	_, err = o.Adopt(ctx, "api", teams.AdoptOptions{PID: id.PID, As: "other"})
	operatortest.Fails(t, err, operator.Refused, "is member reviewer of team api already")
	operatortest.Team(t, op, "web", record.PolicySet{})
	_, err = o.Adopt(ctx, "web", teams.AdoptOptions{PID: id.PID, As: "other"})
	operatortest.Fails(t, err, operator.Refused, "is member reviewer of team api already")
	second, _ := session(t)
	_, err = o.Adopt(ctx, "api", teams.AdoptOptions{PID: second.PID, As: "Reviewer"})
	if operator.KindOf(err) != operator.Refused {
		t.Errorf("a name that is taken: %v", err)
	}
	up := op
	up.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{second}, nil }
	if a, err := teams.Of(up).Adopt(ctx, "web", teams.AdoptOptions{PID: second.PID, As: "shell"}); err != nil || !a.Above {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = o.Delete(ctx, "api", teams.DeleteOptions{})
	operatortest.Fails(t, err, operator.Refused, "team api has running members: reviewer")
	if err := o.Remove(ctx, "web", "shell"); operator.KindOf(err) != operator.Refused {
		t.Errorf("%v", err)
	}
	if !id.Alive() || !second.Alive() {
		t.Error("what is not ours was ended")
	}
}

func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	id, cmd := session(t)
	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, c := range []struct {
		team protocol.TeamName
		ao   teams.AdoptOptions
		code operator.Kind
		says string
	}{
		{"api", teams.AdoptOptions{}, operator.Usage, "--pid or by --session"},
		{"api", teams.AdoptOptions{PID: 5, Session: "x"}, operator.Usage, "not by both"},
		{"gone", teams.AdoptOptions{PID: 5}, operator.NotFound, "gone"},
		{"api", teams.AdoptOptions{PID: -5}, operator.Usage, "-5 is no process id"},
		{"api", teams.AdoptOptions{PID: 1}, operator.Refused, "process 1 runs the machine"},
		{"api", teams.AdoptOptions{PID: op.PID}, operator.Refused, "is this command"},
		{"api", teams.AdoptOptions{PID: id.PID}, operator.NotFound, "is gone"},
		{"api", teams.AdoptOptions{Session: "nonsense"}, operator.Usage, "is not a session id"},
	} {
		c.ao.As = "ghost"
		_, err := teams.Of(op).Adopt(t.Context(), c.team, c.ao)
		operatortest.Fails(t, err, c.code, c.says)
	}
	if got := present(t, tm); !slices.Equal(got, []protocol.MemberName{protocol.Lead}) || exists(tm.Mailbox("ghost")) {
		t.Errorf("%v", got)
	}
	tm.Member("ann", operatortest.Idle)
	_, err := teams.Of(tm.FromInside()).Adopt(t.Context(), "api", teams.AdoptOptions{PID: 5, As: "ghost"})
	operatortest.Fails(t, err, operator.Refused, "adopt was called from inside member ann")
}

// Adopt finds a session by the files of the session's team, and by nothing else.
func TestAdoptASession(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	const uid = "1a2b3c4d-0000-4000-8000-000000000000"
	adopt := func(as protocol.MemberName) (*teams.Adopted, error) {
		return teams.Of(op).Adopt(t.Context(), "api", teams.AdoptOptions{Session: strings.ToUpper(uid), As: as})
	}
	_, err := adopt("claude")
	operatortest.Fails(t, err, operator.NotFound, "session-1a2b3c4d: there is none")
	operatortest.ForeignTeam(t, op, foreign)
	_, err = adopt("claude")
	operatortest.Fails(t, err, operator.NotFound, "names no process")
	id, _ := session(t)
	config := func(start string) {
		write(t, op.Root.ConfigPath(foreign), fmt.Sprintf(`{"name":%q,"createdAt":1795193125905,"leadAgentId":"team-lead@%s","leadSessionId":%q,"leadProcess":{"pid":%d,"pidSpace":"x","claimedAt":1795193125902,"procStart":%q},"members":[]}`,
			foreign, foreign, uid, id.PID, start))
	}
	config("1")
	_, err = adopt("claude")
	operatortest.Fails(t, err, operator.NotFound, "is gone")
	config(id.Start)
	a, err := adopt("claude")
	if err != nil || a.PID != id.PID || a.Session == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	_, err = adopt("again")
	if operatortest.Fails(t, err, operator.Refused, "is member claude of team api already"); exists(tm.Mailbox("again")) {
		t.Error("who was refused has a mailbox")
	}
}

// TestAdoptRegistered: what the client's own registry says of a process counts where the entry is a file of that
// directory and of exactly this process.
func TestAdoptRegistered(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.ClaudeDir = t.TempDir()
	operatortest.Team(t, op, "api", record.PolicySet{})
	const uid = "1a2b3c4d-0000-4000-8000-000000000000"
	o, ctx := teams.Of(op), t.Context()
	id, _ := session(t)
	dir := filepath.Join(op.ClaudeDir, "sessions")
	testenv.Must(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, fmt.Sprintf("%d.json", id.PID))
	entry := func(path, start string) {
		write(t, path, fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":"/","startedAt":1795193125905,"procStart":%q}`, id.PID, uid, start))
	}
	if runtime.GOOS == "linux" { // elsewhere the client writes another spelling of the start
		entry(path, "1")
		_, err := o.Adopt(ctx, "api", teams.AdoptOptions{PID: id.PID, As: "claude"})
		operatortest.Fails(t, err, operator.Refused, "is of an earlier process")
		_, err = o.Adopt(ctx, "api", teams.AdoptOptions{Session: uid, As: "claude"})
		operatortest.Fails(t, err, operator.NotFound, "no process of session")
	}
	elsewhere := filepath.Join(t.TempDir(), "entry.json")
	entry(elsewhere, id.Start)
	testenv.Must(t, errors.Join(os.RemoveAll(path), os.Symlink(elsewhere, path)))
	_, err := o.Adopt(ctx, "api", teams.AdoptOptions{PID: id.PID, As: "claude"})
	operatortest.Fails(t, err, operator.Refused, "is no file")
	testenv.Must(t, os.Remove(path))
	write(t, path, "{}")
	_, err = o.Adopt(ctx, "api", teams.AdoptOptions{PID: id.PID, As: "claude"})
	operatortest.Fails(t, err, operator.Refused, "cannot be read")
	entry(path, id.Start)
	a, err := o.Adopt(ctx, "api", teams.AdoptOptions{Session: uid, As: "claude"})
	if err != nil || a.PID != id.PID || a.Session != uid {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestAdoptHooked: a session of a client without a registry is found by what its hooks recorded, and what is printed of its
// calls is what the hooks can do.
func TestAdoptHooked(t *testing.T) {
	t.Parallel()
	for client, calls := range map[hooks.Client]bool{hooks.Codex: true, hooks.Gemini: false} {
		op := operatortest.New(t)
		tm := operatortest.Team(t, op, "api", record.PolicySet{})
		id, _ := session(t)
		h := hooks.Hook{Store: hooks.At(op.Home.Path, time.Now), Client: client, Self: id, Sessions: func() []hooks.Registered { return []hooks.Registered{{Session: "s-1", Process: id}} },
			Live: hooks.Liveness{Check: spawn.Identity.Check, Ancestors: func(int) ([]spawn.Identity, error) { return []spawn.Identity{id}, nil }}}
		testenv.Must(t, h.Run(t.Context(), "SessionStart", strings.NewReader(`{"session_id":"s-1","cwd":"/w","hook_event_name":"SessionStart"}`), io.Discard))
		_, err := teams.Of(op).Adopt(t.Context(), "api", teams.AdoptOptions{Session: "s-2", As: "codex"})
		operatortest.Fails(t, err, operator.Usage, "is not a session id")
		a, err := teams.Of(op).Adopt(t.Context(), "api", teams.AdoptOptions{Session: "s-1", As: "codex"})
		if err != nil || a.PID != id.PID || a.Session != "s-1" {
			t.Fatalf("%s: %+v, %v", client, a, err)
		}
		i := slices.IndexFunc(a.Controls, func(c teams.Control) bool { return c.What == "tool calls" })
		if a.Controls[i].Can != calls {
			t.Errorf("%s: %+v", client, a.Controls[i])
		}
		if got := present(t, tm); !slices.Contains(got, "codex") {
			t.Errorf("%v", got)
		}
		other, _ := session(t)
		_, err = teams.Of(op).Adopt(t.Context(), "api", teams.AdoptOptions{PID: other.PID, As: "again"})
		if err != nil {
			t.Errorf("%v", err)
		}
	}
}

func TestGuestIsRegisteredAndBounded(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	operatortest.Team(t, op, "ours", record.PolicySet{})
	o, ctx := teams.Of(op), t.Context()
	cat := []string{"cat"}
	for _, c := range []struct {
		team protocol.TeamName
		n    teams.NewGuest
		code operator.Kind
		says string
	}{
		{"ours", teams.NewGuest{Name: "gopher", Command: cat}, operator.Usage, "waggle leads team ours itself"},
		{foreign, teams.NewGuest{Name: "gopher"}, operator.Usage, "needs a command"},
		{foreign, teams.NewGuest{Name: "theirs", Command: cat}, operator.Refused, "theirs in team session-1a2b3c4d was not registered here"},
		{"gone", teams.NewGuest{Name: "gopher", Command: cat}, operator.NotFound, "gone"},
	} {
		_, err := o.Guest(ctx, c.team, c.n)
		operatortest.Fails(t, err, c.code, c.says)
	}
	if got := present(t, tm); !slices.Equal(got, []protocol.MemberName{protocol.Lead, "theirs"}) {
		t.Fatalf("%v", got)
	}
	g, err := o.Guest(ctx, foreign, teams.NewGuest{Name: "gopher", Command: cat, Cwd: t.TempDir(), Mode: "plan"})
	if err != nil || !g.Registered || g.Name != "gopher" || g.Instance == "" || g.State.Lead.Policy.Policy.Mode != "plan" || g.State.Lead.Policy.Policy.Version != 1 {
		t.Fatalf("%+v, %v", g, err)
	}
	again, err := o.Guest(ctx, foreign, teams.NewGuest{Name: "gopher", Command: cat, Cwd: t.TempDir()})
	if err != nil || again.Registered || again.Instance != g.Instance || again.State.Lead.Policy.Policy.Mode != "default" || again.State.Lead.Policy.Policy.Version != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	if got := present(t, tm); !slices.Contains(got, "gopher") {
		t.Errorf("%v", got)
	}
}

// A guest that its lead asks to end agrees, says so, and takes its own entry away.
func TestGuestRunsUntilItIsAskedToEnd(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign)
	g, err := teams.Of(op).Guest(t.Context(), foreign, teams.NewGuest{Name: "gopher", Command: []string{"cat"}, Cwd: t.TempDir()})
	testenv.Must(t, err)
	write(t, tm.Mailbox("gopher"), `[{"from":"team-lead","text":"{\"type\":\"shutdown_request\",\"requestId\":\"shutdown-1@gopher\",\"from\":\"team-lead\",\"timestamp\":\"2026-11-22T16:00:00.000Z\"}","timestamp":"2026-11-22T16:00:00.000Z","read":false}]`)
	testenv.Must(t, g.Run(t.Context(), worker.Options{Environ: op.Environ, Log: op.Log}))
	if got := present(t, tm); slices.Contains(got, "gopher") {
		t.Errorf("%v", got)
	}
	in, err := mail.Of(op).Inbox(t.Context(), foreign, protocol.Lead, false)
	if err != nil || len(in.Entries) == 0 || in.Entries[len(in.Entries)-1].Kind != string(protocol.KindShutdownApproved) {
		t.Errorf("%+v, %v", in, err)
	}
	s := g.State
	testenv.Must(t, s.Journal.Refresh(t.Context()))
	if m, ok := s.Lead.ByInstance(g.Instance); !ok || m.Left == nil {
		t.Errorf("on record: %+v", m)
	}
}
