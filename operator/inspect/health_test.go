package inspect_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "waggle/internal/test/testenv/seeded"
	"waggle/operator/inspect"
	"waggle/spawn"
)

// TestHealth has a row for each way to be.
func TestHealth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	yes, no := true, false
	up := func(change func(*inspect.MemberFacts)) inspect.MemberFacts {
		f := inspect.MemberFacts{Now: now, Led: true, Since: ago(time.Hour), PID: 7, Process: spawn.Running, StartedAt: ago(time.Hour), Up: true, Ready: true}
		change(&f)
		return f
	}
	silent := inspect.Command{What: "Bash go test", Since: ago(15 * time.Minute)}
	for _, c := range []struct {
		name string
		f    inspect.MemberFacts
		want inspect.MemberState
		says string
	}{
		{"nothing to do", up(func(f *inspect.MemberFacts) {}), inspect.StateIdle, "waits for work"},
		{"a turn", up(func(f *inspect.MemberFacts) { f.Turn = &inspect.Waits{What: "has a turn", Since: ago(time.Hour)} }), inspect.StateWorking, "turn"},
		{"a command", up(func(f *inspect.MemberFacts) {
			f.Turn, f.Commands = &inspect.Waits{}, []inspect.Command{{What: "Bash ls", Since: ago(time.Second)}}
		}), inspect.StateWorking, "runs Bash ls for 1s"},
		{"a long command that writes", up(func(f *inspect.MemberFacts) {
			f.Turn, f.Commands = &inspect.Waits{}, []inspect.Command{{What: "Bash make", Since: ago(time.Hour), Heard: ago(time.Second)}}
		}), inspect.StateWorking, "for 1h0m0s"},
		{"a silent job of 15 minutes", up(func(f *inspect.MemberFacts) { f.Turn, f.Commands = &inspect.Waits{}, []inspect.Command{silent} }),
			inspect.StateBackground, "silent for 15m0s; its process 7 runs"},
		{"a command that outlived its turn", up(func(f *inspect.MemberFacts) { f.Commands = []inspect.Command{{What: "Bash ls", Since: now}} }),
			inspect.StateBackground, "its turn did not wait for"},
		{"a question", up(func(f *inspect.MemberFacts) {
			f.Turn, f.Commands, f.Asks = &inspect.Waits{}, []inspect.Command{silent}, &inspect.Waits{What: "waits for an answer to p1"}
		}), inspect.StateHuman, "p1"},
		{"a question for the lead's agent", up(func(f *inspect.MemberFacts) { f.Asks = &inspect.Waits{What: "waits", Peer: true} }), inspect.StatePeer, "waits"},
		{"a task of another's", up(func(f *inspect.MemberFacts) { f.Todo = &inspect.Waits{What: "its task 2 waits"} }), inspect.StatePeer, "task 2"},
		{"its task failed", up(func(f *inspect.MemberFacts) { f.Failed, f.Held = &inspect.Waits{What: "task 2 failed"}, "x" }), inspect.StateFailed, "task 2 failed"},
		{"its task failed, and it works on", up(func(f *inspect.MemberFacts) {
			f.Failed, f.Turn = &inspect.Waits{What: "task 2 failed"}, &inspect.Waits{What: "has a turn"}
		}), inspect.StateWorking, "has a turn"},
		{"its task waits for a failed one", up(func(f *inspect.MemberFacts) {
			f.HeldUp, f.Todo = &inspect.Waits{What: "its task 3 waits"}, &inspect.Waits{}
		}), inspect.StateHeldUp, "task 3"},
		{"asked to end, at work", up(func(f *inspect.MemberFacts) {
			f.Ending, f.Turn = "it was asked to end", &inspect.Waits{What: "has a turn"}
		}), inspect.StateWorking, "it was asked to end; has a turn"},
		{"not ready", up(func(f *inspect.MemberFacts) { f.Ready = false }), inspect.StateStarting, "not ready"},
		{"its journal is not open", up(func(f *inspect.MemberFacts) { f.Up = false }), inspect.StateStarting, "opens its journal"},
		{"SIGSTOP", up(func(f *inspect.MemberFacts) { f.Process, f.Turn = spawn.Stopped, &inspect.Waits{} }), inspect.StateStalled, "kill -CONT 7"},
		{"an old order at first sight", up(func(f *inspect.MemberFacts) { f.Overdue = &inspect.Overdue{Since: ago(8 * time.Hour)} }), inspect.StateIdle, ""},
		{"an old order that was watched", up(func(f *inspect.MemberFacts) {
			f.Overdue = &inspect.Overdue{What: "the mode_set_request for it", Since: ago(time.Minute), Watched: 2 * time.Second}
		}), inspect.StateStalled, "has not applied the mode_set_request for it for 1m0s"},
		{"a fresh order that was watched", up(func(f *inspect.MemberFacts) {
			f.Overdue = &inspect.Overdue{Since: ago(10 * time.Second), Watched: 2 * time.Second}
		}), inspect.StateIdle, ""},
		{"killed", up(func(f *inspect.MemberFacts) {
			f.Process, f.Turn, f.Asks, f.Broken = spawn.Gone, &inspect.Waits{}, &inspect.Waits{}, "torn"
		}), inspect.StateDead, "process 7 is gone"},
		{"killed, and comes back", up(func(f *inspect.MemberFacts) {
			f.Process, f.Death = spawn.Gone, &inspect.Death{At: ago(time.Second), Detail: "ended by signal killed", Again: now.Add(3 * time.Second)}
		}), inspect.StateDead, "ended by signal killed; it is started again in 3s"},
		{"dead, and its request is open", up(func(f *inspect.MemberFacts) {
			f.Process, f.Asks = spawn.Gone, &inspect.Waits{What: "asks: rm -rf build7 (high)"}
		}), inspect.StateDead, "process 7 is gone; asks: rm -rf build7 (high)"},
		{"given up", up(func(f *inspect.MemberFacts) { f.Process, f.Death = spawn.Gone, &inspect.Death{GaveUp: true} }), inspect.StateDead, "given up"},
		{"ended as it was asked to", up(func(f *inspect.MemberFacts) { f.Process, f.Ending = spawn.Gone, "it approved its shutdown" }), inspect.StateDead, "approved"},
		{"killed with nobody to lead", up(func(f *inspect.MemberFacts) {
			f.Process, f.Led, f.Death = spawn.Gone, false, &inspect.Death{Again: now.Add(time.Second)}
		}), inspect.StateDead, "nobody starts it again"},
		{"a death of an earlier look, and a process that runs", up(func(f *inspect.MemberFacts) { f.Death = &inspect.Death{} }), inspect.StateIdle, ""},
		{"crashed before it came up", inspect.MemberFacts{Now: now, Led: true, Death: &inspect.Death{Detail: "exit status 2"}}, inspect.StateDead, "before it came up: exit status 2"},
		{"queued", inspect.MemberFacts{Now: now, Led: true, Queued: "place 1 of 2"}, inspect.StateQueued, "place 1 of 2"},
		{"queued, and nobody leads", inspect.MemberFacts{Now: now, Queued: "place 1 of 2"}, inspect.StateQueued, "nobody leads who would start it"},
		{"not started yet", inspect.MemberFacts{Now: now, Led: true}, inspect.StateStarting, "not written"},
		{"never started, nobody leads", inspect.MemberFacts{Now: now}, inspect.StateUnknown, "nobody leads"},
		{"a journal that is broken", up(func(f *inspect.MemberFacts) { f.Broken = "broken at seq 3" }), inspect.StateUnknown, "seq 3"},
		{"a process table that cannot be read", up(func(f *inspect.MemberFacts) { f.Process, f.Unseen = "", "too many open files" }), inspect.StateUnknown, "too many open files"},
		{"theirs, active", inspect.MemberFacts{Files: true, Active: &yes, Source: "config.json"}, inspect.StateWorking, "config.json"},
		{"theirs, not active, alive", inspect.MemberFacts{Files: true, Active: &no, PID: 7, Process: spawn.Running}, inspect.StateIdle, "process 7 runs"},
		{"theirs, silent", inspect.MemberFacts{Files: true, PID: 7, Process: spawn.Running}, inspect.StateUnknown, "nothing says"},
		{"theirs, gone", inspect.MemberFacts{Files: true, Active: &yes, PID: 7, Process: spawn.Gone}, inspect.StateDead, "gone"},
		{"theirs, without its lead", inspect.MemberFacts{Files: true, Active: &yes, Doubt: "the lead is gone"}, inspect.StateUnknown, "the lead is gone"},
		{"theirs, nothing known", inspect.MemberFacts{Files: true}, inspect.StateUnknown, "only files"},
	} {
		h := c.f.Health()
		if h.State != c.want || !strings.Contains(h.Why, c.says) {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, h.State, h.Why, c.want, c.says)
		}
	}
}

