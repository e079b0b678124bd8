package leader_test

import (
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/record"
	"waggle/spawn"
)

// restarts replaces ann by an instance with a restart policy, and returns that.
func (r *rig) restarts(p record.Restart) record.Instance {
	r.t.Helper()
	m := r.member["ann"]
	r.operate(func(l *control.Leader) ([]journal.Draft, error) {
		return l.Let(membership(l, m.inst), record.LeftReplaced, ""), nil
	})
	r.records(vital(record.KindJoined, record.Joined{Instance: "beef", Name: "ann", Agent: "exec", Cwd: "/", Trust: record.Cooperative, Restart: &p}))
	r.starts("beef", 1, 100)
	return "beef"
}

func membership(l *control.Leader, i record.Instance) *control.Member {
	m, _ := l.ByInstance(i)
	return m
}

func (r *rig) memberNow(i record.Instance) (m *control.Member) {
	r.t.Helper()
	testenv.Must(r.t, r.l.Refresh(r.t.Context()))
	r.l.View(func(l *control.Leader) { m = membership(l, i) })
	return m
}

func (r *rig) starts(i record.Instance, epoch uint64, pid int) {
	r.records(vital(record.KindProcess, record.Process{Instance: i, Epoch: epoch, ID: spawn.Identity{PID: pid}}))
}

// TestDeadStays: without Dismiss a member whose process has died stays, its death is recorded once,
// and it keeps its tasks, its requests and its entry in the registry.
func TestDeadStays(t *testing.T) {
	r := newRig(t, "ann")
	r.dismiss, r.supervise = false, false
	r.open()
	r.assign("ann", "1")
	r.pass()
	r.take("ann")
	key := r.asks("ann", "make it")
	r.dead[1] = true
	r.pass()
	r.pass()
	m := r.memberNow(r.member["ann"].inst)
	if m.Left != nil || m.Died == nil || len(m.Deaths) != 1 || m.Died.Again != nil || m.Died.GaveUp {
		t.Fatalf("left %+v, died %+v, deaths %v", m.Left, m.Died, m.Deaths)
	}
	if q, ok := r.fold.Request(key); !ok || q.State != machine.RequestPending {
		t.Errorf("its question is %+v", q)
	}
	if len(r.gone) != 0 {
		t.Errorf("the registry was told %q", r.gone)
	}
	r.starts(m.Instance, 2, 50)
	r.pass()
	if m = r.memberNow(m.Instance); m.Died != nil || len(m.Deaths) != 1 {
		t.Errorf("after a new start: died %+v, deaths %v", m.Died, m.Deaths)
	}
	r.dead[50] = true
	r.pass()
	if m = r.memberNow(m.Instance); m.Died == nil || m.Died.Epoch != 2 || len(m.Deaths) != 2 {
		t.Errorf("after its second death: died %+v, deaths %v", m.Died, m.Deaths)
	}
}

// TestRestartBacksOff: the record of a death has the time of the restart, later each time, and no
// restart after the maximal number of deaths within the window. A death without a leader gets its
// restart from the next leader.
func TestRestartBacksOff(t *testing.T) {
	r := newRig(t, "ann")
	r.dismiss, r.supervise = false, false
	r.open()
	i := r.restarts(record.Restart{Most: 3, Window: 600_000, First: 1000, Longest: 3000})
	r.dead[100] = true
	r.pass()
	if m := r.memberNow(i); m.Died == nil || m.Died.Again != nil {
		t.Fatalf("found by a passing command: %+v", m.Died)
	}
	r.supervise = true
	r.open()
	want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
	for n, w := range want {
		r.pass()
		r.pass()
		m := r.memberNow(i)
		if m.Died == nil || m.Died.Again == nil || !m.Died.Again.Equal(r.now.Add(w)) || len(m.Deaths) != n+1 {
			t.Fatalf("death %d: %+v at %s, deaths %v; want a restart after %s", n+1, m.Died, r.now, m.Deaths, w)
		}
		r.now = m.Died.Again.Add(time.Second)
		r.starts(i, uint64(n+2), 101+n)
		r.dead[101+n] = true
	}
	r.pass()
	if m := r.memberNow(i); m.Died == nil || m.Died.Again != nil || !m.Died.GaveUp || len(m.Deaths) != 4 {
		t.Errorf("after the last: %+v, deaths %v", m.Died, m.Deaths)
	}
	r.now = r.now.Add(time.Hour)
	r.starts(i, 9, 200)
	r.dead[200] = true
	r.pass()
	if m := r.memberNow(i); m.Died == nil || m.Died.GaveUp || !m.Died.Again.Equal(r.now.Add(time.Second)) {
		t.Errorf("long after: %+v", m.Died)
	}
}

// TestStoppedIsNotDead: a member that the operator stops leaves as stopped once its process has
// ended. The process that stops it records the step that it needed; the leader does not wait
// without end for that record.
func TestStoppedIsNotDead(t *testing.T) {
	for _, c := range []struct {
		name, want string
		then       func(r *rig, i record.Instance)
	}{
		{"said", spawn.RungKill, func(r *rig, i record.Instance) {
			r.operate(func(l *control.Leader) ([]journal.Draft, error) {
				return l.Stopped(membership(l, i), spawn.RungKill), nil
			})
		}},
		{"not said", "", func(r *rig, _ record.Instance) { r.now = r.now.Add(20 * time.Second) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, "ann")
			r.dismiss, r.supervise = false, true
			r.open()
			i := r.restarts(record.Restart{Most: 3, Window: 600_000, First: 1000, Longest: 3000})
			r.operate(func(l *control.Leader) ([]journal.Draft, error) {
				return l.Stop(membership(l, i), "the operator stops it"), nil
			})
			r.dead[100] = true
			r.pass()
			r.pass()
			if m := r.memberNow(i); m.Left != nil || m.Died != nil {
				t.Fatalf("who stops it has not spoken, and it left as %+v, died %+v", m.Left, m.Died)
			}
			c.then(r, i)
			r.pass()
			if m := r.memberNow(i); m.Left == nil || m.Left.How != record.LeftStopped || m.Left.Detail != c.want || m.Died != nil {
				t.Errorf("left %+v, died %+v", m.Left, m.Died)
			}
		})
	}
}
