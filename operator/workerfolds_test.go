package operator_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
)

// TestWorkerFolds: a kept fold has the records that came since it was read, and a journal that is broken meanwhile is
// an error.
func TestWorkerFolds(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	c := operatortest.NewCrowd(t, op, "api", 2, 40)
	op.Folds = &operator.WorkerFolds{}
	i := c.Instance("m0")
	read := func() (calls int, err error) {
		s, err := op.Open(t.Context(), "api", operator.Act)
		testenv.Must(t, err)
		w, err := s.Worker(i)
		return len(w.Calls), err
	}
	before, err := read()
	if err != nil || before == 0 {
		t.Fatal(before, err)
	}
	c.Asks(0, "make")
	c.Asks(1, "make")
	if now, err := read(); err != nil || now != before+1 {
		t.Errorf("%d calls, %v, want %d", now, err, before+1)
	}
	segments, err := filepath.Glob(filepath.Join(c.State().Dir.JournalOf(string(i)), "*.jsonl"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	whole, err := os.ReadFile(segments[0])
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(segments[0], []byte("{}\n"), 0o600))
	if _, err := read(); err == nil {
		t.Error("a broken journal was read")
	}
	testenv.Must(t, os.WriteFile(segments[0], whole, 0o600))
	if now, err := read(); err != nil || now != before+1 {
		t.Errorf("after it was put back: %d calls, %v, want %d", now, err, before+1)
	}
}
