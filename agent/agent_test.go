package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/protocol"
	"waggle/spawn"
)

// fakeHost answers every question by a function and records what was asked, run
// and said. Commands really run.
type fakeHost struct {
	t      *testing.T
	answer func(agent.Call) agent.Decision
	// input, when set, replaces what was asked for.
	input   string
	plans   []string
	verdict func(string) agent.Decision
	hosts   []string
	asked   []agent.Question
	answers agent.Answers
	calls   []string
	argv    [][]string
	said    []string
	out     bytes.Buffer
	dry     bool // record commands, run none
	exit    spawn.Exit
}

func (h *fakeHost) Tool(ctx context.Context, c agent.Call, run func(context.Context, json.RawMessage) agent.Ran) (agent.Outcome, error) {
	h.calls = append(h.calls, c.Tool+" "+string(c.Input)+" in "+c.Cwd)
	ans := agent.Decision{Allowed: true, By: "rules"}
	if h.answer != nil {
		ans = h.answer(c)
	}
	if !ans.Allowed {
		return agent.Outcome{Decision: ans}, nil
	}
	in := c.Input
	if h.input != "" {
		in = json.RawMessage(h.input)
	}
	ran := run(ctx, in)
	return agent.Outcome{Decision: ans, Ran: &ran}, nil
}

func (h *fakeHost) Caller() []string                                       { return nil }
func (h *fakeHost) Conversation(context.Context, agent.Conversation) error { return nil }
func (h *fakeHost) Used(context.Context, agent.Usage) error                { return nil }
func (h *fakeHost) Steps(context.Context, []agent.DeclaredStep) error      { return nil }

func (h *fakeHost) Ask(_ context.Context, c agent.Call) (agent.Claim, error) {
	h.calls = append(h.calls, c.Tool+" "+string(c.Input)+" in "+c.Cwd)
	return agent.Claim{}, nil
}

func (h *fakeHost) Question(_ context.Context, q agent.Question) (agent.Answers, error) {
	h.asked = append(h.asked, q)
	return h.answers, nil
}

func (h *fakeHost) Plan(_ context.Context, plan string) (agent.Decision, error) {
	h.plans = append(h.plans, plan)
	return h.verdict(plan), nil
}

func (h *fakeHost) Network(_ context.Context, host, _ string) (agent.Decision, error) {
	h.hosts = append(h.hosts, host)
	return agent.Decision{Allowed: h.answer == nil, Reason: "no"}, nil
}

func (h *fakeHost) Say(_ context.Context, to, text, _ string) error {
	h.said = append(h.said, to+": "+text)
	return nil
}

func (h *fakeHost) Progress(_ context.Context, phase, message string) error {
	h.said = append(h.said, phase+": "+message)
	return nil
}

func (h *fakeHost) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) {
	h.argv = append(h.argv, c.Argv)
	if h.dry {
		return h.exit, nil
	}
	return c.Run(ctx)
}

func (h *fakeHost) Output() io.Writer { return &h.out }
func (h *fakeHost) Environ() []string { return os.Environ() }

