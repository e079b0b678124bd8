package claudetest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// post asks the model, with tools unless it is the client's own question.
func post(t *testing.T, m *claudetest.Model, stream bool, tools, messages string) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m1","stream":%t,"system":[{"type":"text","text":"write a title"}],"tools":%s,
		"metadata":{"user_id":"{\"session_id\":\"s1\"}"},"messages":%s}`, stream, tools, messages)
	resp, err := http.Post(m.URL()+"/v1/messages?beta=true", "application/json", strings.NewReader(body))
	testenv.Must(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	testenv.Must(t, err)
	return resp.StatusCode, string(data)
}

const (
	tools = `[{"name":"Bash"}]`
	one   = `[{"role":"user","content":[{"type":"text","text":"<system-reminder>marker-b</system-reminder>"},{"type":"text","text":"marker-a go"}]}]`
	two   = `[{"role":"user","content":"marker-a go"},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"text","text":"and mail"}]}]`
)

// The events of a stream, in the order that clients expect.
func TestStream(t *testing.T) {
	m := claudetest.NewModel(t, claudetest.ByMarker(map[string]claudetest.Next{
		"marker-a": claudetest.Script(claudetest.Together(claudetest.Say("look"), claudetest.Bash("ls"))),
		"marker-b": claudetest.Script(claudetest.Say("another's")),
	}))
	_, stream := post(t, m, true, tools, one)
	var got []string
	for _, line := range strings.Split(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type    string `json:"type"`
			Index   int    `json:"index"`
			Message struct {
				Model string `json:"model"`
			} `json:"message"`
			Block struct {
				Type string `json:"type"`
				Name string `json:"name"`
			} `json:"content_block"`
			Delta struct {
				Text string `json:"text"`
				JSON string `json:"partial_json"`
				Stop string `json:"stop_reason"`
			} `json:"delta"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintln(e.Type, e.Index, e.Message.Model, e.Block.Type, e.Block.Name, e.Delta.Text, e.Delta.JSON, e.Delta.Stop)))
	}
	for i, s := range got {
		got[i] = strings.Join(strings.Fields(s), " ")
	}
	want := []string{
		"message_start 0 m1",
		"content_block_start 0 text", "content_block_delta 0 look", "content_block_stop 0",
		"content_block_start 1 tool_use Bash", `content_block_delta 1 {"command":"ls","description":"run ls"}`, "content_block_stop 1",
		"message_delta 0 tool_use", "message_stop 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The content of a request, and the turn that it gets.
func TestRequest(t *testing.T) {
	m := claudetest.NewModel(t, claudetest.Script(claudetest.Bash("ls"), claudetest.Say("second")))
	_, answer := post(t, m, false, tools, two)
	var message struct {
		Stop    string `json:"stop_reason"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal([]byte(answer), &message); err != nil || message.Stop != "end_turn" || message.Content[0].Text != "second" {
		t.Errorf("answered %s: %v", answer, err)
	}
	r := m.Await("the request", func(claudetest.Request) bool { return true })
	if r.Session != "s1" || r.Model != "m1" || r.Turns() != 1 || r.First() != "marker-a go" || r.Said() != "and mail" {
		t.Errorf("the request is %s", r)
	}
	want := []claudetest.Block{{Type: "tool_result", ID: "t1", Text: "no", IsError: true}}
	if diff := cmp.Diff(want, r.Results()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// Sessions that say the same turn get tool calls of their own; the client's own
// questions take no turn; a turn can be an error.
func TestTurns(t *testing.T) {
	m := claudetest.NewModel(t, claudetest.Script(claudetest.Bash("ls"), claudetest.Turn{Status: http.StatusTooManyRequests}))
	_, a := post(t, m, false, tools, one)
	_, b := post(t, m, false, tools, one)
	call := regexp.MustCompile(`"id":"toolu_\w+"`)
	if ids := []string{call.FindString(a), call.FindString(b)}; ids[0] == "" || ids[0] == ids[1] {
		t.Errorf("two sessions got the calls %q", ids)
	}
	if _, title := post(t, m, false, `[]`, one); strings.Contains(title, "tool_use") || !strings.Contains(title, "end_turn") {
		t.Errorf("the client's own question got %s", title)
	}
	if status, text := post(t, m, true, tools, two); status != http.StatusTooManyRequests {
		t.Errorf("a turn that is an error came with %d: %s", status, text)
	}
	if own, all := len(m.Requests()), len(m.All()); own != 3 || all != 4 {
		t.Errorf("%d requests of sessions of %d, want 3 of 4", own, all)
	}
	resp, err := http.Head(m.URL() + "/api/hello")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("HEAD /api/hello: %v %v", resp, err)
	}
}

// The full run installs the versions that the tests use.
func TestVersions(t *testing.T) {
	script, err := os.ReadFile("../../../.ci/full")
	testenv.Must(t, err)
	want := fmt.Sprintf("\nclaude_versions=(%s %s %s)\n", claudetest.Explicit, claudetest.Implicit, claudetest.Newest)
	if !strings.Contains(string(script), want) {
		t.Errorf(".ci/full has no line %q", want)
	}
}
