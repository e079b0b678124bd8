package sentence_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/face/view/sentence"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

func TestLogSentences(t *testing.T) {
	key := record.Key{Instance: "i", Kind: protocol.KindPermissionRequest, ID: "perm-1"}
	ask := record.Ask{Tool: "Bash", Input: `{"command":"make deploy"}`}
	exit := 3
	leader := func(kind string, body any, want string) (string, string, any, string) {
		return string(journal.Leader), kind, body, want
	}
	worker := func(kind string, body any, want string) (string, string, any, string) { return "i", kind, body, want }
	row := func(of, kind string, body any, want string) [4]any { return [4]any{of, kind, body, want} }
	rows := [][4]any{
		row(leader(record.KindJoined, record.Joined{Name: "ann", Agent: "exec", Backend: "process"}, "ann joins, agent exec, backend process")),
		row(leader(record.KindCommanded, record.Commanded{What: record.CommandAssigned, Task: &record.Task{ID: "1", Subject: "build"}}, `ann gets task 1 "build"`)),
		row(leader(record.KindSent, record.Sent{Ref: 2}, "task 1 for ann is in the mailbox")),
		row(leader(record.KindSeen, record.Seen{Kind: key.Kind, ID: key.ID, Ask: &ask}, "ann asks 7KQF: Bash make deploy")),
		row(leader(record.KindDecided, record.Decided{Key: key, Decision: "deny", By: policy.RoleOperator, Via: "deny", Reason: "not today"}, "operator (deny) denies 7KQF of ann: not today")),
		row(leader(record.KindClosed, record.Closed{Ref: 5, Evidence: "taken"}, "the answer to 7KQF of ann is settled: taken")),
		row(leader(record.KindLeft, record.Left{How: record.LeftStopped, Detail: "kill"}, "ann has left: stopped: kill")),
		row(leader(record.KindEnded, record.Ended{How: "done"}, "the team has ended: done")),
		row(worker(record.KindAsked, record.Asked{Key: key, Ask: ask}, "asks 7KQF: Bash make deploy")),
		row(worker(record.KindAnswered, record.Answered{Key: key, Decision: "allow", By: policy.RoleRules, Rule: "Bash(make:*)", Ask: &ask}, "allowed by its rules: Bash make deploy: Bash(make:*)")),
		row(worker(record.KindFinished, record.Finished{Key: key, ExitCode: &exit, Failed: true}, "7KQF has failed, exit status 3")),
		row(worker(record.KindSaid, record.Said{Kind: protocol.KindTaskCompleted, Task: "1", Failed: true, Note: "exit status 3"}, "has failed task 1: exit status 3")),
		row(leader(record.KindSeen, record.Seen{Kind: protocol.KindPlanApprovalRequest, ID: "p", Ask: &record.Ask{Plan: "first\nthen"}}, "ann asks 7KQF: plan, revision 1: first")),
		row(worker(record.KindConnected, record.Connected{Connections: []record.Connection{{Host: "a.org", Port: "443", Event: "closed"}, {Host: "b.org", Port: "80", Event: "refused", Reason: "no grant covers it"}}},
			"connections: a.org:443 closed, b.org:80 refused (no grant covers it)")),
		row(worker("future", map[string]int{"a": 1}, `{"a":1}`)),
	}
	var say sentence.LogSentences
	for i, r := range rows {
		body, err := json.Marshal(r[2])
		testenv.Must(t, err)
		rec := operator.LogRecord{Member: "ann", Request: "7KQF", Record: journal.Record{Journal: journal.Name(r[0].(string)), Seq: journal.Seq(i + 1), Kind: r[1].(string), Body: body}}
		if got := say.Of(rec); got != r[3] {
			t.Errorf("%s: %q, want %q", r[1], got, r[3])
		}
	}
}

// A call that rules allowed is no request and has no handle: the sentences of its records name the command, not an id.
func TestLogSentencesOfRules(t *testing.T) {
	key := record.Key{Kind: protocol.KindPermissionRequest, ID: "perm-1795544453152-bjgdply"}
	var say sentence.LogSentences
	for _, c := range []struct {
		kind string
		body any
		want string
	}{
		{record.KindStarted, record.Started{Key: key, Tool: "Bash"}, "starts perm-1795544453152-bjgdply with Bash"}, // its answer is not in this log
		{record.KindAnswered, record.Answered{Key: key, Decision: "allow", By: policy.RoleRules, Rule: "Bash(make:*)", Ask: &record.Ask{Tool: "Bash", Input: `{"command":"make"}`}}, "allowed by its rules: Bash make: Bash(make:*)"},
		{record.KindStarted, record.Started{Key: key, Tool: "Bash"}, "starts Bash make"},
		{record.KindFinished, record.Finished{Key: key}, "Bash make has ended"},
		{record.KindUnknown, record.UnknownEnd{Key: key, Why: "killed"}, "does not know how Bash make ended: killed"},
	} {
		body, err := json.Marshal(c.body)
		testenv.Must(t, err)
		rec := operator.LogRecord{Member: "ann", Record: journal.Record{Journal: "i", Kind: c.kind, Body: body}}
		if got := say.Of(rec); got != c.want {
			t.Errorf("%s: %q, want %q", c.kind, got, c.want)
		}
	}
}

// Every kind of record has words: none is shown as its JSON.
func TestLogSentencesOfEveryKind(t *testing.T) {
	for _, kind := range record.Kinds() {
		var say sentence.LogSentences
		if kind == record.KindCommanded {
			continue // its words need a body
		}
		worded := false
		for _, of := range []journal.Name{journal.Leader, "i"} {
			rec := operator.LogRecord{Record: journal.Record{Journal: of, Kind: kind, Body: json.RawMessage(`{"mail":{}}`)}}
			worded = worded || say.Of(rec) != `{"mail":{}}`
		}
		if !worded {
			t.Errorf("a record of kind %s has no sentence", kind)
		}
	}
}

func TestMessageSentence(t *testing.T) {
	for want, p := range map[string]any{
		`has failed task 2 "breaks": exit status 3`:     protocol.TaskCompleted{TaskID: "2", TaskSubject: "breaks", Result: &protocol.TaskResult{Errors: []string{"exit status 3"}}},
		`has done task 2: fine`:                         protocol.TaskCompleted{TaskID: "2", Result: &protocol.TaskResult{Summary: "fine"}},
		`is idle after its turn failed: exit status 3`:  protocol.IdleNotification{FailureReason: "exit status 3", CompletedTaskID: "2"},
		`asks: Bash rm -rf build7`:                      protocol.PermissionRequest{ToolName: "Bash", Input: json.RawMessage(`{"command":"rm -rf build7"}`)},
		`gives task 1 "build"`:                          protocol.TaskAssignment{TaskID: "1", Subject: "build"},
		`denies the call: no`:                           protocol.PermissionResponse{Subtype: "error", Error: "no"},
		`asks for a verdict on its plan: first, then …`: protocol.PlanApprovalRequest{PlanContent: "first, then\nsecond"},
		``: protocol.Text{Text: "words"},
	} {
		if got := sentence.OfMessage(p, ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
