package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// world is a session with hooks in it: processes are numbers, and those in dead have ended.
type world struct {
	t     *testing.T
	store session.Store
	id    session.ID

	mu     sync.Mutex
	dead   map[int]bool
	above  map[int][]int
	nextID int
	rules  *policy.Policy
	nobody bool // attends
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	return &world{t: t, store: session.Store{Dir: filepath.Join(dir, "state", "sessions"), Now: time.Now}, id: "0c0ffee0-1111",
		dead: map[int]bool{}, above: map[int][]int{}, nextID: 1000}
}

func process(pid int) spawn.Identity { return spawn.Identity{PID: pid, Start: fmt.Sprint("s", pid)} }

func (w *world) live() session.Liveness {
	return session.Liveness{
		Check: func(id spawn.Identity) (bool, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.dead[id.PID], nil
		},
		Ancestors: func(pid int) ([]spawn.Identity, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			var ids []spawn.Identity
			for _, p := range w.above[pid] {
				ids = append(ids, process(p))
			}
			return ids, nil
		},
	}
}

func (w *world) kill(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead[pid] = true
}

const sessionPID = 500

// hook is a hook process below the session.
func (w *world) hook(parents ...int) session.Hook {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nextID++
	pid := w.nextID
	if parents == nil {
		parents = []int{499, sessionPID, 1}
	}
	w.above[pid] = parents
	return session.Hook{Store: w.store, Client: session.Claude, Self: process(pid), Live: w.live(), Tick: 5 * time.Millisecond,
		Sessions: func() []session.Registered {
			return []session.Registered{{Session: w.id, Process: process(sessionPID)}}
		},
		Nonce:    func() (string, error) { return fmt.Sprint("n", pid), nil },
		Rules:    func() *policy.Policy { return w.rules },
		Attended: func() bool { return !w.nobody },
	}
}

// codex is a hook of a client that shows its own dialog only after the hook.
func (w *world) codex() session.Hook {
	h := w.hook()
	h.Client = session.Codex
	return h
}

func event(name string, id session.ID, extra string) string {
	return `{"session_id":"` + string(id) + `","cwd":"/w","permission_mode":"default","hook_event_name":"` + name + `"` + extra + `}`
}

func bash(command string) string {
	in, _ := json.Marshal(map[string]string{"command": command})
	return `,"tool_name":"Bash","tool_input":` + string(in)
}

// run runs a hook to its end.
func (w *world) run(h session.Hook, name, extra string) string {
	w.t.Helper()
	w.makeState()
	var out bytes.Buffer
	if err := h.Run(context.Background(), name, strings.NewReader(event(name, w.id, extra)), &out); err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return out.String()
}

func (w *world) makeState() {
	if _, err := w.store.Make("0"); err != nil { // STATE is there, as after an install
		w.t.Fatal(err)
	}
}

// asking is a hook that waits.
type asking struct {
	done chan struct{}
	out  bytes.Buffer
	err  error
	stop context.CancelFunc
}

func (w *world) ask(h session.Hook, extra string) *asking {
	w.t.Helper()
	w.makeState()
	before := len(w.requests())
	ctx, cancel := context.WithCancel(context.Background())
	a := &asking{done: make(chan struct{}), stop: cancel}
	w.t.Cleanup(func() { cancel(); <-a.done })
	go func() {
		defer close(a.done)
		a.err = h.Run(ctx, "PermissionRequest", strings.NewReader(event("PermissionRequest", w.id, extra)), &a.out)
	}()
	for len(w.requests()) == before {
		select {
		case <-a.done:
			w.t.Fatalf("the hook ended: %v, %q", a.err, a.out.String())
		case <-time.After(time.Millisecond):
		}
	}
	return a
}

func (a *asking) end(t *testing.T) string {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the hook goes on waiting")
	}
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.out.String()
}

func (w *world) open() *session.Session {
	w.t.Helper()
	s, err := w.store.Open(w.id)
	testenv.Must(w.t, err)
	return s
}

func (w *world) requests() []session.Request { return w.open().Requests() }

func (w *world) last() session.Request {
	rs := w.requests()
	return rs[len(rs)-1]
}

