//go:build unix

package cli_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
	"waggle/protocol"
	"waggle/record"
)

// frozenRoot is the URL that the frozen journals name (testdata/frozen/README.md).
const frozenRoot = "file:///tmp/waggle-frozen/root"

// thaw copies a frozen team, with the rights that its files had.
func thaw(t *testing.T, of, to string) {
	t.Helper()
	err := filepath.WalkDir(of, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(of, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	testenv.Must(t, err)
}

// TestFrozen resumes a team that an older program left, whose requests are bound by an
// older sum, verifies it and ends it (trust §2). No call that was allowed then runs now
// without being asked again; a denied call stays denied.
func TestFrozen(t *testing.T) {
	t.Parallel()
	op := newOperator(t)
	base := filepath.Dir(op.Root.Path)
	thaw(t, filepath.Join("testdata", "frozen", "001"), base)
	op.RootURL = frozenRoot
	dirs, err := op.Home.Find(frozenRoot, "frozen")
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	for _, d := range []string{"processes", "archive"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(dirs[0].Path, d), 0o700))
	}
	began, frozen := time.Now(), time.Date(2026, 11, 22, 9, 20, 0, 0, time.UTC)
	op.Minter.Now = func() time.Time { return frozen.Add(time.Since(began)) } // its grants can still be used
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	s, plan, err := supervise.Of(op).PlanResume(ctx, "frozen")
	if err != nil || plan.Starts() != 4 || len(plan.Pending) != 1 || len(plan.Unknown) != 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	verified := func(when string) {
		t.Helper()
		v, err := inspect.Of(op).Verify(ctx, "frozen")
		if err != nil || !v.OK {
			t.Fatalf("%s: %+v, %v", when, v, err)
		}
	}
	verified("as it was left")
	before := map[protocol.MemberName]record.Key{}
	for _, r := range s.Lead.Requests {
		m, _ := s.Lead.ByInstance(r.Instance)
		if r.Ask.Sum() != 1 {
			t.Fatalf("%s was asked with the sum %d", m.Name, r.Ask.Sum())
		}
		before[m.Name] = r.Key
	}
	if len(before) != 4 {
		t.Fatalf("%d requests", len(before))
	}

	led := make(chan error, 1)
	leading, end := context.WithCancel(ctx)
	defer end()
	go func() {
		how, err := supervise.Of(op).Keep(leading, s, nil, supervise.LeadOptions{Grace: time.Second})
		if err == nil && how != supervise.LedEnded {
			err = os.ErrInvalid
		}
		led <- err
	}()
	look := func() *operator.State {
		t.Helper()
		s, err := op.Open(ctx, "frozen", operator.Act)
		if err != nil {
			t.Fatalf("%v, %v", s, err)
		}
		return s
	}
	// worker is a member's journal as it is now.
	worker := func(name protocol.MemberName) *control.Worker {
		t.Helper()
		w, err := look().Worker(before[name].Instance)
		testenv.Must(t, err)
		return w
	}
	until := func(what string, cond func() bool) {
		t.Helper()
		testenv.Eventually(t, what, func() bool {
			select {
			case err := <-led:
				t.Fatalf("the leader has ended before %s: %v", what, err)
			default:
			}
			return cond()
		})
	}
	// again is what a member has tried anew: the rules of today let it print without a question.
	again := func(name protocol.MemberName) *control.Call {
		for _, c := range worker(name).Calls {
			if c.Key != before[name] {
				return c
			}
		}
		return nil
	}
	until("three have run anew and the old questions are closed", func() bool {
		l := look().Lead
		closed := 0
		for _, o := range before {
			if r, ok := l.Request(o); ok && r.State == machine.RequestClosed {
				closed++
			}
		}
		for _, name := range []protocol.MemberName{"open", "decided", "granted"} {
			if c := again(name); c == nil || c.Finished == nil {
				return false
			}
		}
		return closed == 4
	})
	l := look().Lead
	for name, want := range map[protocol.MemberName]struct {
		decision, evidence string
		again              bool
	}{
		"open":    {"", "superseded", true},
		"decided": {record.DecisionAllow, record.KindAnswered, true},
		"granted": {record.DecisionAllow, record.KindAnswered, true},
		"denied":  {record.DecisionDeny, record.KindAnswered, false},
	} {
		r, _ := l.Request(before[name])
		decision := ""
		if r.Decided != nil {
			decision = r.Decided.Decision
		}
		c, ok := worker(name).Call(r.Key)
		switch {
		case decision != want.decision || r.Closed != want.evidence:
			t.Errorf("%s: %q, closed by %q; want %q, %q", name, decision, r.Closed, want.decision, want.evidence)
		case !ok || c.Started || c.Open():
			t.Errorf("%s: what an older program asked is open or was started: %+v", name, c)
		case decision != "" && (c.Answer.Leader == 0 || c.Answer.Decision != decision):
			t.Errorf("%s: the decision did not reach it: %+v", name, c.Answer)
		case (again(name) != nil) != want.again:
			t.Errorf("%s: tried anew %v", name, again(name) != nil)
		case !want.again && len(worker(name).Calls) != 1:
			t.Errorf("%s: %d calls", name, len(worker(name).Calls))
		}
		if c := again(name); c != nil && (c.AskedSeq != 0 || c.Finished.Failed || !c.Ask.Held || c.Ask.Program == "" ||
			!slices.ContainsFunc(c.Ask.Env, func(kv string) bool { return strings.HasPrefix(kv, "WAGGLE_TASK_ID=") })) {
			t.Errorf("%s: it has run anew and was asked, failed or is not bound: %+v", name, c)
		}
	}
	if l.Divergence != nil {
		t.Errorf("the journals disagree: %+v", l.Divergence)
	}
	verified("resumed")

	end() // as Ctrl-C does
	testenv.Must(t, <-led)
	verified("ended")
	if _, err := op.Open(ctx, "frozen", operator.Act); !operator.Unled(err) {
		t.Errorf("it has not ended: %v", err)
	}
}
