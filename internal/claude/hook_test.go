//go:build unix

package claude_test

import (
	"slices"
	"strings"
	"testing"

	"waggle/agent"
)

const turnEnds = `< {"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s1"}` + "\n"

// asks is a request of the client to use a tool, and permit or refusal the host's answer.
func asks(id, tool, input string) string {
	return `< {"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_name":"` + tool + `","input":` + input + `,"tool_use_id":"use-` + id + `"}}` + "\n"
}

func permit(id, input string) string {
	return `> {"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{"behavior":"allow","updatedInput":` + input + `}}}` + "\n"
}

func refusal(id, why string) string {
	return `> {"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{"behavior":"deny","message":"` + why + `"}}}` + "\n"
}

// The client's hook is told to ask about every call, also while no turn runs; what is asked then is denied, and
// in a turn the gate decides. A call whose effect stays in the session runs unless a rule denies it.
func TestHostHook(t *testing.T) {
	calls := func(id, callback string) string {
		return `< {"type":"control_request","request_id":"` + id + `","request":{"subtype":"hook_callback","callback_id":"` + callback + `","input":{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/a"},"tool_use_id":"t1"},"tool_use_id":"t1"}}` + "\n"
	}
	told := func(id string) string {
		return `> {"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"the team decides"}}}}` + "\n"
	}
	g := newGate(t, "2.1.330")
	g.refuse = func(c agent.Call) string {
		if c.Tool == "TaskStop" {
			return "rule against TaskStop"
		}
		return ""
	}
	first, rest, _ := strings.Cut(initialized, "\n") // before the answer to initialize nothing else is written
	a, _ := newAgent(t, `{}`, first+"\n"+calls("h0", "gate")+told("h0")+asks("r0", "Read", `{"file_path":"/a"}`)+
		refusal("r0", "no turn runs: tools are used in the turns that waggle begins")+rest+user("Task 1: go\\n\\ndo it")+
		calls("h1", "gate")+told("h1")+asks("r1", "Read", `{"file_path":"/a"}`)+permit("r1", `{"file_path":"/a"}`)+
		calls("h2", "other")+`> {"type":"control_response","response":{"subtype":"error","request_id":"h2","error":"this host does not know hook_callback"}}`+"\n"+
		asks("r2", "TodoWrite", `{"todos":[]}`)+permit("r2", `{"todos":[]}`)+
		asks("r3", "TaskStop", `{}`)+refusal("r3", "rule against TaskStop")+turnEnds)
	if _, err := a.Turn(t.Context(), g, task()); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, c := range g.asked {
		asked = append(asked, c.Tool)
	}
	if !slices.Equal(asked, []string{"Read"}) {
		t.Errorf("the gate is asked for %q, want Read alone", asked)
	}
}

// A client that does not say that it runs the hook of its host, and blocks a call when that fails, is not
// used, but for one that is too old to say so: its ask rules hold.
func TestUnhooked(t *testing.T) {
	for _, one := range []struct {
		version, says string
		taken         bool
	}{
		{"2.1.330", `{"hooks_applied":true,"hook_on_failure_supported":true}`, true},
		{"2.1.330", `{"hooks_applied":false,"hook_on_failure_supported":true}`, false},
		{"2.1.330", `{"hooks_applied":"true","hook_on_failure_supported":true}`, false},
		{"2.1.330", `{"hooks_applied":true}`, false},
		{"2.1.330", `{"Hooks_Applied":true,"hook_on_failure_supported":true}`, false},
		{"2.1.330", `{}`, false},
		{"2.2.0", `{}`, false},
		{"2.1.150", `{}`, true},
		{"2.1.150", `{"hooks_applied":false}`, false},
	} {
		play := strings.Replace(initialized, `{"hooks_applied":true,"hook_on_failure_supported":true}`, one.says, 1)
		if one.taken {
			play += user("Task 1: go\\n\\ndo it") + turnEnds
		} else {
			play = strings.Join(strings.SplitAfter(play, "\n")[:2], "")
		}
		a, _ := newAgent(t, `{}`, play)
		_, err := a.Turn(t.Context(), newGate(t, one.version), task())
		if (err == nil) != one.taken || err != nil && !strings.Contains(err.Error(), "could run unasked") {
			t.Errorf("%s %s: %v", one.version, one.says, err)
		}
	}
}

// The output of a member says in words what its model does: its text, each call with what it is about, and the
// first line of what came of it.
func TestOutputWords(t *testing.T) {
	g := newGate(t, "2.1.330")
	calls := `< {"type":"assistant","message":{"id":"a1","content":[{"type":"text","text":"I look."},` +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"description":"run the tests","command":"go test ./...\necho over"}},` +
		`{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/w/a.go"}},{"type":"tool_use","id":"t3","name":"Odd","input":{"n":1}}]}}` + "\n"
	results := `< {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 1\nFAIL","is_error":true},` +
		`{"type":"tool_result","tool_use_id":"t2","content":"package a\n\nfunc"},{"type":"tool_result","tool_use_id":"t3","content":""}]}}` + "\n"
	a, _ := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+calls+results+turnEnds)
	if _, err := a.Turn(t.Context(), g, task()); err != nil {
		t.Fatal(err)
	}
	want := "I look.\n[Bash] go test ./...\n[Read] /w/a.go\n[Odd]\n    failed: Exit code 1\n    package a\n"
	if got := g.out.String(); got != want {
		t.Errorf("its output is\n%s\nwant\n%s", got, want)
	}
}