var operator = journal.Writer{Operator: true, PID: 1}

func (w *world) decide(v control.Answer) (session.Outcome, error) {
	w.t.Helper()
	if v.By == "" {
		v.By = policy.RoleOperator
	}
	return w.open().Decide(context.Background(), operator, v, w.live())
}

// decided answers a request, which must take it.
func (w *world) decided(v control.Answer) {
	w.t.Helper()
	_, err := w.decide(v)
	testenv.Must(w.t, err)
}

func verdict(r session.Request, allow bool) control.Answer {
	return control.Answer{Key: r.Key, Digest: r.Digest, Allow: allow, Via: "approve"}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	plan := `,"tool_name":"ExitPlanMode","tool_input":{"plan":"# do it","planFilePath":"/p"}`
	ask := `,"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","options":[{"label":"Left"},{"label":"Right & <up>"}]},{"question":"More?","options":[{"label":"a"},{"label":"b"}],"multiSelect":true}]}`
	for _, c := range []struct {
		name, extra string
		with        func(session.Request, *control.Answer)
		want        string
	}{
		{"allow", bash("ls && x"), func(_ session.Request, v *control.Answer) { v.Allow = true },
			`{"behavior":"allow"}`},
		{"deny with a reason", bash("ls"), func(_ session.Request, v *control.Answer) { v.Reason = `no "really"` },
			`{"behavior":"deny","message":"no \"really\""}`},
		{"deny without a reason", bash("ls"), func(session.Request, *control.Answer) {},
			`{"behavior":"deny","message":"denied by your user, who gave no reason"}`},
		{"changed input", bash("rm -rf x"), func(_ session.Request, v *control.Answer) { v.Allow, v.UpdatedInput = true, `{"command":"ls && y"}` },
			`{"behavior":"allow","updatedInput":{"command":"ls && y"}}`},
		{"plan", plan, func(_ session.Request, v *control.Answer) { v.Allow = true },
			`{"behavior":"allow","updatedInput":{"plan":"# do it","planFilePath":"/p"}}`},
		{"questions", ask, func(r session.Request, v *control.Answer) {
			answers, err := record.Replies(r.Ask.Input, []string{"2", "1,2"})
			testenv.Must(t, err)
			v.Allow, v.Answers = true, answers
		}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"Which?","options":[{"label":"Left"},{"label":"Right & <up>"}]},{"question":"More?","options":[{"label":"a"},{"label":"b"}],"multiSelect":true}],"answers":{"Which?":"Right & <up>","More?":"a, b"}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			a := w.ask(w.hook(), c.extra)
			r := w.last()
			v := verdict(r, false)
			c.with(r, &v)
			if out, err := w.decide(v); err != nil || !out.Changed {
				t.Fatalf("%+v, %v", out, err)
			}
			want := `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":` + c.want + "}}\n"
			if got := a.end(t); got != want {
				t.Errorf("printed %s\nwant    %s", got, want)
			}
			if r := w.last(); r.State != session.StateAnswered {
				t.Errorf("state %s", r.State)
			}
		})
	}
}

// TestWaiting: a hook says what of its session waits, with the requests of other hooks, and at its end what is left.
func TestWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.ask(w.hook(), bash("one"))
	first := w.last()
	told := make(chan []record.Key, 100)
	h := w.hook()
	h.Waiting = func(s *session.Session, open []session.Request) {
		var keys []record.Key
		for _, r := range open {
			keys = append(keys, r.Key)
		}
		told <- keys
	}
	a := w.ask(h, bash("two"))
	second := w.last()
	if got := <-told; !slices.Equal(got, []record.Key{first.Key, second.Key}) {
		t.Errorf("%v waits", got)
	}
	w.decided(verdict(second, true))
	a.end(t)
	var last []record.Key
	for len(told) > 0 {
		last = <-told
	}
	if !slices.Equal(last, []record.Key{first.Key}) {
		t.Errorf("at the end %v waits", last)
	}
	w.decided(verdict(first, true))
	other.end(t)
}

