package foreigntest_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/operator/mail"
)

// told is the output of log, digest and msg about a team.
type told struct {
	records []string
	recap   *inspect.Recap
	sent    mail.StoredMessage
}

func (s *stage) tells(id string) told {
	s.t.Helper()
	var out told
	log, err := s.op.OpenLog(s.t.Context(), string(s.team))
	testenv.Must(s.t, err)
	recs, err := log.Next(s.t.Context())
	testenv.Must(s.t, err)
	for _, r := range recs {
		out.records = append(out.records, r.Name+" "+r.Kind)
	}
	out.recap, err = inspect.Of(s.op).Recap(s.t.Context(), string(s.team), time.Time{})
	testenv.Must(s.t, err)
	list, err := mail.Of(s.op).Messages(s.t.Context(), s.team, false)
	testenv.Must(s.t, err)
	for _, m := range list {
		if m.MsgID == id {
			out.sent = m
		}
	}
	shown, err := mail.Of(s.op).Message(s.t.Context(), s.team, id)
	testenv.Must(s.t, err)
	if len(shown) != 1 || shown[0].State != out.sent.State {
		s.t.Errorf("msg show has %+v, msg list %+v", shown, out.sent)
	}
	return out
}

// TestRecordOfASessionsTeam: log, digest and msg show the operator's acts in the team of a session:
// who was registered, what was sent, what a guest did and what its lead said; and the same when the
// session has ended and its team is gone.
func TestRecordOfASessionsTeam(t *testing.T) {
	t.Parallel()
	g := newGuest(t)
	g.says("team-lead", "please look at this")
	a := g.asked()
	g.says("team-lead", verdict(a.Request_id, a.Tool_use_id, `{}`))
	g.idle()
	g.stop()
	err := <-g.done
	g.done <- err
	id := g.sends("team-lead", "all quiet here")
	for _, gone := range []bool{false, true} {
		want, state := "other", mail.Written
		if gone {
			testenv.Must(t, os.Rename(g.them.team, g.them.team+".deleted-1"))
			testenv.Must(t, os.RemoveAll(g.them.team+".deleted-1"))
			want = "ended"
		}
		got := g.tells(id)
		for _, r := range []string{"operator joined", "operator said", "gopher asked", "gopher answered", "gopher finished", "gopher said"} {
			if !slices.Contains(got.records, r) {
				t.Errorf("gone %v: the log has no %q: %q", gone, r, got.records)
			}
		}
		d := got.recap
		if d.State != want || len(d.Results) != 1 || len(d.Decisions) != 1 || d.Decisions[0].Via != "file" || d.Decisions[0].Decision != "allow" {
			t.Errorf("gone %v: the digest is %+v", gone, d)
		}
		if !slices.ContainsFunc(d.Sent, func(m inspect.RecapSent) bool { return m.Text == "all quiet here" && m.From == "gopher" }) {
			t.Errorf("gone %v: the digest has sent %+v", gone, d.Sent)
		}
		if !slices.ContainsFunc(d.Members, func(m inspect.RecapMember) bool { return m.Member == "gopher" && strings.HasPrefix(m.What, "joined") }) {
			t.Errorf("gone %v: the digest has members %+v", gone, d.Members)
		}
		if got.sent.State != state || got.sent.To != "team-lead" {
			t.Errorf("gone %v: the words are %+v", gone, got.sent)
		}
	}
	known, err := g.op.Home.List()
	testenv.Must(t, err)
	if len(known) != 0 {
		t.Errorf("it counts as a team that waggle led: %+v", known)
	}
}
