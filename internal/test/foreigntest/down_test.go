package foreigntest_test

import (
	"os"
	"path/filepath"
	"strings"
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

// TestDownAsksEverybodyAtOnce: the end of a team asks every member that waggle does not run in one grace,
// those too that another program wrote into the registry, and names those that did not answer.
func TestDownAsksEverybodyAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	for _, name := range []protocol.MemberName{"carol", "dave"} {
		_, _, err := mail.Of(s.op).Register(t.Context(), s.team, team.Member{Name: name, AgentType: "general-purpose", JoinedAt: time.Now(), Subscriptions: []string{}}, false)
		testenv.Must(t, err)
	}
	reg, err := team.Open(s.op.Root, s.team, team.Options{})
	testenv.Must(t, err)
	_, _, err = reg.Add(t.Context(), team.Member{Name: "erin", AgentType: "general-purpose"}, false) // as an editor of the file does
	testenv.Must(t, err)
	const grace = 3 * time.Second
	stop := make(chan struct{})
	answered := make(chan struct{})
	asked := func(name string) bool {
		b, err := os.ReadFile(filepath.Join(s.them.team, "inboxes", name+".json"))
		return err == nil && strings.Contains(string(b), "shutdown_request")
	}
	// bob and erin agree when they are asked and the others are asked too; dave refuses, carol says nothing. If one
	// were asked after the grace of another, they would answer too late.
	go func() {
		defer close(answered)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if !asked("carol") {
				continue
			}
			for name, answer := range map[string]string{"bob": `"type":"shutdown_approved"`, "erin": `"type":"shutdown_approved"`, "dave": `"type":"shutdown_rejected","reason":"busy"`} {
				texts, err := foreign{s.them.team, name}.take()
				if err != nil {
					continue // the team is gone
				}
				for _, text := range texts {
					if f := frameOf(text); f.Type == "shutdown_request" {
						_ = s.them.write("team-lead", name, `{`+answer+`,"requestId":"`+f.RequestID+`","from":"`+name+`","timestamp":"2026-11-22T16:00:00.000Z"}`)
					}
				}
			}
		}
	}()
	began := time.Now()
	ended, err := process.Of(s.op).Down(t.Context(), s.team, process.StopOptions{Grace: grace})
	took := time.Since(began)
	close(stop)
	<-answered
	testenv.Must(t, err)
	testenv.Within(t, "the end of four members", took, 2*grace)
	got := map[string]process.MemberEnd{}
	for _, e := range ended.Members {
		got[e.Member] = e
	}
	for name, want := range map[string]process.MemberEnd{
		"bob":   {How: record.LeftHandshake, Step: "handshake", Answered: true},
		"carol": {How: record.LeftReleased, Step: "gone"},
		"dave":  {How: record.LeftReleased, Step: "gone", Rejected: "busy", Answered: true},
		"erin":  {How: record.LeftHandshake, Step: "handshake", Answered: true},
	} {
		if want.Member = name; got[name] != want {
			t.Errorf("%s ended as %+v, want %+v", name, got[name], want)
		}
	}
	if ended.Kind() != operator.Refused {
		t.Errorf("the end is %s", ended.Kind())
	}
}
