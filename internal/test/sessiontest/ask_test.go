//go:build unix

package sessiontest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/record"
)

// soon is how long a request may stay in the list after its answer at home; only the full run asserts it.
const soon = 2 * time.Second

// Texts of the dialogs. An answered question stays on the screen with its answer.
const (
	dialog   = `Do you want to proceed\?`
	question = `(?m)^ *Which side\?$`
)

// Ten tool calls, a question and a plan, in every version side by side: half are
// answered in the session's own dialog, half from the list.
func TestTenAsks(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		const asks = 10
		side := claudetest.AskUserQuestion(claudetest.Question{Question: "Which side?", Header: "Side", Options: []string{"Left", "Right"}})
		var turns []claudetest.Turn
		for i := range asks - 1 {
			turns = append(turns, claudetest.Mark(fmt.Sprint("ask", i)))
		}
		// A call that runs for longer than a request may stay in the list.
		const long = 6
		turns[long] = claudetest.Bash("echo ran >>ask6 && sleep 5")
		turns = append(turns, side, side, claudetest.EnterPlanMode(), claudetest.WritePlan("# the plan\n\ndo it\n"), claudetest.ExitPlanMode(),
			claudetest.Mark("ask9"), claudetest.Say("stopped"), claudetest.Say("all done"))
		w := newWorld(t, version, claudetest.Script(turns...))
		s := w.H.Start("--permission-mode", "default", "please do it all")

		var home []time.Duration
		for i := range asks - 1 {
			name := fmt.Sprint("ask", i)
			r := w.asked(">>" + name)
			// The dialog stands beside the hook.
			s.WaitScreen(name + `\s(?s:.*)` + dialog)
			w.Ran(name, 0)
			switch {
			case i == asks-2:
				w.OK("deny", r.Handle, "-m", "not on a Sunday")
				if b := w.Result(i); !b.IsError || !strings.Contains(b.Text, "not on a Sunday") {
					t.Errorf("denied from the list: error %t, %s", b.IsError, b.Text)
				}
				w.Ran(name, 0)
				continue
			case i%2 == 0:
				s.Choose(name+`\s(?s:.*)`+dialog, "1")
				end := w.state(">>"+name, session.StateClosed).EndAt
				w.Result(i)
				home = append(home, end.Sub(w.modified(name)))
				if i == long {
					claudetest.Until(w.T, func() string { return "it is not said that the long call ran" }, func() bool {
						r, _ := w.find(">>" + name)
						return !r.Closed.Unsaid
					})
				}
				w.refused("own dialog", "deny", r.Handle, "-m", "late")
			default:
				if out := w.OK("approve", r.Handle); !strings.Contains(out, "allow, delivered") {
					t.Errorf("approve says %s", out)
				}
				w.Result(i)
				w.refused("decided before", "deny", r.Handle, "-m", "late")
			}
			w.Ran(name, 1)
		}

		// One question from the list, the same again at home.
		r := w.asked("Which side?")
		s.WaitScreen(question)
		w.refused("waggle answer", "approve", r.Handle)
		w.OK("answer", r.Handle, "2")
		if b := w.Result(asks - 1); !strings.Contains(b.Text, `"Which side?"="Right"`) {
			t.Errorf("the answer came as %s", b.Text)
		}
		r = w.asked("Which side?")
		s.Choose(question, "1")
		if b := w.Result(asks); !strings.Contains(b.Text, `"Which side?"="Left"`) {
			t.Errorf("the answer at home came as %s", b.Text)
		}
		w.state("Which side?", session.StateClosed)
		w.refused("own dialog", "answer", r.Handle, "2")

		r = w.asked("the plan")
		if r.Form != session.FormPlan || r.Ask.Plan != "# the plan\n\ndo it\n" {
			t.Errorf("the plan is put on record as %q, %+v", r.Form, r.Ask)
		}
		s.WaitScreen(`Ready to code\?`)
		w.OK("approve", r.Handle)
		if b := w.Result(asks + 3); !strings.Contains(b.Text, "approved your plan") {
			t.Errorf("the plan came back as %s", b.Text)
		}

		// Denied at home by Escape: the client ends the hook, 2.1.150 with SIGKILL.
		r = w.asked(">>ask9")
		s.Choose(`ask9\s(?s:.*)`+dialog, "Escape")
		gone := time.Now()
		claudetest.Until(w.T, func() string { return r.Handle + " is listed on" }, func() bool { return !w.listed(r.Handle) })
		testenv.Within(t, "from the dialog's end to the end of a listed request", time.Since(gone), soon)
		w.refused("", "approve", r.Handle)
		s.Ask("what now")
		s.WaitScreen("all done|stopped")
		w.state(">>ask9", session.StateClosed)
		w.Ran("ask9", 0)
		w.once(asks + 3)
		testenv.Within(t, "from the run of a call that was allowed at home to the end of its request", slices.Max(home), soon)
		testenv.Measured(t, "%s: requests closed after the call ran that was allowed at home: %v", version, home)
		w.quiet()
	})
}

// listed reports whether a request is in the list that pending shows.
func (w *world) listed(handle string) bool {
	for _, row := range w.store.List(w.H.Config, session.Looking(nil)).Rows {
		for _, r := range row.Open {
			if r.Handle == handle {
				return true
			}
		}
	}
	return false
}

// modified is when a mark's call ran.
func (w *world) modified(name string) time.Time {
	w.T.Helper()
	fi, err := os.Stat(filepath.Join(w.H.Work, name))
	testenv.Must(w.T, err)
	return fi.ModTime()
}

// once checks that this number of requests is on record, each closed or answered, and each by one side
// only.
func (w *world) once(want int) {
	w.T.Helper()
	rs := w.requests()
	if len(rs) != want {
		w.T.Errorf("%d requests are on record, want %d", len(rs), want)
	}
	seen := map[record.Key]bool{}
	for _, r := range rs {
		home := r.Closed != nil && r.Closed.InDialog
		switch {
		case seen[r.Key]:
			w.T.Errorf("%s was asked twice", r.Ask.Input)
		case r.State == session.StateOpen:
			w.T.Errorf("%s is open", r.Ask.Input)
		case r.Decided != nil && (home || r.Decided.By != policy.RoleOperator):
			w.T.Errorf("%s was answered twice: %+v, %+v", r.Ask.Input, r.Decided, r.Closed)
		}
		seen[r.Key] = true
	}
}

// quiet checks that no hook has logged an error.
func (w *world) quiet() {
	w.T.Helper()
	if trouble := w.store.LastTrouble(); trouble != "" {
		w.T.Errorf("a hook had trouble: %s", trouble)
	}
}
