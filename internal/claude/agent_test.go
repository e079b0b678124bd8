//go:build unix

package claude_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
)

var update = flag.Bool("update", false, "write the records of the transcripts anew")

// A transcript has each line on the pipes, byte for byte, and its results: the questions to the gate,
// the outcomes of the calls, the ends of the turns.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			testenv.Must(t, err)
			parts := map[string]string{}
			var plays []string
			for _, f := range ar.Files {
				if f.Name == "play" {
					plays = append(plays, string(f.Data))
				} else {
					parts[f.Name] = string(f.Data)
				}
			}
			got := play(t, parts, plays)
			if *update {
				for i := range ar.Files {
					if ar.Files[i].Name == "record" {
						ar.Files[i].Data = []byte(got)
					}
				}
				testenv.Must(t, os.WriteFile(file, txtar.Format(ar), 0o644))
			} else if diff := cmp.Diff(parts["record"], got); diff != "" {
				t.Errorf("record:\n%s", diff)
			}
		})
	}
}

// play runs the turns of a transcript. Its part "gate" has the answers: a line each.
func play(t *testing.T, parts map[string]string, plays []string) string {
	t.Helper()
	g := newGate(t, "2.1.330")
	answers := strings.Split(strings.TrimSpace(parts["gate"]), "\n")
	next := func(kind string) string {
		g.mu.Lock()
		defer g.mu.Unlock()
		for len(answers) > 0 {
			line := answers[0]
			answers = answers[1:]
			if rest, ok := strings.CutPrefix(line, kind+" "); ok {
				return rest
			}
			t.Errorf("the gate is asked for a %s and has %q", kind, line)
		}
		return ""
	}
	decide := func(line string) agent.Decision {
		word, reason, _ := strings.Cut(line, " ")
		return agent.Decision{Allowed: word == "allow", Reason: reason, By: "operator"}
	}
	g.tool = func(agent.Call) (agent.Decision, string) {
		a := decide(next("call"))
		if a.Allowed {
			return agent.Decision{Allowed: true, By: "operator"}, a.Reason // the input that was approved
		}
		return a, ""
	}
	g.plan = func(string) agent.Decision { return decide(next("plan")) }
	g.answer = func(q agent.Question) agent.Answers {
		line := next("question")
		if line == "none" {
			return agent.Answers{Reason: agent.NoAnswer}
		}
		a := agent.Answers{Given: true}
		for _, words := range strings.Split(line, "|") {
			if labels, ok := strings.CutPrefix(words, "="); ok {
				a.Replies = append(a.Replies, agent.Reply{Labels: strings.Split(labels, "+")})
			} else {
				a.Replies = append(a.Replies, agent.Reply{Text: words})
			}
		}
		return a
	}
	spec := strings.TrimSpace(parts["spec"])
	a, f := newAgent(t, spec, plays...)
	var record strings.Builder
	for _, turn := range strings.Split(strings.TrimSpace(parts["turns"]), "\n") {
		w := task()
		w.Task.PlanRequired = turn == "plan"
		if words, ok := strings.CutPrefix(turn, "task "); ok {
			w.Task.Instructions = words
		}
		w.Conversation = g.talk
		res, err := a.Turn(t.Context(), g, w)
		fmt.Fprintf(&record, "turn: summary %q failed %t denied %t reason %q err %v\n", res.Summary, res.Failed, res.Denied, res.Reason, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.asked {
		ran, ok := g.done[c.UseID]
		end := "no end"
		if ok {
			code := ""
			if ran.ExitCode != nil {
				code = fmt.Sprintf(" exit %d", *ran.ExitCode)
			}
			end = fmt.Sprintf("failed %t%s %q%s", ran.Failed, code, ran.Tail, ran.Err)
		}
		fmt.Fprintf(&record, "call: %s %s %s %q: %s\n", c.UseID, c.Tool, c.Input, c.Reason, end)
	}
	for _, p := range g.plans {
		fmt.Fprintf(&record, "plan: %q\n", p)
	}
	for _, s := range g.said {
		fmt.Fprintf(&record, "said: %s\n", s)
	}
	for _, s := range g.talks {
		fmt.Fprintf(&record, "conversation: %s\n", s)
	}
	for _, s := range g.used {
		fmt.Fprintf(&record, "used: %s\n", s)
	}
	for _, s := range g.steps {
		fmt.Fprintf(&record, "steps: %s\n", s)
	}
	for _, c := range f.started {
		argv := strings.Join(c.Argv[1:], " ")
		if i := strings.Index(argv, "--settings "); i >= 0 {
			after := argv[i+len("--settings "):]
			_, rest, _ := strings.Cut(after, " ")
			argv = argv[:i] + "--settings FILE " + rest
		}
		fmt.Fprintf(&record, "argv: %s\n", strings.TrimSpace(argv))
	}
	if len(answers) > 0 && answers[0] != "" {
		t.Errorf("the gate was not asked for %q", answers)
	}
	return record.String()
}

// Without a client there is an error that says what to do, and a client that is older than all that
// were observed is refused.
func TestNoUsableClient(t *testing.T) {
	for version, want := range map[string]string{
		"2.1.149": "needs 2.1.150 or newer",
		"1":       "is no version of Claude Code",
	} {
		a, _ := newAgent(t, `{}`)
		_, err := a.Turn(t.Context(), newGate(t, version), task())
		var missing *claude.MissingError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	a, _ := newAgent(t, `{"program":"claude-nowhere"}`)
	g := newGate(t, "2.1.330")
	var missing *claude.MissingError
	if _, err := a.Turn(t.Context(), g, task()); !errors.As(err, &missing) {
		t.Error(err)
	}
}

// Settings are read by exact name, and arguments that touch permissions are refused.
func TestSpec(t *testing.T) {
	for raw, want := range map[string]string{
		`{"Model":"x"}`:                               `"Model" is not one of`,
		`{"model":1}`:                                 "model is number",
		`{"mode":"bypassPermissions"}`:                "not one of default, plan",
		`{"mode":"acceptEdits"}`:                      "not one of default, plan",
		`{"args":["--settings","x"]}`:                 "not one that a member may be given",
		`{"args":["--dangerously-skip-permissions"]}`: "not one that a member may be given",
		`{"args":["--add-dir"]}`:                      "needs a value",
		`{"args":["--add-dir","--x"]}`:                "needs a value",
		`{"args":["--verbose=1"]}`:                    "has a value",
		`{"args":["x"]}`:                              "not one that a member may be given",
		`{"args":"--verbose"}`:                        "args is string",
		`{"model":"--settings"}`:                      "do not begin with -",
		`[]`:                                          "claude:",
	} {
		if _, err := claude.New([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	for _, raw := range []string{``, `{}`, `{"program":"claude","model":"opus","prompt":"be brief","mode":"plan","args":["--add-dir","/x","--effort=high","--verbose"]}`} {
		if _, err := claude.New([]byte(raw)); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// A turn whose context ends is interrupted. A request that is open then gets no answer, and a grant
// that came too late is recorded as not run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newGate(t, "2.1.330")
	g.tool = func(c agent.Call) (agent.Decision, string) {
		cancel()
		return agent.Decision{Allowed: true}, ""
	}
	a, _ := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+
		`< {"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"x"},"tool_use_id":"t1"}}`+"\n"+
		`> {"type":"control_request","request_id":"waggle-3","request":{"subtype":"interrupt"}}`+"\n"+
		`< {"type":"control_cancel_request","request_id":"r1"}`+"\n"+
		`< {"type":"control_response","response":{"subtype":"success","request_id":"waggle-3"}}`+"\n"+
		`< {"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s1"}`+"\n")
	_, err := a.Turn(ctx, g, task())
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

const initialized = `> {"type":"control_request","request_id":"waggle-1","request":{"subtype":"initialize","hooks":{"PreToolUse":[{"hookCallbackIds":["gate"],"timeout":86400,"onFailure":"block"}]}}}
< {"type":"control_response","response":{"subtype":"success","request_id":"waggle-1","response":{"hooks_applied":true,"hook_on_failure_supported":true}}}
> {"type":"control_request","request_id":"waggle-2","request":{"subtype":"mcp_status"}}
< {"type":"control_response","response":{"subtype":"success","request_id":"waggle-2","response":{"mcpServers":[]}}}
`

func user(words string) string {
	return `> {"type":"user","message":{"role":"user","content":"` + words + `"}}` + "\n"
}
