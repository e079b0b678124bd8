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
	fresh.brief, fresh.notifier = l.brief, l.notifier
	fresh.notifier.reset()
	*l = *fresh
}

// Reset implements journal.Tentative.
func (w *Worker) Reset() {
	fresh := NewWorker(nil)
	fresh.notifier = w.notifier
	fresh.notifier.reset()
	*w = *fresh
}

// Hold implements journal.Tentative.
func (l *Leader) Hold() { l.notifier.hold() }

// Hold implements journal.Tentative.
func (w *Worker) Hold() { w.notifier.hold() }

// Keep implements journal.Tentative.
func (l *Leader) Keep() { l.notifier.keep() }

// Keep implements journal.Tentative.
func (w *Worker) Keep() { w.notifier.keep() }

// notifier notifies an observer: of each transition once, and of none before it is on disk.
type notifier struct {
	observe machine.Observer
	holding bool
	held    []machine.Observation
	last    uint64 // seq of what was told last
	past    uint64 // transitions up to here were notified before
}

func (n *notifier) notify(o machine.Observation) {
	switch {
	case n.observe == nil || o.Seq <= n.past:
	case n.holding:
		n.held = append(n.held, o)
	default:
		n.last = o.Seq
		n.observe(o)
	}
}

func (n *notifier) hold() { n.holding = true }

func (n *notifier) keep() {
	held := n.held
	n.holding, n.held = false, nil
	for _, o := range held {
		n.notify(o)
	}
}

// reset forgets what is not on disk.
func (n *notifier) reset() { n.holding, n.held, n.past = false, nil, max(n.past, n.last) }
