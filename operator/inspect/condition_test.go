package inspect_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/inspect"
	"waggle/task"
)

// TestConditions: each state of health.go has a condition, and docs/design/members.md has it in its row.
func TestConditions(t *testing.T) {
	code, err := os.ReadFile("health.go")
	testenv.Must(t, err)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "design", "members.md"))
	testenv.Must(t, err)
	states := regexp.MustCompile(`MemberState = "(.*)"`).FindAllStringSubmatch(string(code), -1)
	if len(states) < 15 {
		t.Fatalf("%d states", len(states))
	}
	for _, s := range states {
		is, ok := inspect.Conditions[inspect.MemberState(s[1])]
		if !ok {
			t.Errorf("%s has no condition", s[1])
		}
		row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(string(is)) + "` \\|.*`" + regexp.QuoteMeta(s[1]) + "`")
		if !row.Match(page) {
			t.Errorf("docs/design/members.md has no row with %s and %s", is, s[1])
		}
	}
}

// TestStates: each condition of a member comes once and in order, to who reads on and to who begins then.
func TestStates(t *testing.T) {
	t.Parallel()
	op, r := operatortest.API(t)
	open := func() *inspect.States {
		return testenv.Value(inspect.Of(op).States(t.Context(), "api"))(t)
	}
	next := func(s *inspect.States) (words []string) {
		cs := testenv.Value(s.Next(t.Context()))(t)
		for _, c := range cs {
			if c.Time.IsZero() || c.Why == "" || c.Team != "api" {
				t.Errorf("%+v", c)
			}
			words = append(words, string(c.From)+">"+string(c.Is))
		}
		return words
	}
	is := func(what string, got []string, want string) {
		t.Helper()
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", what, g, want)
		}
	}
	s := open()
	is("at first", next(s), "")
	is("again", next(s), "")
	r.Asks("bob", operatortest.Bash("make x"))
	q := r.Pending(1)[0]
	is("bob asks", next(open()), ">needs-you")
	got := next(s)
	is("bob has joined, worked and asked", got[max(0, len(got)-1):], "working>needs-you")
	is("and again", next(s), "")
	for _, c := range s.Now() {
		if c.Member == "bob" && c.Handle != q.Handle {
			t.Errorf("%+v, want %s", c, q.Handle)
		}
	}
	if _, err := inspect.Of(op).States(t.Context(), "apy"); err == nil {
		t.Error("a team that is none has conditions")
	}
	if s.Over() || len(s.Dirs()) < 3 {
		t.Errorf("%v %v", s.Over(), s.Dirs())
	}
}

// TestNext: the next command for a member that does not go on by itself, and none for one that works or is free.
func TestNext(t *testing.T) {
	for _, c := range []struct {
		state inspect.MemberState
		is    inspect.Condition
		want  operator.Step
	}{
		{inspect.StateBlocked, inspect.ConditionBlocked, operator.NextPeekResume}, {inspect.StateFailed, inspect.ConditionFailed, operator.NextWhy},
		{inspect.StateStalled, inspect.ConditionFailed, operator.NextWhy}, {inspect.StateUnknown, inspect.ConditionUnknown, operator.NextWhy},
		{inspect.StateWorking, inspect.ConditionWorking, ""}, {inspect.StateIdle, inspect.ConditionReady, ""}, {inspect.StateQueued, inspect.ConditionWaits, ""},
	} {
		got := inspect.MemberStatus{Name: "ann", State: c.state, Stand: inspect.Stand{Is: c.is}}.Next("api")
		if got.Step != c.want || c.want != "" && (got.Member != "ann" || got.Team != "api") {
			t.Errorf("%s: %+v, want %s", c.state, got, c.want)
		}
	}
}

// TestCulprit: a blocked task names the failed one and its owner, also where tasks wait for each other in a circle.
func TestCulprit(t *testing.T) {
	tasks := []task.Task{{ID: "1", Owner: "ann", Status: task.Pending, BlockedBy: []task.ID{"2", "3"}}, {ID: "2", Owner: "bob", Status: task.Pending, BlockedBy: []task.ID{"1"}},
		{ID: "3", Owner: "cid", Status: task.Pending}, {ID: "4", Status: task.Pending, BlockedBy: []task.ID{"2"}}}
	states := map[task.ID]board.TaskState{"1": board.StateBlocked, "2": board.StateBlocked, "3": board.StateFailed, "4": board.StateBlocked}
	for _, i := range []int{0, 1, 3} {
		if got := inspect.Culprit(tasks[i], tasks, states); got != "cid/3" {
			t.Errorf("task %s: %s", tasks[i].ID, got)
		}
	}
	if tasks[2].Owner = ""; inspect.Culprit(tasks[0], tasks, states) != "task 3" {
		t.Error("a task of nobody")
	}
	states["3"] = board.StatePending
	if got := inspect.Culprit(tasks[0], tasks, states); got != "a task" {
		t.Error(got)
	}
}