// facts draws any combination, sensible or not.
func facts(t *rapid.T) inspect.MemberFacts {
	base := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	at := func(name string) time.Time {
		return base.Add(time.Duration(rapid.Int64Range(-1e6, 1e6).Draw(t, name)) * time.Millisecond)
	}
	waits := func(name string) *inspect.Waits {
		if !rapid.Bool().Draw(t, name) {
			return nil
		}
		return &inspect.Waits{What: name, Since: at(name), Peer: rapid.Bool().Draw(t, name)}
	}
	word := func(name string) string { return rapid.SampledFrom([]string{"", name}).Draw(t, name) }
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	f := inspect.MemberFacts{Now: base, Led: flag("led"), Files: flag("files"), PID: rapid.SampledFrom([]int{0, 7}).Draw(t, "pid"),
		Process: rapid.SampledFrom([]spawn.State{"", spawn.Running, spawn.Stopped, spawn.Gone}).Draw(t, "life"), Unseen: word("unseen"), StartedAt: at("start"),
		Inside: flag("inside"), Ending: word("ending"), LastSign: at("sign"), Broken: word("broken"), Up: flag("up"), Ready: flag("ready"),
		Asks: waits("asks"), Turn: waits("turn"), Todo: waits("todo"), Held: word("held")}
	if flag("death") {
		f.Death = &inspect.Death{At: at("died"), Again: at("again"), GaveUp: flag("gave up")}
	}
	if flag("overdue") {
		f.Overdue = &inspect.Overdue{What: "an order", Since: at("order"), Watched: time.Duration(rapid.IntRange(0, 5).Draw(t, "watched")) * time.Second}
	}
	for range rapid.IntRange(0, 2).Draw(t, "commands") {
		f.Commands = append(f.Commands, inspect.Command{What: "Bash x", Since: at("since"), Heard: at("heard")})
	}
	if flag("says") {
		active := flag("active")
		f.Active = &active
	}
	return f
}

