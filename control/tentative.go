package control

import (
	"slices"

	"waggle/journal"
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
	fresh.notifier.Reset()
	*l = *fresh
}

// Reset implements journal.Tentative.
func (w *Worker) Reset() {
	fresh := NewWorker(nil)
	fresh.notifier = w.notifier
	fresh.notifier.Reset()
	*w = *fresh
}

// Hold implements journal.Tentative.
func (l *Leader) Hold() { l.notifier.Hold() }

// Hold implements journal.Tentative.
func (w *Worker) Hold() { w.notifier.Hold() }

// Keep implements journal.Tentative.
func (l *Leader) Keep() { l.notifier.Keep() }

// Keep implements journal.Tentative.
func (w *Worker) Keep() { w.notifier.Keep() }
