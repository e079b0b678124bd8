package spawn

import "testing"

// A command that runs below another one is found by both.
func TestMarksNest(t *testing.T) {
	t.Parallel()
	outer, inner := newMark(), newMark()
	if outer == inner {
		t.Fatalf("two runs are called %s", outer)
	}
	env := withMark(withMark([]string{"A=1"}, outer), inner)
	for mark, want := range map[string]bool{outer: true, inner: true, newMark(): false, "": false} {
		if got := hasMark(env, mark); got != want {
			t.Errorf("mark %q in %q: %v", mark, env, got)
		}
	}
	if hasMark([]string{"A=" + outer}, outer) || hasMark(nil, outer) {
		t.Error("a mark where there is none")
	}
}