// TestNeverEmptyAnswer: every attempt to answer a question without a text fails.
func TestNeverEmptyAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.ask(w.hook(), `,"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","options":[{"label":"L"}]}]}`)
	r := w.last()
	if _, err := w.decide(verdict(r, true)); err == nil {
		t.Error("an allow without words was taken")
	}
	for _, typed := range [][]string{{""}, {" "}, {"1,1"}, {}, {"1", "1"}} {
		if got, err := record.Replies(r.Ask.Input, typed); err == nil {
			t.Errorf("%q was taken as %+v", typed, got)
		}
	}
	select {
	case <-a.done:
		t.Fatalf("the hook answered %q", a.out.String())
	default:
	}
}

// TestNeverEmptyPlan: a plan request whose file was not written yet takes a denial and no approval.
func TestNeverEmptyPlan(t *testing.T) {
	t.Parallel()
	for _, input := range []string{`{}`, `{"plan":" \n"}`, `{"planFilePath":"/p"}`, `{"plan":7}`} {
		w := newWorld(t)
		a := w.ask(w.hook(), `,"tool_name":"ExitPlanMode","tool_input":`+input)
		var no *session.RefusedError
		if _, err := w.decide(verdict(w.last(), true)); !errors.As(err, &no) {
			t.Errorf("%s: an approval: %v", input, err)
		}
		if _, err := w.decide(verdict(w.last(), false)); err != nil {
			t.Errorf("%s: a denial: %v", input, err)
		}
		if out := a.end(t); !strings.Contains(out, `"deny"`) {
			t.Errorf("%s: printed %q", input, out)
		}
	}
}

// TestOnce: the first decision counts; another is refused, and the same again changes nothing.
func TestOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(w.hook(), bash("ls"))
	r := w.last()
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = w.decide(verdict(r, i%2 == 0)) })
	}
	wg.Wait()
	r = w.last()
	refused := 0
	for i, err := range errs {
		same := (r.Decided.Decision == record.DecisionAllow) == (i%2 == 0)
		var no *session.RefusedError
		if same != (err == nil) || err != nil && !errors.As(err, &no) {
			t.Errorf("decision %d: %v (decided: %s)", i, err, r.Decided.Decision)
		}
		if err != nil {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("%d refused", refused)
	}
}

// TestUnverified: the request of a hook that the session did not start is shown and takes no
// answer.
func TestUnverified(t *testing.T) {
	t.Parallel()
	for name, parents := range map[string][]int{"another process": {700, 1}, "none": {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.ask(w.hook(parents...), bash("rm -rf /"))
			r := w.last()
			if r.Why == "" {
				t.Fatal("it counts as the session's")
			}
			if _, err := w.decide(verdict(r, true)); err == nil {
				t.Error("it was decided")
			}
			a.stop()
			<-a.done
			if a.out.Len() > 0 {
				t.Errorf("it printed %q", a.out.String())
			}
		})
	}
}

// TestUnverifiedClosesNothing: an event of another process under a session's id closes no request
// of the session.
func TestUnverifiedClosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(w.hook(), bash("ls"))
	w.ask(w.hook(700, 1), bash("ls"))
	if rs := w.requests(); rs[0].State != session.StateOpen {
		t.Errorf("the session's request is %s", rs[0].State)
	}
}

