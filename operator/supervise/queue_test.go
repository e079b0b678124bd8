package supervise_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// TestQueue: with one at once, the process that leads starts the members of the queue one after the other, as soon as
// the task of the one before has ended or it was stopped. One that is stopped in the queue never starts; one that a
// person resumes starts before its turn. Nothing starts twice, whoever leads.
func TestQueue(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	b, _ := hosted(t, op)
	op.Backends = []spawn.Backend{b}
	k := keep(t, op, head, supervise.LeadOptions{Detached: true})
	su := supervise.Of(op)
	dir := t.TempDir()
	for i, task := range []string{"wait", "fail on purpose", "say done", "say never", "wait", "say last"} {
		name := protocol.MemberName("m" + string(rune('1'+i)))
		sp, err := su.Spawn(t.Context(), "api", supervise.NewMember{FileMember: teamfile.FileMember{Name: name, Agent: "puppet", Backend: "elsewhere", Cwd: dir, AtOnce: 1}, Prompt: task}, nil)
		testenv.Must(t, err)
		if sp.Queue != i {
			t.Errorf("%s has place %d", name, sp.Queue)
		}
	}
	lead := func() *operator.State {
		t.Helper()
		s, err := op.Open(t.Context(), "api", operator.Act)
		testenv.Must(t, err)
		return s
	}
	waiting := func(want ...protocol.MemberName) {
		t.Helper()
		var got []protocol.MemberName
		testenv.Eventually(t, fmt.Sprintf("%v are in the queue", want), func() bool {
			got = nil
			for _, m := range lead().Lead.Queue() {
				got = append(got, m.Name)
			}
			return slices.Equal(got, want)
		}, func() string { return fmt.Sprint(got) })
	}
	testenv.Must(t, su.Begin(t.Context(), "api", "m1", supervise.LeadOptions{Accept: true}))
	waiting("m2", "m3", "m4", "m5", "m6")
	if _, p, err := su.PlanResume(t.Context(), "api"); err != nil || p.Starts() > 0 {
		t.Errorf("a resume would start %+v, %v", p, err)
	}

	if end, err := process.Of(op).Stop(t.Context(), "api", "m4", process.StopOptions{}); err != nil || end.Kind() != operator.None {
		t.Errorf("%+v, %v", end, err)
	}
	if began, err := su.RestartMember(t.Context(), lead(), "m5", supervise.LeadOptions{Accept: true}); err != nil || !began {
		t.Errorf("before its turn: %v, %v", began, err)
	}
	waiting("m2", "m3", "m6")

	// The next process that leads has the same queue.
	k.cancel()
	k.over(supervise.LedLeft)
	k.s = lead()
	k.lead(nil, supervise.LeadOptions{Detached: true})
	waiting("m2", "m3", "m6")

	for _, order := range lead().Lead.Assignments() {
		if m, _ := lead().Lead.ByInstance(order.Instance); m.Name == "m1" || m.Name == "m5" {
			operatortest.Append(t, op, lead(), journal.Draft{Kind: record.KindDone, Must: true, Body: record.Done{Task: order.Commanded.Task.ID, Ref: uint64(order.Seq)}})
		}
	}
	waiting()
	testenv.Eventually(t, "the last is done", func() bool {
		m, _ := lead().Lead.Member("m6")
		return len(m.Done) == 1
	})
	began, processes := map[record.Instance]int{}, map[record.Instance]int{}
	log, err := op.OpenLog(t.Context(), "api")
	testenv.Must(t, err)
	records, err := log.Next(t.Context())
	testenv.Must(t, err)
	for _, r := range records {
		var b struct {
			Instance record.Instance `json:"instance"`
		}
		if r.Name != "leader" || json.Unmarshal(r.Body, &b) != nil {
			continue
		}
		switch r.Kind {
		case record.KindBegun:
			began[b.Instance]++
		case record.KindProcess:
			processes[b.Instance]++
		}
	}
	for _, m := range lead().Lead.Members {
		if want := map[bool]int{true: 1}[m.Joined.Queued && m.Name != "m4"]; began[m.Instance] != want {
			t.Errorf("%s began %d times", m.Name, began[m.Instance])
		}
		if want := map[bool]int{true: 1}[m.Name != "m4"]; processes[m.Instance] != want {
			t.Errorf("%s had %d processes", m.Name, processes[m.Instance])
		}
	}
}
