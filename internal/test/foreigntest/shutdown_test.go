package foreigntest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// shutdownAnswer is how a document that has both says yes and no to a request to end.
type shutdownAnswer struct {
	document string
	yes, no  spelling
}

// shutdownAnswers lists them, from the table of spellings.
func shutdownAnswers() (list []shutdownAnswer) {
	for _, no := range flowOf("shutdown refused").said() {
		for _, yes := range flowOf("shutdown").said() {
			if yes.document == no.document {
				list = append(list, shutdownAnswer{yes.document, yes, no})
			}
		}
	}
	return list
}

func flowOf(name string) flow {
	return flows[slices.IndexFunc(flows, func(f flow) bool { return f.name == name })]
}

// answer writes a spelling for a request from a sender.
func (s *stage) answer(from, id string, p spelling) {
	s.t.Helper()
	s.puts(p.entry(from, `"ID"`, `"`+id+`"`))
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
			testenv.Must(s.t, foreign{s.them.team, name}.edit(name, func(es []entry) []entry {
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
	testenv.Must(s.t, r.err)
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
	testenv.Must(s.t, err)
	testenv.Must(s.t, json.Unmarshal(raw, &file))
	for _, m := range file.Members {
		var n struct{ Name string }
		testenv.Must(s.t, json.Unmarshal(m, &n))
		if n.Name == name {
			testenv.Must(s.t, json.Unmarshal(m, &e))
		}
	}
	return e
}

// leftAs checks that a member has left, for every program, and that the name is free.
func (s *stage) leftAs(name, how string) {
	s.t.Helper()
	st, err := s.op.Open(s.t.Context(), s.team, operator.Act)
	testenv.Must(s.t, err)
	if m, _ := st.Lead.Member(protocol.MemberName(name)); m.Left == nil || m.Left.How != how {
		s.t.Errorf("left: %+v", m.Left)
	}
	if e := s.entryOf(name); e.IsActive == nil || *e.IsActive || e.ShutdownAt == "" {
		s.t.Errorf("the registry has isActive %v, shutdownAt %q", e.IsActive, e.ShutdownAt)
	}
	added, _, err := mail.Of(s.op).Register(s.t.Context(), s.team, team.Member{Name: protocol.MemberName(name), JoinedAt: time.Now(), Subscriptions: []string{}}, false)
	if err != nil || string(added.Name) != name {
		s.t.Errorf("the name is not free: %v %v", added.Name, err)
	}
}

// TestShutdownIsAnswered: a member that another program runs answers its request to end in the spelling of each document.
// A yes ends the wait and the membership at once, whoever wrote the entry of the registry; a no keeps the member with
// its requests.
func TestShutdownIsAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range testenv.Rows(t, shutdownAnswers(), 3) {
		t.Run(c.document, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "worker")
			s.puts(flows[0].asks[0].entry("bob", `"ID"`, `"perm-1"`))
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
			st, err := s.op.Open(t.Context(), s.team, operator.Act)
			testenv.Must(t, err)
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
	s.answer("bob", asked, shutdownAnswers()[0].yes)
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
	testenv.Must(t, err)
	var file map[string]any
	testenv.Must(t, json.Unmarshal(raw, &file))
	file["members"] = append(file["members"].([]any), map[string]any{"agentId": "erin@api", "name": "erin", "agentType": "general-purpose", "model": "haiku",
		"prompt": "...", "color": "green", "tmuxPaneId": "%89", "backendType": "tmux", "isActive": true,
		"spawnedAt": time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")}) // its clock is ahead
	raw, err = json.MarshalIndent(file, "", "  ")
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(path, raw, 0o600))
	end := s.stops("erin", time.Hour, func(id string) { s.answer("erin", id, shutdownAnswers()[1].yes) }) // of 000, which names nobody
	if end.How != record.LeftHandshake || end.Kind() != operator.None {
		t.Errorf("%+v", end)
	}
	s.leftAs("erin", record.LeftHandshake)
	if _, err := process.Of(s.op).Stop(t.Context(), s.team, "nobody", process.StopOptions{}); err == nil {
		t.Error("an unknown name was stopped")
	}
	if _, err := process.Of(s.op).Stop(t.Context(), s.team, string(protocol.Lead), process.StopOptions{}); err == nil {
		t.Error("the lead was stopped")
	}
}
