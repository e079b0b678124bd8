package control_test

import (
	"slices"
	"testing"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// TestQueue: a member of the queue begins when one of those that work has ended its task: done, failed, or gone for
// good. One that is started again, and one that has no order yet, still work; one that a person has to help does not.
func TestQueue(t *testing.T) {
	t.Parallel()
	nobody := func(*control.Member) bool { return false }
	again := start.Add(time.Hour)
	for what, c := range map[string]struct {
		then func(w *world, m *member)
		free int
	}{
		"it works":      {func(*world, *member) {}, 0},
		"it is done":    {func(_ *world, m *member) { m.reports(false) }, 1},
		"it has failed": {func(_ *world, m *member) { m.reports(true) }, 1},
		"it has left": {func(w *world, m *member) {
			w.append(w.lead(), record.KindLeft, record.Left{Instance: m.instance, How: record.LeftStopped})
		}, 1},
		"it is dead": {func(w *world, m *member) {
			w.append(w.lead(), record.KindDied, record.Died{Instance: m.instance, Epoch: 1})
		}, 1},
		"it is started again": {func(w *world, m *member) {
			w.append(w.lead(), record.KindDied, record.Died{Instance: m.instance, Epoch: 1, Again: &again})
		}, 0},
		"the operator says that it is done": {func(w *world, _ *member) {
			o, _ := w.l.Assignment("1")
			w.append(operator, record.KindDone, record.Done{Task: "1", Ref: uint64(o.Seq)})
		}, 1},
		"it has a further task": {func(w *world, m *member) {
			m.reports(false)
			w.assign(m, record.Task{ID: "2", Subject: "Again", Instructions: "true"})
		}, 0},
		"all work is stopped": {func(w *world, m *member) {
			m.reports(false)
			w.append(operator, record.KindHalted, record.Halted{})
		}, 0},
		"it has another number": {func(w *world, _ *member) { w.queued("cyd", 3, false) }, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}, nil)
			if n := w.l.AtOnce(); n != 0 {
				t.Errorf("%d at once before", n)
			}
			m := w.join("ann", false, func(b *record.Joined) { b.AtOnce = 1 })
			if n := w.l.Occupied(nobody); n != 1 {
				t.Errorf("%d work before the order", n)
			}
			w.assign(m, record.Task{ID: "1", Subject: "Test", Instructions: "true"})
			w.round()
			m.take()
			w.queued("bob", 1, true)
			w.queued("eve", 1, true)
			eve := w.of("eve").instance
			c.then(w, m)
			due := w.l.Startable(nobody)
			if len(due) != c.free || len(due) > 0 && due[0].Name != "bob" || !slices.Equal(places(w.l), []int{1, 2}) {
				t.Fatalf("%d can start, places %v", len(due), places(w.l))
			}
			if n := len(w.l.Startable(func(m *control.Member) bool { return m.Name == "ann" })); n < 1 && w.l.Halt == nil {
				t.Error("one that waits for a person holds its place")
			}
			w.do(w.lead(), func() ([]journal.Draft, error) { return w.l.Begin(due...), nil })
			if got := len(w.l.Queue()); got != 2-c.free {
				t.Errorf("%d are in the queue then", got)
			}
			if ds := w.l.Begin(due...); len(ds) > 0 {
				t.Errorf("%d begin twice", len(ds))
			}
			w.append(operator, record.KindStopping, record.Stopping{Instance: eve, Why: "stopped"})
			if len(w.l.Queue()) > 1-c.free {
				t.Error("one that is being ended is in the queue")
			}
			w.append(w.lead(), record.KindBegun, record.Begun{Instance: eve})
			if n := len(w.l.Ignored); n != 1 {
				t.Errorf("%d records are ignored", n)
			}
		})
	}
}

// reports ends a member's task.
func (m *member) reports(failed bool) {
	m.says(protocol.IdleNotification{From: string(m.name), Timestamp: protocol.FormatTime(m.now), IdleReason: "available"}, record.Said{Task: "1", Failed: failed, Note: "so"})
	m.round()
}

// queued joins a member as waggle new does.
func (w *world) queued(name protocol.MemberName, atOnce int, waits bool) {
	w.enlist(name, false, func(b *record.Joined) { b.AtOnce, b.Queued = atOnce, waits })
}

// places are those of the members of the queue.
func places(l *control.Leader) (n []int) {
	for _, m := range l.Queue() {
		n = append(n, l.Place(m))
	}
	return n
}
