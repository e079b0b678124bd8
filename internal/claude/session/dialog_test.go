package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// registry is the client's own registry of sessions, with the one session of the world.
type registry struct {
	t     *testing.T
	w     *world
	dir   string
	ticks *atomic.Int64 // of the hook that asks
}

func newRegistry(t *testing.T, w *world) registry {
	return registry{t, w, t.TempDir(), new(atomic.Int64)}
}

// says writes the session's entry in the registry; key is the field of the time, which is another in
// 2.1.150.
func (r registry) says(id session.ID, status, key string, at time.Time) {
	r.t.Helper()
	path := filepath.Join(r.dir, fmt.Sprintf("%d.json", sessionPID))
	entry := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"kind":"interactive","status":%q,%q:%d}`, sessionPID, id, status, key, at.UnixMilli())
	if err := os.WriteFile(path, []byte(entry), 0o600); err != nil { // in place, as the client does
		r.t.Fatal(err)
	}
}

func (r registry) ask() *asking {
	h := r.w.hook()
	h.Registry = r.dir
	check := h.Live.Check
	h.Live.Check = func(id spawn.Identity) (bool, error) { r.ticks.Add(1); return check(id) }
	r.w.run(r.w.hook(), "PreToolUse", bash("sleep 60")+`,"tool_use_id":"toolu_1"`)
	return r.w.ask(h, bash("sleep 60"))
}

// looked waits until the hook has looked once more at the registry, whole: it does so between two ticks.
func (r registry) looked() {
	r.t.Helper()
	n := r.ticks.Load()
	testenv.Eventually(r.t, "the hook looks at the registry", func() bool { return r.ticks.Load() >= n+2 })
}

// turns makes the session wait for its person and stop waiting, until the hook has seen both.
func (r registry) turns(a *asking, key, after string) {
	r.t.Helper()
	for range 100 {
		for _, status := range []string{"waiting", after} {
			r.says(r.w.id, status, key, time.Now())
			select {
			case <-a.done:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
		select {
		case <-a.done:
			return
		case <-time.After(2 * time.Second):
		}
	}
}

// TestDialogGone: a request is closed as answered in the client if its session waited for its person
// after the request and waits no more, although no hook reports it: the call runs for long, or it was
// denied and the client runs no hook then (2.1.150).
func TestDialogGone(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"statusUpdatedAt", "updatedAt"} {
		for _, after := range []string{"busy", "idle"} {
			t.Run(key+" "+after, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				r := newRegistry(t, w)
				r.says(w.id, "waiting", key, time.Now().Add(-time.Minute)) // the client may say so before its hook asks
				a := r.ask()
				r.turns(a, key, after)
				if out := a.end(t); out != "" {
					t.Errorf("the hook printed %q", out)
				}
				q := w.last()
				if q.State != session.StateClosed || !q.Closed.InDialog || !q.Closed.Unsaid {
					t.Fatalf("%s, %+v", q.State, q.Closed)
				}
				if _, err := w.decide(verdict(q, true)); err == nil {
					t.Error("a late answer was taken")
				}
				w.run(w.hook(), "PostToolUse", bash("sleep 60")+`,"tool_use_id":"toolu_2"`)
				if q = w.last(); !q.Closed.Unsaid {
					t.Errorf("another call says what it was: %+v", q.Closed)
				}
				end := q.EndAt
				w.run(w.hook(), "PostToolUse", bash("sleep 60")+`,"tool_use_id":"toolu_1"`)
				if q = w.last(); q.Closed.Unsaid || q.Closed.Evidence != "it was allowed in the session's own dialog, and ran" || !q.EndAt.Equal(end) {
					t.Errorf("after it ran: %+v", q.Closed)
				}
			})
		}
	}
}

// TestDialogStands: no other change in the registry closes a request.
func TestDialogStands(t *testing.T) {
	t.Parallel()
	later := func() time.Time { return time.Now().Add(time.Second) } // than the ask
	for name, says := range map[string]func(registry, session.ID){
		"the dialog of the call before is gone": func(r registry, id session.ID) {
			r.says(id, "waiting", "updatedAt", time.Now().Add(-time.Minute))
			r.looked()
			r.says(id, "busy", "updatedAt", time.Now().Add(-time.Second))
		},
		"idle of before":                  func(r registry, id session.ID) { r.says(id, "idle", "updatedAt", time.Now().Add(-time.Minute)) },
		"busy that never waited":          func(r registry, id session.ID) { r.says(id, "busy", "updatedAt", later()) },
		"another session in the process":  func(r registry, _ session.ID) { r.says("other", "idle", "updatedAt", later()) },
		"a status that is not known here": func(r registry, id session.ID) { r.says(id, "shelling", "updatedAt", later()) },
		"busy for a moment between two dialogs": func(r registry, id session.ID) {
			r.says(id, "waiting", "updatedAt", time.Now())
			r.looked()
			r.says(id, "busy", "updatedAt", time.Now())
			r.looked()
			r.says(id, "waiting", "updatedAt", time.Now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			// The store's clock stands while the registry changes, so no change takes long; then an hour passes.
			began := time.Now()
			var passed atomic.Int64
			w.store.Now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
			r := newRegistry(t, w)
			a := r.ask()
			says(r, w.id)
			r.looked()
			passed.Store(int64(time.Hour))
			select {
			case <-a.done:
				t.Errorf("the hook ended: %+v", w.last().Closed)
			case <-time.After(time.Second): // real clock: the hook looks often meanwhile
			}
			if q := w.last(); q.State != session.StateOpen {
				t.Errorf("%s, %+v", q.State, q.Closed)
			}
		})
	}
}
