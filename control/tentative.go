package control

import (
	"slices"

	"waggle/journal"
)

var (
	_ journal.Tentative = (*Leader)(nil)
	_ journal.Tentative = (*Worker)(nil)
)

// setAside are the kinds of record that may be left out when they contradict the fold:
// without one of them nobody is allowed anything (trust §4).
var setAside = []string{RecJoined, RecProcess, RecSent, RecClosed, RecSeen, RecSaid}

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

// teller tells an observer what a fold does: each transition once, and none before
// it is on disk.
type teller struct {
	observe Observer
	holding bool
	held    []Observation
	last    uint64 // seq of what was told last
	past    uint64 // what is folded again up to here was told
}

func (t *teller) tell(o Observation) {
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