func newAgent(t *testing.T, kind, spec string) agent.Agent {
	t.Helper()
	a, err := agent.New(kind, json.RawMessage(spec))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func turn(t *testing.T, a agent.Agent, h *fakeHost, task agent.Task) agent.Result {
	t.Helper()
	res, err := a.Turn(t.Context(), h, agent.Work{Task: &task})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestExecJudgedIsRun: the command that starts is, byte for byte, the one that the gate was asked
// about (commands §7).
func TestExecJudgedIsRun(t *testing.T) {
	for _, c := range []struct {
		name, spec, instructions string
		judged                   string
		argv                     []string
	}{
		{"instructions", `{}`, "go vet ./...", `{"command":"go vet ./..."}`, []string{"sh", "-c", "go vet ./..."}},
		{"instructions, trimmed", `{}`, "  ls\n", `{"command":"ls"}`, []string{"sh", "-c", "ls"}},
		{"characters as they are", `{}`, `echo <a> & "b"`, `{"command":"echo <a> & \"b\""}`, []string{"sh", "-c", `echo <a> & "b"`}},
		{"argv reads the instructions", `{"command":["make","release"]}`, "as <read> & judged", `{"command":"make release","stdin":"as <read> & judged"}`, []string{"make", "release"}},
		{"argv is quoted", `{"command":["echo","a  b","$HOME","it's"]}`, "", `{"command":"echo 'a  b' '$HOME' \"it's\""}`, []string{"echo", "a  b", "$HOME", "it's"}},
		{"sh -c is judged as its text", `{"command":["sh","-c","ls | wc -l"]}`, "", `{"command":"ls | wc -l"}`, []string{"sh", "-c", "ls | wc -l"}},
		{"sh with more is quoted", `{"command":["sh","-c","ls","x"]}`, "", `{"command":"sh -c ls x"}`, []string{"sh", "-c", "ls", "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &fakeHost{t: t, dry: true}
			res := turn(t, newAgent(t, "exec", c.spec), h, agent.Task{ID: "1", Instructions: c.instructions, Cwd: "/w"})
			if res.Failed {
				t.Fatalf("%+v", res)
			}
			if diff := cmp.Diff([]string{"Bash " + c.judged + " in /w"}, h.calls); diff != "" {
				t.Errorf("judged (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([][]string{c.argv}, h.argv); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExecChangedInput(t *testing.T) {
	h := &fakeHost{t: t, dry: true, input: `{"command":"ls"}`}
	turn(t, newAgent(t, "exec", `{"command":["make"]}`), h, agent.Task{ID: "1", Cwd: "/w"})
	if diff := cmp.Diff([][]string{{"sh", "-c", "ls"}}, h.argv); diff != "" {
		t.Errorf("the changed input must run (-want +got):\n%s", diff)
	}
	// A changed input without a command runs nothing.
	for _, in := range []string{`{"Command":"ls"}`, `{}`, `{"command":1}`} {
		h := &fakeHost{t: t, dry: true, input: in}
		if res := turn(t, newAgent(t, "exec", `{}`), h, agent.Task{ID: "1", Instructions: "ls", Cwd: "/w"}); !res.Failed || len(h.argv) != 0 {
			t.Errorf("%s: %+v, ran %v", in, res, h.argv)
		}
	}
}

func TestExecResults(t *testing.T) {
	dir := t.TempDir()
	run := func(instructions string) (agent.Result, *fakeHost) {
		h := &fakeHost{t: t}
		return turn(t, newAgent(t, "exec", `{}`), h, agent.Task{ID: "7", Subject: "s", Instructions: instructions, Cwd: dir}), h
	}
	if res, h := run("echo $WAGGLE_TASK_ID $WAGGLE_TASK_SUBJECT; pwd"); res.Failed || *res.ExitCode != 0 || !strings.Contains(h.out.String(), "7 s\n") {
		t.Errorf("%+v %q", res, h.out.String())
	}
	if res, _ := run("exit 3"); !res.Failed || *res.ExitCode != 3 || res.Denied || res.Reason != "exit status 3" {
		t.Errorf("%+v", res)
	}
	if res, _ := run("kill -9 $$"); !res.Failed || res.ExitCode != nil || !strings.Contains(res.Reason, "signal") {
		t.Errorf("%+v", res)
	}
	if res, _ := run(""); !res.Failed {
		t.Errorf("no instructions: %+v", res)
	}
	h := &fakeHost{t: t, answer: func(agent.Call) agent.Decision { return agent.Decision{Reason: "not now"} }}
	if res := turn(t, newAgent(t, "exec", `{}`), h, agent.Task{ID: "1", Instructions: "ls", Cwd: dir}); !res.Failed || !res.Denied || !strings.Contains(res.Reason, "not now") {
		t.Errorf("denied: %+v", res)
	}
}

func TestExecTimeout(t *testing.T) {
	h := &fakeHost{t: t}
	res := turn(t, newAgent(t, "exec", `{}`), h, agent.Task{ID: "1", Instructions: "sleep 60", Cwd: t.TempDir(), Timeout: 50 * time.Millisecond})
	if !res.Failed || !strings.Contains(res.Reason, "timeout of 50ms") {
		t.Errorf("%+v", res)
	}
}

func TestExecPlan(t *testing.T) {
	for _, allow := range []bool{true, false} {
		h := &fakeHost{t: t, dry: true, verdict: func(string) agent.Decision { return agent.Decision{Allowed: allow, Reason: "because"} }}
		res := turn(t, newAgent(t, "exec", `{}`), h, agent.Task{ID: "1", Instructions: "make", Cwd: "/w", PlanRequired: true})
		if len(h.plans) != 1 || !strings.Contains(h.plans[0], "make") {
			t.Errorf("plans %q", h.plans)
		}
		if (len(h.argv) == 1) != allow || res.Failed == allow {
			t.Errorf("allow %v: ran %v, %+v", allow, h.argv, res)
		}
	}
}

func TestExecTail(t *testing.T) {
	h := &fakeHost{t: t}
	var ran *agent.Ran
	a := newAgent(t, "exec", `{}`)
	host := tailHost{h, &ran}
	if _, err := a.Turn(t.Context(), host, agent.Work{Task: &agent.Task{ID: "1", Cwd: t.TempDir(),
		Instructions: `i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; printf 'last \377'`}}); err != nil {
		t.Fatal(err)
	}
	if len(ran.Tail) > agent.TailSize+2 || !strings.HasPrefix(ran.Tail, "line ") || !strings.HasSuffix(ran.Tail, "last \uFFFD") {
		t.Errorf("tail of %d bytes: %.30q … %q", len(ran.Tail), ran.Tail, ran.Tail[len(ran.Tail)-20:])
	}
	if !strings.HasPrefix(h.out.String(), "line 0\n") {
		t.Errorf("the log begins with %.20q", h.out.String())
	}
}

// tailHost keeps what a call did.
type tailHost struct {
	*fakeHost
	ran **agent.Ran
}

func (h tailHost) Tool(ctx context.Context, c agent.Call, run func(context.Context, json.RawMessage) agent.Ran) (agent.Outcome, error) {
	out, err := h.fakeHost.Tool(ctx, c, run)
	*h.ran = out.Ran
	return out, err
}

// ownKinds are those of this module: tests register others.
var ownKinds = agent.Kinds()

func TestChatTurns(t *testing.T) {
	for _, kind := range ownKinds {
		res, err := newAgent(t, kind, `{}`).Turn(t.Context(), &fakeHost{t: t}, agent.Work{Mail: []protocol.Mail{{From: "a", Text: "hi"}}})
		if err != nil || res.Failed {
			t.Errorf("%s: %+v, %v", kind, res, err)
		}
	}
}

func TestScript(t *testing.T) {
	dir := t.TempDir()
	deny := func(agent.Call) agent.Decision { return agent.Decision{Reason: "no"} }
	no := func(string) agent.Decision { return agent.Decision{Reason: "more"} }
	for _, c := range []struct {
		name  string
		steps string
		host  fakeHost
		want  agent.Result
		said  []string
	}{
		{name: "say and progress", steps: `[{"say":{"text":"hi"}},{"say":{"to":"bob","text":"yo"}},{"progress":{"phase":"verifying","message":"m"}},{"progress":{"message":"n"}}]`,
			want: agent.Result{Summary: "played 4 steps"}, said: []string{"team-lead: hi", "bob: yo", "verifying: m", "implementing: n"}},
		{name: "fail", steps: `[{"fail":{"reason":"broken"}},{"say":{"text":"never"}}]`, want: agent.Result{Failed: true, Reason: "broken"}},
		{name: "denied", steps: `[{"tool":{"name":"Bash","input":{"command":"ls"}}},{"say":{"text":"never"}}]`, host: fakeHost{answer: deny},
			want: agent.Result{Failed: true, Denied: true, Reason: "Bash denied: no"}},
		{name: "denied as expected", steps: `[{"tool":{"name":"Bash","input":{"command":"ls"},"expect":"deny"}},{"say":{"text":"on"}}]`, host: fakeHost{answer: deny},
			want: agent.Result{Summary: "played 2 steps"}, said: []string{"team-lead: on"}},
		{name: "network denied", steps: `[{"network":{"host":"example.com"}}]`, host: fakeHost{answer: deny},
			want: agent.Result{Failed: true, Denied: true, Reason: "network to example.com denied: no"}},
		{name: "plans until one is approved", steps: `[{"plan":{"revisions":["a","b","c"]}}]`,
			host: fakeHost{verdict: func(p string) agent.Decision { return agent.Decision{Allowed: p == "b"} }}, want: agent.Result{Summary: "played 1 steps"}},
		{name: "every plan rejected", steps: `[{"plan":{"revisions":["a"]}}]`, host: fakeHost{verdict: no},
			want: agent.Result{Failed: true, Denied: true, Reason: "plan rejected: more"}},
		{name: "write", steps: `[{"tool":{"name":"Write","input":{"file_path":"f","content":"x"}}},{"wait":{"until":"f"}}]`, want: agent.Result{Summary: "played 2 steps"}},
		{name: "write fails", steps: `[{"tool":{"name":"Write","input":{"file_path":"no/such/dir/f","content":"x"}}}]`,
			want: agent.Result{Failed: true, Reason: "Write failed: open " + filepath.Join(dir, "no/such/dir/f") + ": no such file or directory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.host
			h.t = t
			res := turn(t, newAgent(t, "script", `{"steps":`+c.steps+`}`), &h, agent.Task{ID: "1", Cwd: dir})
			if diff := cmp.Diff(c.want, res); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.said, h.said); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScriptWait: a wait takes its time, and ends when the turn is cancelled.
func TestScriptWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, "script", `{"steps":[{"wait":{"for":"2h"}}]}`)
		start := time.Now()
		if _, err := a.Turn(t.Context(), &fakeHost{t: t}, agent.Work{Task: &agent.Task{ID: "1"}}); err != nil || time.Since(start) != 2*time.Hour { // the bubble's clock
			t.Errorf("took %s, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Turn(ctx, &fakeHost{t: t}, agent.Work{Task: &agent.Task{ID: "1"}}); err == nil {
			t.Error("a wait outlived its turn")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ kind, spec string }{
		{"robot", `{}`},
		{"exec", `{"command":"ls"}`},
		{"script", `{"steps":[{}]}`},
		{"script", `{"steps":[{"say":{"text":"a"},"fail":{"reason":"b"}}]}`},
		{"script", `{"steps":[{"tool":{"name":"Bash"}}]}`},
		{"script", `{"steps":[{"plan":{"revisions":[]}}]}`},
		{"script", `{"steps":[{"network":{}}]}`},
		{"script", `{"steps":[{"progress":{"phase":"resting","message":"m"}}]}`},
		{"script", `{"steps":[{"wait":{"for":"soon"}}]}`},
	} {
		if _, err := agent.New(c.kind, json.RawMessage(c.spec)); err == nil {
			t.Errorf("%s %s was accepted", c.kind, c.spec)
		}
	}
}