var memberStates = []inspect.MemberState{inspect.StateStarting, inspect.StateBlocked, inspect.StateWorking, inspect.StateHuman, inspect.StatePeer,
	inspect.StateBackground, inspect.StateFailed, inspect.StateHeldUp, inspect.StateIdle, inspect.StatePaused, inspect.StateLimited, inspect.StateStalled,
	inspect.StateDead, inspect.StateUnknown, inspect.StateQueued}

// TestHealthHolds: any facts give one state and a reason. The state is dead exactly when the
// facts prove that no process exists. A sleep of the machine, of any length, makes no member
// dead or stalled.
func TestHealthHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := facts(t)
		h := f.Health()
		if !slices.Contains(memberStates, h.State) || h.Why == "" {
			t.Fatalf("%+v", h)
		}
		gone := f.PID != 0 && f.Process == spawn.Gone || f.PID == 0 && f.Death != nil
		if (h.State == inspect.StateDead) != gone {
			t.Fatalf("gone is %v, and the state %s (%s)", gone, h.State, h.Why)
		}
		blind := f.PID != 0 && f.Process == "" || f.Broken != "" && !gone && (f.PID == 0 || f.Process != spawn.Stopped)
		if blind && h.State != inspect.StateUnknown {
			t.Fatalf("nothing can be known, and the state is %s (%s)", h.State, h.Why)
		}
		slept := f
		slept.Now = f.Now.Add(time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "slept")))
		if f.Overdue != nil {
			fresh := *f.Overdue
			fresh.Watched = 0 // no program watches while the machine sleeps
			slept.Overdue = &fresh
		}
		for _, bad := range []inspect.MemberState{inspect.StateDead, inspect.StateStalled} {
			if s := slept.Health(); s.State == bad && h.State != bad {
				t.Fatalf("a sleep makes %s (%s) of %s", bad, s.Why, h.State)
			}
		}
	})
}