// TestHome: an answer in the session's own dialog closes the request, the hook ends without output,
// and a late answer is refused.
func TestHome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, event, extra string }{
		{"it ran", "PostToolUse", bash("ls") + `,"tool_use_id":"toolu_1"`},
		{"the turn ended", "Stop", ""},
		{"the session ended", "SessionEnd", `,"reason":"exit"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.run(w.hook(), "PreToolUse", bash("ls")+`,"tool_use_id":"toolu_1"`)
			a := w.ask(w.hook(), bash("ls"))
			if got := w.last().Ask.ToolUseID; got != "toolu_1" {
				t.Errorf("tool_use_id %q", got)
			}
			w.run(w.hook(), c.event, c.extra)
			if out := a.end(t); out != "" {
				t.Errorf("the hook printed %q", out)
			}
			r := w.last()
			if r.State != session.StateClosed || !r.Closed.InDialog {
				t.Errorf("%s, %+v", r.State, r.Closed)
			}
			var no *session.RefusedError
			if _, err := w.decide(verdict(r, true)); !errors.As(err, &no) {
				t.Errorf("a late answer: %v", err)
			}
		})
	}
}

// TestOtherCallsCloseNothing: an event closes the request of its own call and agent, and no other.
func TestOtherCallsCloseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.hook(), "PreToolUse", bash("ls")+`,"tool_use_id":"toolu_1"`)
	w.ask(w.hook(), bash("ls"))
	w.run(w.hook(), "PostToolUse", bash("ls")+`,"tool_use_id":"toolu_2"`)
	w.run(w.hook(), "PostToolUse", bash("pwd")+`,"tool_use_id":"toolu_3"`)
	w.run(w.hook(), "PostToolUse", bash("ls")+`,"tool_use_id":"toolu_1","agent_id":"bob@1"`)
	w.run(w.hook(), "Stop", `,"agent_id":"bob@1"`)
	w.run(w.hook(), "Notification", `,"message":"x"`)
	w.ask(w.hook(), bash("ls")+`,"agent_id":"bob@1","agent_type":"bob"`)
	if rs := w.requests(); rs[0].State != session.StateOpen || rs[1].State != session.StateOpen {
		t.Errorf("%s, %s", rs[0].State, rs[1].State)
	}
}

// TestAsksSideBySide: what an agent asks closes nothing that it asked before and whose hook waits, with
// the agent's id, with an empty one and without; what a hook asked that has ended is closed.
func TestAsksSideBySide(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]string{"no id": "", "empty id": `,"agent_id":""`, "one id": `,"agent_id":"bob@1","agent_type":"bob"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var asked []*asking
			var hooks []session.Hook
			for i := range 3 {
				hooks = append(hooks, w.hook())
				asked = append(asked, w.ask(hooks[i], bash(fmt.Sprint("make ", i))+agent))
			}
			if open := w.open().Live(w.live()); len(open) != 3 {
				t.Fatalf("%d of 3 are open", len(open))
			}
			w.decided(verdict(w.requests()[1], true))
			if out := asked[1].end(t); !strings.Contains(out, `"allow"`) {
				t.Errorf("printed %q", out)
			}
			w.kill(hooks[0].Self.PID) // as a client kills it
			w.ask(w.hook(), bash("make 3")+agent)
			var states []session.State
			for _, r := range w.requests() {
				states = append(states, r.State)
			}
			want := []session.State{session.StateClosed, session.StateClosed, session.StateOpen, session.StateOpen}
			if !slices.Equal(states, want) {
				t.Errorf("%v, want %v", states, want)
			}
		})
	}
}

// TestHookKilled: only the hook that asked can answer, so a decision behind its death
// is refused and says where to answer.
func TestHookKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook()
	w.ask(h, bash("ls"))
	w.kill(h.Self.PID)
	r := w.last()
	if _, err := w.decide(verdict(r, true)); err == nil || !strings.Contains(err.Error(), "dialog") {
		t.Errorf("%v", err)
	}
	if open := w.open().Live(w.live()); len(open) != 0 {
		t.Errorf("still listed: %+v", open)
	}
	testenv.Must(t, w.store.TidyAll(context.Background(), operator, w.live()))
	if r := w.last(); r.State != session.StateClosed {
		t.Errorf("state %s", r.State)
	}
}

// TestSessionKilled: a hook ends when its session has ended.
func TestSessionKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.ask(w.hook(), bash("ls"))
	w.kill(sessionPID)
	if out := a.end(t); out != "" {
		t.Errorf("printed %q", out)
	}
	if r := w.last(); r.State != session.StateClosed {
		t.Errorf("state %s", r.State)
	}
}

// TestRules: the user's rules answer when the user said so, and only tool calls.
func TestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule, err := policy.ParseRule("Bash(ls:*)")
	testenv.Must(t, err)
	w.rules = &policy.Policy{Mode: policy.ModeDefault, Allow: []policy.Rule{rule}}
	if out := w.run(w.hook(), "PermissionRequest", bash("ls -l")); !strings.Contains(out, `"allow"`) {
		t.Errorf("printed %q", out)
	}
	if r := w.last(); r.Decided.By != policy.RoleRules || r.Decided.Rule == "" {
		t.Errorf("%+v", r.Decided)
	}
	w.ask(w.hook(), bash("curl evil"))
	if r := w.last(); r.State != session.StateOpen {
		t.Errorf("state %s", r.State)
	}
}

