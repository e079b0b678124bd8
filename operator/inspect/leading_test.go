package inspect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"waggle/home"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
)

// TestLeaderOfBroken: the process that leads is shown by its own record where the leader's journal is broken.
func TestLeaderOfBroken(t *testing.T) {
	t.Parallel()
	op, r := operatortest.API(t)
	s := r.State()
	r.Enlist(s, "ann")
	led := operatortest.Process(t)
	path := filepath.Join(s.Dir.LeaderJournal(), "00000001.jsonl")
	b, err := os.ReadFile(path)
	if err == nil {
		b[bytes.IndexByte(b, '\n')+9] ^= 1
		err = os.WriteFile(path, b, 0o600)
	}
	if err == nil {
		err = s.Dir.NoteStarted(home.Started{Team: "api", Root: op.RootURL, Name: "team-lead", ID: led})
	}
	testenv.Must(t, err)
	st, err := inspect.Of(op).Status(t.Context(), "api")
	if err != nil || st.Broken == nil || !st.Leader.Led || st.Leader.PID != led.PID {
		t.Errorf("%+v, %v, want pid %d", st.Leader, err, led.PID)
	}
}
