package control

import (
	"fmt"
	"slices"

	"waggle/journal"
	"waggle/record"
)

// InQueue reports a member that waggle new made when as many of these worked as may, and that has not begun since.
func (m *Member) InQueue() bool {
	return m.Joined.Queued && !m.Begun && m.Process == nil && m.Left == nil && m.Stopping == nil && !m.Approved
}

// Queue lists the members that wait, in the order in which they begin.
func (l *Leader) Queue() []*Member { return those(l.Members, (*Member).InQueue) }

// Place is the place of a member in the queue, from 1 on; 0: it is not in it.
func (l *Leader) Place(m *Member) int { return slices.Index(l.Queue(), m) + 1 }

// AtOnce is how many of the members that waggle new made work at once; 0: it has made none.
func (l *Leader) AtOnce() int {
	for _, m := range slices.Backward(l.Members) {
		if m.AtOnce > 0 {
			return m.AtOnce
		}
	}
	return 0
}

// Occupied counts the members that waggle new made and that have begun and not ended their tasks. halted reports
// one that a person has to help before it can begin.
func (l *Leader) Occupied(halted func(*Member) bool) (n int) {
	for _, m := range l.Members {
		if l.occupies(m) && !halted(m) {
			n++
		}
	}
	return n
}

// occupies reports a member that waggle new made whose task was begun and has not ended: neither done nor failed,
// and the member is not gone. One that is started again still works.
func (l *Leader) occupies(m *Member) bool {
	if m.AtOnce == 0 || m.InQueue() || m.Left != nil || m.Approved || m.Died != nil && m.Died.Again == nil {
		return false
	}
	given := false
	for id, o := range l.tasks {
		if o.Instance != m.Instance {
			continue
		}
		if given = true; m.Done[id] == nil && m.Turns[id] == nil {
			return true
		}
	}
	return !given // its task is assigned right after it has joined
}

// Startable lists the members of the queue for which there is room: none while all work is stopped.
func (l *Leader) Startable(halted func(*Member) bool) []*Member {
	if l.Halt != nil {
		return nil
	}
	q := l.Queue()
	return q[:min(len(q), max(0, l.AtOnce()-l.Occupied(halted)))]
}

// Begin drafts that members of the queue begin.
func (l *Leader) Begin(ms ...*Member) (ds []journal.Draft) {
	for _, m := range ms {
		if m.InQueue() {
			ds = append(ds, journal.Draft{Kind: record.KindBegun, Must: true, Body: record.Begun{Instance: m.Instance}})
		}
	}
	return ds
}

func (l *Leader) begunRec(r journal.Record, b record.Begun) error {
	m := l.byInst[b.Instance]
	switch {
	case m == nil:
		return fmt.Errorf("unknown instance %q began", b.Instance)
	case !m.InQueue():
		return l.ignore(r, "it was not in the queue")
	}
	m.Begun, m.Since = true, r.Time
	return nil
}
