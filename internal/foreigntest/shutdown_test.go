package foreigntest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle"
	"waggle/internal/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/record"
	"waggle/team"
)

// answers to a request to end in the spellings of the documents; ID is the request's id.
var shutdownAnswers = []struct {
	document string
	yes, no  entry
}{
	{"000", entry{Text: `{"type":"shutdown_approved","requestId":"ID","timestamp":"2026-11-22T16:00:00.000Z"}`},
		entry{Text: `{"type":"shutdown_rejected","requestId":"ID","timestamp":"2026-11-22T16:00:00.000Z"}`}},
	{"001", entry{Text: `{"type":"shutdown_approved","requestId":"ID","from":"bob","timestamp":"2026-11-22T16:00:00.000Z","paneId":"%88","backendType":"tmux"}`},
		entry{Text: `{"type":"shutdown_rejected","requestId":"ID","from":"bob","reason":"Still working","timestamp":"2026-11-22T16:00:00.000Z"}`}},
	{"002", entry{Text: `{"type":"shutdown_approved","requestId":"ID","paneId":"%88","backendType":"tmux"}`},
		entry{Text: `{"type":"shutdown_rejected","requestId":"ID","reason":"Still working"}`}},
	{"002 in the envelope", entry{Text: "Goodbye.", Type: "shutdown_approved", Metadata: json.RawMessage(`{"request_id":"ID"}`)},
		entry{Text: "Still working", Type: "shutdown_rejected", Metadata: json.RawMessage(`{"request_id":"ID"}`)}},
	{"003", entry{Text: `{"type":"shutdown_response","request_id":"ID","approve":true}`},
		entry{Text: `{"type":"shutdown_response","request_id":"ID","approve":false,"reason":"Still working"}`}},
	{"004", entry{Text: `{"type":"shutdown_response","requestId":"ID","approved":true}`},
		entry{Text: `{"type":"shutdown_response","requestId":"ID","approved":false,"content":"Still working"}`}},
}

// answer writes an entry for a request from a sender.
func (s *stage) answer(from, id string, e entry) {
	s.t.Helper()
	e.From, e.Timestamp, e.Color = from, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "green"
	e.Text = strings.ReplaceAll(e.Text, "ID", id)
	e.Metadata = json.RawMessage(strings.ReplaceAll(string(e.Metadata), "ID", id))
	must(s.t, s.them.edit("team-lead", func(es []entry) []entry { return append(es, e) }))
}

// stops runs stop for a member, which does what then does when it is asked, given the request's id. The grace is long:
// an answer ends the wait, or the test does not end.
func (s *stage) stops(name string, grace time.Duration, then func(id string)) *process.MemberEnd {
	s.t.Helper()
	type result struct {
		end *process.MemberEnd
		err error
	}
	done := make(chan result, 1)
	go func() {
		end, err := process.Of(s.op).Stop(s.t.Context(), s.team, name, process.StopOptions{Grace: grace})
		done <- result{end, err}
	}()
	if then != nil {
		var id string
		testenv.Eventually(s.t, name+" is asked", func() bool {
			must(s.t, foreign{s.them.team, name}.edit(name, func(es []entry) []entry {
				for _, e := range es {
					if f := frameOf(e.Text); f.Type == "shutdown_request" {
						id = f.RequestID
					}
					if e.Type == "shutdown_request" { // of seed 002: the id is beside the words
						id = frameOf(string(e.Metadata)).Request_id
					}
				}
				return []entry{}
			}))
			return id != ""
		})
		then(id)
	}
	r := <-done
	must(s.t, r.err)
	return r.end
}

// entryOf is a member's entry in config.json, as any program reads it.
func (s *stage) entryOf(name string) (e struct {
	IsActive   *bool
	ShutdownAt string
}) {
	s.t.Helper()
	var file struct{ Members []json.RawMessage }
	raw, err := os.ReadFile(filepath.Join(s.them.team, "config.json"))
	must(s.t, err)
	must(s.t, json.Unmarshal(raw, &file))
	for _, m := range file.Members {
		var n struct{ Name string }
		must(s.t, json.Unmarshal(m, &n))
		if n.Name == name {
			must(s.t, json.Unmarshal(m, &e))
		}
	}
	return e
}

// leftAs checks that a member has left, for every program, and that the name is free.
func (s *stage) leftAs(name, how string) {
	s.t.Helper()
	st, err := s.op.State(s.t.Context(), s.team)
	must(s.t, err)
	if m, _ := st.Lead.Member(waggle.MemberName(name)); m.Left == nil || m.Left.How != how {
		s.t.Errorf("left: %+v", m.Left)
	}
	if e := s.entryOf(name); e.IsActive == nil || *e.IsActive || e.ShutdownAt == "" {
		s.t.Errorf("the registry has isActive %v, shutdownAt %q", e.IsActive, e.ShutdownAt)
	}
	added, _, err := mail.Of(s.op).Register(s.t.Context(), s.team, team.Member{Name: waggle.MemberName(name), JoinedAt: time.Now(), Subscriptions: []string{}}, false)
	if err != nil || string(added.Name) != name {
		s.t.Errorf("the name is not free: %v %v", added.Name, err)
	}
}

