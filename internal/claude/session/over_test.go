package session_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
)

// TestOver: a session that runs, one whose hook waits and one that cannot be read are never over;
// the newest file decides the age of a session; Remove removes one session and no other.
func TestOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	future := time.Now().Add(time.Hour) // later than all that is written here
	over := func(before time.Time) []session.ID {
		t.Helper()
		ids, err := w.store.Over(before, w.live())
		testenv.Must(t, err)
		return slices.DeleteFunc(ids, func(id session.ID) bool { return id == "0" }) // makeState's
	}
	w.run(w.hook(), "SessionStart", `,"source":"startup"`)
	if got := over(future); len(got) > 0 {
		t.Errorf("%v runs and is over", got)
	}
	a := w.ask(w.hook(), bash("ls"))
	w.kill(sessionPID)
	a.end(t)
	if got := over(time.Now().Add(-time.Hour)); len(got) > 0 {
		t.Errorf("%v was written a moment ago and is over", got)
	}
	if got := over(future); !slices.Equal(got, []session.ID{w.id}) || !w.store.IsOver(w.id, future, w.live()) {
		t.Errorf("over are %v, want %s", got, w.id)
	}
	if err := w.store.Remove("../state"); err == nil {
		t.Error("a path is taken for a session")
	}
	testenv.Must(t, w.store.Remove(w.id))
	if _, err := os.Stat(w.store.Path(w.id)); err == nil {
		t.Error("its directory is left")
	}
	if _, err := os.Stat(w.store.Path("0")); err != nil {
		t.Errorf("another session went with it: %v", err)
	}

	// A hook without a registered session that waits.
	w.id = "other"
	w.ask(w.hook(700, 1), bash("ls"))
	if got := over(future); len(got) > 0 {
		t.Errorf("%v has a hook that waits and is over", got)
	}
}
