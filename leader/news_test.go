package leader_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/control"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// session is a lead's session as far as status goes: after every pass it is woken
// with what is new, when anything is.
type session struct {
	r     *rig
	mu    sync.Mutex
	told  journal.Seq
	wakes [][]string
	at    []time.Time
}

// lead runs passes in a bubble, twice a second, until ctx ends.
func (s *session) lead(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.r.l.Pass(ctx); err != nil && ctx.Err() == nil {
			s.r.t.Errorf("pass: %v", err)
		}
		s.r.l.View(func(l *control.Leader) {
			news := l.NewsAfter(s.told)
			s.told = max(s.told, l.Head())
			if len(news) == 0 {
				return
			}
			var wake []string
			for _, n := range news {
				wake = append(wake, string(n.Member)+" "+string(n.What))
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.wakes, s.at = append(s.wakes, wake), append(s.at, time.Now())
		})
		time.Sleep(500 * time.Millisecond) // the bubble's clock
	}
}

func (s *session) take() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.wakes
	s.wakes, s.at = nil, nil
	return w
}

// crowd runs fn with a leader in a bubble and members who work beside each other.
func crowd(t *testing.T, n int, fn func(r *rig, s *session, names []protocol.MemberName)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var names []protocol.MemberName
		for i := range n {
			names = append(names, protocol.MemberName(fmt.Sprintf("w%d", i+1)))
		}
		r := newRig(t, names...)
		s := &session{r: r}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.lead(ctx) })
		fn(r, s, names)
		cancel()
		wg.Wait()
	})
}

// TestNoNews: 8 members end 5 turns each without orders: the lead gets one turn at most, because
// all are idle.
func TestNoNews(t *testing.T) {
	crowd(t, 8, func(r *rig, s *session, names []protocol.MemberName) {
		var wg sync.WaitGroup
		for i, n := range names {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(i), 1))
				for turn := range 5 {
					time.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond) // the bubble's clock
					r.says(n, protocol.TaskProgress{RequestID: "1", Timestamp: protocol.FormatTime(r.now),
						Progress: protocol.Progress{Phase: "implementing", Message: fmt.Sprint(turn)}}, record.Said{ID: "1"})
					r.says(n, protocol.IdleNotification{From: string(n), Timestamp: protocol.FormatTime(r.now), IdleReason: "available",
						Result: fmt.Sprintf("thanks %d", turn)}, record.Said{})
				}
			})
		}
		wg.Wait()
		time.Sleep(10 * time.Second) // the bubble's clock
		if got := s.take(); len(got) > 1 {
			r.t.Errorf("woken %d times: %q", len(got), got)
		}
		// A failure among them begins a turn at once, and nothing else does.
		before := time.Now()
		for _, n := range names {
			said := record.Said{Failed: n == "w3", Note: "out of luck"}
			r.says(n, protocol.IdleNotification{From: string(n), Timestamp: protocol.FormatTime(r.now), IdleReason: "available"}, said)
		}
		time.Sleep(10 * time.Second) // the bubble's clock
		s.mu.Lock()
		late := len(s.at) > 0 && s.at[0].Sub(before) > 2*time.Second
		s.mu.Unlock()
		if diff := cmp.Diff([][]string{{"w3 failed"}}, s.take()); diff != "" || late {
			r.t.Errorf("late %v, wakes (-want +got):\n%s", late, diff)
		}
	})
}

// TestNews: the lead gets a turn for the first idle after its orders, for a result, and when all
// are idle; events that arrive together are one turn.
func TestNews(t *testing.T) {
	crowd(t, 2, func(r *rig, s *session, names []protocol.MemberName) {
		time.Sleep(250 * time.Millisecond) // the bubble's clock: between two passes, here and from here on
		r.idle("w1", "")
		r.idle("w2", "")
		time.Sleep(2 * time.Second) // the bubble's clock
		if diff := cmp.Diff([][]string{{" all idle"}}, s.take()); diff != "" {
			r.t.Errorf("at the start (-want +got):\n%s", diff)
		}
		r.assign("w1", "1")
		r.assign("w2", "2")
		time.Sleep(2 * time.Second) // the bubble's clock
		r.take("w1")
		r.take("w2")
		r.says("w1", protocol.TaskCompleted{From: "w1", TaskID: "1", Timestamp: protocol.FormatTime(r.now)}, record.Said{Task: "1", Note: "done"})
		r.idle("w1", "1")
		time.Sleep(2 * time.Second) // the bubble's clock
		r.idle("w1", "")            // and again, without anything new
		time.Sleep(2 * time.Second) // the bubble's clock
		if diff := cmp.Diff([][]string{{"w1 result"}}, s.take()); diff != "" {
			r.t.Errorf("a result (-want +got):\n%s", diff)
		}
		r.idle("w2", "2")
		time.Sleep(2 * time.Second) // the bubble's clock
		if diff := cmp.Diff([][]string{{"w2 idle", " all idle"}}, s.take()); diff != "" {
			r.t.Errorf("the last idle (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute) // the bubble's clock
		if got := s.take(); len(got) > 0 {
			r.t.Errorf("woken for nothing: %q", got)
		}
	})
}
