package control

import (
	"slices"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

var (
	_ journal.Tentative = (*Leader)(nil)
	_ journal.Tentative = (*Worker)(nil)
)

// setAside are the kinds of record that may be left out when they contradict the fold: the absence
// of one of them allows nothing (trust §4).
var setAside = []string{record.KindJoined, record.KindProcess, record.KindSent, record.KindClosed, record.KindSeen, record.KindSaid}

// MaySetAside implements journal.Tentative.
func (l *Leader) MaySetAside(kind string) bool {
	return l.Instance != "" && slices.Contains(setAside, kind)
}

// MaySetAside implements journal.Tentative.
func (w *Worker) MaySetAside(kind string) bool { return w.Epoch > 0 && slices.Contains(setAside, kind) }

// Reset implements journal.Tentative.
func (l *Leader) Reset() {
	fresh := NewLeader(nil)
	fresh.brief, fresh.told = l.brief, l.told
	fresh.told.reset()
	*l = *fresh
}

// Reset implements journal.Tentative.
func (w *Worker) Reset() {
	fresh := NewWorker(nil)
	fresh.told = w.told
	fresh.told.reset()
	*w = *fresh
}

// Hold implements journal.Tentative.
func (l *Leader) Hold() { l.told.hold() }

// Hold implements journal.Tentative.
func (w *Worker) Hold() { w.told.hold() }

// Keep implements journal.Tentative.
func (l *Leader) Keep() { l.told.keep() }

// Keep implements journal.Tentative.
func (w *Worker) Keep() { w.told.keep() }

// teller notifies an observer: of each transition once, and of none before it is on disk.
type teller struct {
	observe machine.Observer
	holding bool
	held    []machine.Observation
	last    uint64 // seq of what was told last
	past    uint64 // transitions up to here were notified before
}

func (t *teller) tell(o machine.Observation) {
	switch {
	case t.observe == nil || o.Seq <= t.past:
	case t.holding:
		t.held = append(t.held, o)
	default:
		t.last = o.Seq
		t.observe(o)
	}
}

func (t *teller) hold() { t.holding = true }

func (t *teller) keep() {
	held := t.held
	t.holding, t.held = false, nil
	for _, o := range held {
		t.tell(o)
	}
}

// reset forgets what is not on disk.
func (t *teller) reset() { t.holding, t.held, t.past = false, nil, max(t.past, t.last) }
