package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

// question is a request of which every field has a value.
func question() decide.Request {
	return decide.Request{
		PendingItem: decide.PendingItem{Team: "api", ID: "perm-1", Handle: "k3", Kind: string(protocol.KindPermissionRequest), Member: "ann", Instance: "i1", Tool: "Bash",
			Input: json.RawMessage(`{"command":"make\ntest"}`), Cwd: "/w", Reason: "because", Digest: "d1", Risk: "low", Asked: operator.Past{Time: at(0)}, Expires: new(at(600)), File: "file", Status: decide.StatusOpen},
		Bound: record.Bound{Stdin: "in", Env: []string{"A=b"}, Program: "/bin/bash"}, Unheld: "it is not run here", MustAsk: "Your settings ask.", Because: "No rule allows it.", Host: "example.com", Port: "443",
		Plan: "one\ntwo", Revision: 2, Hash: "0123456789abcdef", Task: "7", Command: "make\ntest", Pattern: "Bash(make:*)", Suggest: []string{"Bash(make:*)"},
		Questions: []decide.Asked{{Text: "which?", Header: "h", Options: []decide.Option{{Label: "a", Description: "first"}, {Label: "b"}}, Multiple: true}},
		Trust:     "cooperative", Votes: []string{"ann"}, Escalated: "leader: unsure", Asker: "its process 3 is dead", LeadOut: "you answer: the lead's session is taken",
		Answer: &decide.AnswerNow{Decision: "allow", By: "operator", Via: "approve", Rule: "r", Reason: "fine", At: at(10), Policy: 4, State: "sent", Evidence: "seen",
			Input: json.RawMessage(`{"command":"true"}`), Digest: "d2"},
	}
}

// small is an open request for one command.
func small(id, team, command string, s int) decide.Request {
	in := json.RawMessage(fmt.Sprintf(`{"command":%q}`, command))
	return decide.Request{PendingItem: decide.PendingItem{Team: team, ID: id, Handle: "h" + id, Kind: string(protocol.KindPermissionRequest), Member: "m" + id, Tool: "Bash",
		Input: in, Cwd: "/w", Risk: "low", Digest: "d" + id, Asked: operator.Past{Time: at(s)}, Status: decide.StatusOpen}, Command: command, Suggest: []string{}}
}

func TestQuestion(t *testing.T) {
	golden(t, "question", question())
	golden(t, "question_empty", []decide.Request{{Suggest: []string{}}})
	var b strings.Builder
	for _, f := range view.QuestionFields(question(), nil, now) {
		fmt.Fprintf(&b, "%s%s: %q\n", map[bool]string{true: "block "}[f.Block], f.Name, f.Text)
	}
	same(t, "question.txt", b.String())
}

func TestPending(t *testing.T) {
	long := strings.Repeat("echo a\n", 50)
	qs := []decide.Request{small("1", "api", "go test ./a", 0), small("2", "api", "go test ./b", 30), small("3", decide.SessionTeam, "ls", 60), small("4", "web", long, 61)}
	qs[1].LeadOut = "you answer: the lead's session is taken"
	over := question()
	golden(t, "pending", view.Pending(append(qs[:3:3], over)))
	golden(t, "pending_empty", view.Pending(nil))
	samePage(t, "pending", view.PendingPage(append(qs, over), false, now))
	samePage(t, "groups", view.GroupPage(decide.Groups(qs), false, now))
	samePage(t, "plans", view.PlanPage([]decide.Request{over}, now))
}

// TestPendingEdits: the list says which file is changed, and how, in lines; an input that has more is shown as JSON.
func TestPendingEdits(t *testing.T) {
	edit := func(id, tool, input string) decide.Request {
		q := small(id, "api", "", 1)
		q.Tool, q.Input = tool, json.RawMessage(input)
		return q
	}
	samePage(t, "pending_edits", view.GroupPage(decide.Groups([]decide.Request{
		edit("1", "Edit", `{"file_path":"/w/a.go","old_string":"one\n| two\n","new_string":"one\n\u202etwo\n"}`),
		edit("2", "Edit", `{"file_path":"/w/b.go","old_string":"one","new_string":"two","more":1}`),
		edit("3", "MultiEdit", `{"file_path":"/w/c.go","edits":[{"old_string":"one","new_string":"two"}]}`),
		edit("4", "MultiEdit", `{"file_path":"/w/d.go","edits":[{"old_string":"one","new_string":"two","more":1}]}`),
		edit("5", "Write", `{"file_path":"/w/e.go","content":"one\n"}`),
	}), false, now))
}
