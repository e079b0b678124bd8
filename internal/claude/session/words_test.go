package session_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/spawn"
)

// register writes the registry entry of a living process.
func register(t *testing.T, config string, pid int, name string) {
	t.Helper()
	id, err := spawn.Identify(pid)
	testenv.Must(t, err)
	dir := filepath.Join(config, "sessions")
	testenv.Must(t, os.MkdirAll(dir, 0o700))
	text := fmt.Sprintf(`{"pid":%d,"sessionId":"s-%d","cwd":"/w","procStart":%q,"version":"2.1.330","kind":"interactive","status":"idle","name":%q}`, pid, pid, id.Start, name)
	testenv.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(pid, ".json")), []byte(text), 0o600))
}

// NameOf gives a process the name of its own session, or of the session of an ancestor, unless the
// name could mean another session.
func TestNamesOf(t *testing.T) {
	t.Parallel()
	self, parent := os.Getpid(), os.Getppid()
	live := session.Looking(nil)
	for name, want := range map[string]string{
		"api-work":  "@api-work",
		"team-lead": fmt.Sprintf("@%d", self),
		"operator":  fmt.Sprintf("@%d", self),
		"two words": fmt.Sprintf("@%d", self),
		"12":        fmt.Sprintf("@%d", self),
	} {
		config := t.TempDir()
		register(t, config, self, name)
		if got := live.NameOf(config, self); got != want {
			t.Errorf("session %q: %q, want %q", name, got, want)
		}
		for _, other := range []int{0, -1, parent} {
			if got := live.NameOf(config, other); got != "" {
				t.Errorf("process %d, which is in no session: %q", other, got)
			}
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	config := t.TempDir()
	register(t, config, parent, "above")
	if got := live.NameOf(config, self); got != "@above" {
		t.Errorf("below a session: %q", got)
	}
	register(t, config, self, "above") // of one name: the nearest, by pid
	if got := live.NameOf(config, self); got != fmt.Sprintf("@%d", self) {
		t.Errorf("two of one name: %q", got)
	}
	live.Check = func(spawn.Identity) (bool, error) { return false, nil }
	if got := live.NameOf(config, self); got != "" {
		t.Errorf("a recycled pid: %q", got)
	}
	live = session.Looking(nil)
	live.Ancestors = func(int) ([]spawn.Identity, error) { return nil, errors.New("hidden") }
	if got := live.NameOf(config, self); got != fmt.Sprintf("@%d", self) {
		t.Errorf("what is above is hidden: %q", got)
	}
}

// A message to a session is recorded with its newest state, and a session without a hook does not get
// the row of one with a hook.
func TestSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, state := range []string{"queued", "written"} {
		testenv.Must(t, w.store.Say(t.Context(), journal.Writer{Operator: true}, w.id, session.Said{MsgID: "m1", SHA256: "aa", State: state}))
	}
	said, problems := w.store.Said(func(s session.SaidAt) bool { return s.MsgID == "m1" })
	if len(problems) > 0 || len(said) != 1 || said[0].State != "written" || said[0].Session != w.id {
		t.Errorf("%+v, %v", said, problems)
	}
	if v := w.store.List("", w.live()); len(v.Rows) != 0 || len(v.Problems) != 0 {
		t.Errorf("rows %+v, %v", v.Rows, v.Problems)
	}
	for before, want := range map[time.Duration]int{-time.Hour: 0, time.Hour: 1} {
		if gone, err := w.store.Over(time.Now().Add(before), w.live()); err != nil || len(gone) != want {
			t.Errorf("over before %v: %v, %v", before, gone, err)
		}
	}
}

// BeginSaying refuses more messages than a session takes, and then records nothing; later there is
// room again.
func TestSayingIsPaced(t *testing.T) {
	t.Parallel()
	now := time.Unix(1763800000, 0)
	store := session.Store{Dir: filepath.Join(t.TempDir(), "sessions"), Now: func() time.Time { return now }}
	n, row := 0, session.Row{ID: "s1", State: session.RowIdle}
	say := func() error {
		n++
		return store.BeginSaying(t.Context(), journal.Writer{Operator: true}, row, session.Said{MsgID: fmt.Sprint(n), State: "queued"})
	}
	many := func(want int) {
		t.Helper()
		got := 0
		var err error
		for err = say(); err == nil; err = say() {
			got++
		}
		var busy *session.BusyError
		if got != want || !errors.As(err, &busy) || busy.Wait <= 0 || busy.Wait > 2*time.Second {
			t.Fatalf("%d messages and then %v, want %d", got, err, want)
		}
	}
	many(25)
	now = now.Add(2 * time.Second)
	many(1)
	now = now.Add(20 * time.Second)
	many(10)
	now = now.Add(time.Hour)
	many(25)
	now = now.Add(2 * time.Second)
	testenv.Must(t, store.Say(t.Context(), journal.Writer{Operator: true}, "s1", session.Said{MsgID: fmt.Sprint(n - 1), State: "failed"}))
	many(2) // one did not reach it
	said, _ := store.Said(func(session.SaidAt) bool { return true })
	if len(said) != 25+1+10+25+2 {
		t.Errorf("%d on record", len(said))
	}
	// A busy session reads no message: the number of its unread messages is limited.
	now, row.State = now.Add(time.Hour), session.RowBusy
	for i := range 45 {
		now = now.Add(2 * time.Second)
		if err := say(); err != nil {
			t.Fatalf("message %d to a busy session: %v", i, err)
		}
	}
	now = now.Add(2 * time.Second)
	var busy *session.BusyError
	if err := say(); !errors.As(err, &busy) || busy.Wait != 0 {
		t.Errorf("message 46 to a busy session: %v", err)
	}
	row.State = session.RowIdle
	if err := say(); err != nil {
		t.Errorf("once it is idle: %v", err)
	}
}

func TestSaidIsNoHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := t.TempDir()
	register(t, config, os.Getpid(), "n")
	id := session.ID(fmt.Sprint("s-", os.Getpid()))
	testenv.Must(t, w.store.Say(t.Context(), journal.Writer{Operator: true}, id, session.Said{MsgID: "m1"}))
	v := w.store.List(config, session.Looking(nil))
	if len(v.Rows) != 1 || v.Rows[0].Hooked {
		t.Errorf("rows %+v", v.Rows)
	}
	for _, what := range []string{"n", string(id), fmt.Sprint(os.Getpid())} {
		if got := v.Called(what); len(got) != 1 || got[0].ID != id {
			t.Errorf("%s: %+v", what, got)
		}
	}
	if got := v.Called("N"); len(got) != 0 {
		t.Errorf("another name: %+v", got)
	}
}
