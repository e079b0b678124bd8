//go:build unix

package claudemembertest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"waggle/internal/test/claudetest"
)

const leadTeam = `team: crew
lead: bob
decide: {tool: leader}
sandbox: {mode: off}
policy: {allow: ["Bash(mkdir two)"]}
lead_policy: {allow: ["Bash(mkdir:*)"]}
members:
  - {name: bob, agent: claude}
  - {name: ann, agent: exec}
`

// leadTools finds the server with the lead's tools in the system prompt.
var leadTools = regexp.MustCompile(`mcp__waggle-[0-9]+__`)

// TestLead: the client of the agent behind the lead uses its own tools without a question: it answers
// a request of a member, starts one, assigns a task and stops a member. It allows nothing that it
// could not do itself without asking.
func TestLead(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) { leads(t, version, func(*world) {}) })
}

// leads plays TestLead, with what before does to the team file.
func leads(t *testing.T, version string, before func(*world)) {
	var mu sync.Mutex
	var results []string
	step := 0
	next := func(r claudetest.Request) claudetest.Turn {
		mu.Lock()
		defer mu.Unlock()
		server := leadTools.FindString(r.System)
		if server == "" { // the member that the lead starts
			return claudetest.Say("I am here")
		}
		if step == 0 && !strings.Contains(r.Said(), "waits for your answer") {
			return claudetest.Say("nothing to do")
		}
		for _, b := range r.Results() {
			results = append(results, b.Text)
		}
		var open struct {
			Requests []struct {
				ID, Digest string
				Input      json.RawMessage
			}
		}
		if len(results) > 0 {
			_ = json.Unmarshal([]byte(results[0]), &open)
		}
		answer := func(words string) claudetest.Turn {
			for _, q := range open.Requests {
				if strings.Contains(string(q.Input), words) {
					return claudetest.Call(server+"answer_request", map[string]any{"id": q.ID, "digest": q.Digest, "allow": true})
				}
			}
			return claudetest.Say("there is no request with " + words)
		}
		if strings.Contains(r.Said(), "helper completed") {
			return claudetest.Call(server+"stop_member", map[string]any{"member": "helper"})
		}
		step++
		switch step {
		case 1:
			return claudetest.Call(server+"list_requests", map[string]any{})
		case 2:
			return answer("mkdir one")
		case 3:
			return claudetest.Call(server+"spawn_member", map[string]any{"name": "helper", "prompt": "be there"})
		case 4:
			return claudetest.Call(server+"assign_task", map[string]any{"task": "2", "member": "ann"})
		}
		return claudetest.Say("done")
	}
	w := newWorld(t, version, next, "")
	w.H.WriteFile(filepath.Join(w.H.Work, "team.yaml"), leadTeam, 0o600)
	before(w)
	w.raise()
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Logf("the model reads %q", results)
		}
	})
	w.ready("ann")
	w.OK("task", "add", "one", "--team", "crew", "--owner", "ann", "--instructions", "mkdir one")
	w.OK("task", "add", "two", "--team", "crew", "--instructions", "mkdir two")
	w.until("the tasks are completed", func() bool {
		return strings.Count(w.OK("task", "list", "--team", "crew", "--json"), `"status": "completed"`) == 3
	})
	w.until("the member that the lead started has been stopped", func() bool {
		mu.Lock()
		asked := slices.Contains(results, `{"asked":true}`) // a client on a busy machine may send a request to the model twice
		mu.Unlock()
		return asked && !strings.Contains(w.OK("status", "--team", "crew", "--json"), `"helper"`)
	})
	decided := w.OK("log", "--team", "crew", "--kind", "decided", "--json")
	if !strings.Contains(decided, `"leader"`) || strings.Contains(decided, `"operator"`) {
		t.Errorf("decided: %s", decided)
	}
	if asked := w.OK("log", "team-lead", "--team", "crew", "--kind", "asked", "--json"); strings.Contains(asked, "mcp__") {
		t.Errorf("asked: %s", asked)
	}
	w.gone()
}