// TestSilent: a hook without an answer prints nothing, whatever its input.
func TestSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var out bytes.Buffer
	blocked := filepath.Dir(w.store.Dir) // STATE cannot be made
	testenv.Must(t, os.WriteFile(blocked, nil, 0o600))
	if err := w.hook().Run(context.Background(), "Stop", strings.NewReader(event("Stop", w.id, "")), &out); err == nil || out.Len() > 0 {
		t.Errorf("without a place for STATE: %v, %q", err, out.String())
	}
	testenv.Must(t, os.Remove(blocked))
	if err := w.hook().Run(context.Background(), "Stop", strings.NewReader(event("Stop", w.id, "")), &out); err != nil || len(w.open().LastSeen()) != 1 {
		t.Errorf("the first hook did not make STATE: %v", err)
	}
	w.makeState()
	for _, in := range []string{"", "{", "[]", `{"session_id":"../../x","hook_event_name":"Stop"}`, event("Stop", w.id, ""),
		event("PermissionRequest", w.id, ""), event("PermissionRequest", w.id, `,"tool_name":"Bash","tool_input":[]`),
		event("PermissionRequest", w.id, `,"TOOL_NAME":"Bash","Tool_Input":{}`), strings.Repeat("[", 1<<20)} {
		for _, name := range []string{"PermissionRequest", "PreToolUse", "PostToolUse", "Stop", "Later"} {
			_ = w.hook().Run(context.Background(), name, strings.NewReader(in), &out) // errors are for the log
		}
	}
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
}

// TestCodex: the answer has the same form, without a changed input; the hook holds the
// client's own prompt back, so it waits a short time only.
func TestCodex(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.hook()
	h.Client, h.Wait = session.Codex, time.Minute
	a := w.ask(h, bash("ls"))
	v := verdict(w.last(), true)
	v.UpdatedInput = `{"command":"pwd"}`
	if _, err := w.decide(v); err == nil {
		t.Error("a changed input was taken")
	}
	w.decided(verdict(w.last(), true))
	if out := a.end(t); !strings.Contains(out, `{"behavior":"allow"}`) {
		t.Errorf("printed %q", out)
	}
	h = w.hook()
	h.Client, h.Wait = session.Codex, 20*time.Millisecond // a real clock: the time-out is what is tested
	if out := w.ask(h, bash("pwd")).end(t); out != "" {
		t.Errorf("printed %q", out)
	}
	if r := w.last(); r.State != session.StateClosed || !r.Left() || !strings.Contains(r.Closed.Evidence, "own dialog") {
		t.Errorf("%s %+v", r.State, r.Closed)
	}
}

// TestGemini: the hooks of Gemini report and never answer.
func TestGemini(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := func(name, extra string) {
		h := w.hook()
		h.Client = session.Gemini
		if out := w.run(h, name, extra); out != "" {
			t.Errorf("%s printed %q", name, out)
		}
	}
	state := func() session.Row {
		t.Helper()
		rows := w.store.List("", w.live()).Rows
		if len(rows) != 1 {
			t.Fatalf("%d rows", len(rows))
		}
		return rows[0]
	}
	run("SessionStart", `,"source":"startup"`)
	run("BeforeAgent", `,"prompt":"x"`)
	if r := state(); r.State != session.RowBusy || r.Client != session.Gemini {
		t.Errorf("%+v", r)
	}
	run("Notification", `,"notification_type":"ToolPermission","message":"run ls?"`)
	if r := state(); r.State != session.RowWaitingHuman || !r.AtDialog || r.Why != "run ls?; answer in its own terminal" {
		t.Errorf("%+v", r)
	}
	run("PermissionRequest", bash("ls"))
	run("AfterAgent", "")
	if r := state(); r.State != session.RowIdle {
		t.Errorf("%+v", r)
	}
	w.kill(sessionPID)
	if rows := w.store.List("", w.live()).Rows; len(rows) != 0 {
		t.Errorf("a session that ended is listed: %+v", rows)
	}
}
