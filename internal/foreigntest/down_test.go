package foreigntest_test

import (
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

// TestDownAsksEverybodyAtOnce: the end of a team asks every registered member in one grace, names the
// members that did not answer, and lists those that are only in the registry, which does not make it
// fail.
func TestDownAsksEverybodyAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	for _, name := range []waggle.MemberName{"carol", "dave"} {
		_, _, err := mail.Of(s.op).Register(t.Context(), s.team, team.Member{Name: name, AgentType: "general-purpose", JoinedAt: time.Now(), Subscriptions: []string{}}, false)
		must(t, err)
	}
	reg, err := team.Open(s.op.Root, s.team, team.Options{})
	must(t, err)
	_, _, err = reg.Add(t.Context(), team.Member{Name: "erin", AgentType: "general-purpose"}, false) // as an editor of the file does
	must(t, err)
	const grace = 3 * time.Second
	stop := make(chan struct{})
	answered := make(chan struct{})
	asked := func(name string) bool {
		b, err := os.ReadFile(filepath.Join(s.them.team, "inboxes", name+".json"))
		return err == nil && strings.Contains(string(b), "shutdown_request")
	}
	// bob agrees when he is asked and the others are asked too; carol and dave say nothing. If one were asked
	// after the grace of another, bob would answer too late.
	go func() {
		defer close(answered)
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if !asked("carol") || !asked("dave") {
				continue
			}
			texts, err := s.them.take()
			if err != nil {
				continue // the team is gone
			}
			for _, text := range texts {
				if f := frameOf(text); f.Type == "shutdown_request" {
					_ = s.them.write("team-lead", "bob", `{"type":"shutdown_approved","requestId":"`+f.RequestID+`","from":"bob","timestamp":"2026-11-22T16:00:00.000Z"}`)
				}
			}
		}
	}()
	began := time.Now()
	ended, err := process.Of(s.op).Down(t.Context(), s.team, process.StopOptions{Grace: grace})
	took := time.Since(began)
	close(stop)
	<-answered
	must(t, err)
	testenv.Within(t, "the end of four members", took, 2*grace)
	got := map[string]process.MemberEnd{}
	for _, e := range ended.Members {
		got[e.Member] = e
	}
	for name, want := range map[string]string{"bob": record.LeftHandshake, "carol": record.LeftReleased, "dave": record.LeftReleased, "erin": "listed"} {
		if got[name].How != want || got[name].Kind() != operator.None {
			t.Errorf("%s ended as %+v, want %s", name, got[name], want)
		}
	}
	if !got["bob"].Answered || got["carol"].Answered || got["dave"].Answered || got["erin"].Answered {
		t.Errorf("who answered: %+v", got)
	}
}