// TestShutdownIsAnswered: a member that another program runs answers its request to end in the spelling of each document.
// A yes ends the wait and the membership at once, whoever wrote the entry of the registry; a no keeps the member with
// its requests.
func TestShutdownIsAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range testenv.Rows(t, shutdownAnswers, 3) {
		t.Run(c.document, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "worker")
			s.says("bob", flows[0].ask("bob", "perm-1", "one"))
			no := s.stops("bob", time.Hour, func(id string) {
				s.answer("eve", id, c.yes)         // a stranger
				s.answer("bob", "another", c.yes)  // another request
				s.answer("eve", "another", c.no)   // both
				s.answer("bob", id, c.no)          // counts
				s.answer("bob", id, c.yes)         // too late
				s.answer("bob", "shutdown", c.yes) // no request
			})
			why := "Still working"
			if c.document == "000" {
				why = "it gave no reason"
			}
			if *no != (process.MemberEnd{Member: "bob", How: "stays", Step: "handshake", Rejected: why, Answered: true}) || no.Kind() != operator.Refused {
				t.Errorf("refused: %+v", no)
			}
			st, err := s.op.State(t.Context(), s.team)
			must(t, err)
			if m, _ := st.Lead.Member("bob"); m.Left != nil || len(st.Lead.Pending()) != 1 {
				t.Errorf("left: %+v, open: %d", m.Left, len(st.Lead.Pending()))
			}
			if e := s.entryOf("bob"); e.IsActive == nil || !*e.IsActive || e.ShutdownAt != "" {
				t.Errorf("the registry has isActive %v, shutdownAt %q", e.IsActive, e.ShutdownAt)
			}
			yes := s.stops("bob", time.Hour, func(id string) {
				s.answer("bob", id, c.yes)
				s.answer("bob", id, c.yes) // again
				s.answer("bob", id, c.no)  // too late
			})
			if *yes != (process.MemberEnd{Member: "bob", How: record.LeftHandshake, Step: "handshake", Answered: true}) || yes.Kind() != operator.None {
				t.Errorf("agreed: %+v", yes)
			}
			s.leftAs("bob", record.LeftHandshake)
		})
	}
}

// TestShutdownIsNotAnswered: silence lasts for the grace, and lets the member go. An answer that comes later has no effect
// on who has the name then.
func TestShutdownIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	var asked string
	end := s.stops("bob", 300*time.Millisecond, func(id string) { asked = id })
	if *end != (process.MemberEnd{Member: "bob", How: record.LeftReleased, Step: "gone"}) || end.Kind() != operator.Timeout {
		t.Errorf("silent: %+v", end)
	}
	s.leftAs("bob", record.LeftReleased)
	s.answer("bob", asked, shutdownAnswers[1].yes)
	if s.effects(); s.entryOf("bob").ShutdownAt != "" {
		t.Error("the next of that name was let go")
	}
}

// TestShutdownOfAnEntry: stop asks a member that another program wrote into the registry, and hears its answer.
func TestShutdownOfAnEntry(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	path := filepath.Join(s.them.team, "config.json")
	raw, err := os.ReadFile(path)
	must(t, err)
	var file map[string]any
	must(t, json.Unmarshal(raw, &file))
	file["members"] = append(file["members"].([]any), map[string]any{"agentId": "erin@api", "name": "erin", "agentType": "general-purpose", "model": "haiku",
		"prompt": "...", "color": "green", "tmuxPaneId": "%89", "backendType": "tmux", "isActive": true,
		"spawnedAt": time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")}) // its clock is ahead
	raw, err = json.MarshalIndent(file, "", "  ")
	must(t, err)
	must(t, os.WriteFile(path, raw, 0o600))
	end := s.stops("erin", time.Hour, func(id string) { s.answer("erin", id, shutdownAnswers[0].yes) })
	if end.How != record.LeftHandshake || end.Kind() != operator.None {
		t.Errorf("%+v", end)
	}
	s.leftAs("erin", record.LeftHandshake)
	if _, err := process.Of(s.op).Stop(t.Context(), s.team, "nobody", process.StopOptions{}); err == nil {
		t.Error("an unknown name was stopped")
	}
	if _, err := process.Of(s.op).Stop(t.Context(), s.team, string(waggle.Lead), process.StopOptions{}); err == nil {
		t.Error("the lead was stopped")
	}
}
