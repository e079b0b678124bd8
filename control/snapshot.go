package control

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"waggle/internal/snapshot"
	"waggle/journal"
	"waggle/record"
)

// Versions of what records fold to. They rise with every change of what the same
// records make of a fold; a change of its types needs no new one.
const (
	leaderFold = 5
	workerFold = 3
)

var (
	_ journal.Snapshotter = (*Leader)(nil)
	_ journal.Snapshotter = (*Worker)(nil)
)

// FoldVersion implements journal.Snapshotter: it names what records fold to, how that is
// written, and the types that hold it. A snapshot begins with it.
func (l *Leader) FoldVersion() string {
	if l.brief {
		return foldVersion("leader, brief", leaderFold, leaderShape())
	}
	return foldVersion("leader", leaderFold, leaderShape())
}

// FoldVersion implements journal.Snapshotter.
func (w *Worker) FoldVersion() string { return foldVersion("worker", workerFold, workerShape()) }

func foldVersion(of string, fold int, shape string) string {
	return fmt.Sprintf("%s %d, format %d, %s", of, fold, snapshot.Format, shape)
}

var (
	leaderShape = sync.OnceValue(func() string { return snapshot.ShapeOf(reflect.TypeFor[Leader]()) })
	workerShape = sync.OnceValue(func() string { return snapshot.ShapeOf(reflect.TypeFor[Worker]()) })
)

var errFailedFold = errors.New("a fold that has failed has no snapshot")

// Snapshot implements journal.Snapshotter. Only Restore of the same FoldVersion can read it.
func (l *Leader) Snapshot() ([]byte, error) {
	if l.failed != nil {
		return nil, errFailedFold
	}
	return snapshot.Encode(l.FoldVersion(), l, leaderFields)
}

// Snapshot implements journal.Snapshotter.
func (w *Worker) Snapshot() ([]byte, error) {
	if w.failed != nil {
		return nil, errFailedFold
	}
	return snapshot.Encode(w.FoldVersion(), w, workerFields)
}

// Restore implements journal.Snapshotter. Observers get no transition for it.
func (l *Leader) Restore(b []byte) error {
	fresh := NewLeader(nil)
	if err := snapshot.Decode(b, l.FoldVersion(), fresh, leaderFields); err != nil {
		return err
	}
	if fresh.brief != l.brief {
		return snapshot.ErrInvalid
	}
	fresh.notifier = l.notifier
	*l = *fresh
	return nil
}

// Restore implements journal.Snapshotter.
func (w *Worker) Restore(b []byte) error {
	fresh := NewWorker(nil)
	if err := snapshot.Decode(b, w.FoldVersion(), fresh, workerFields); err != nil {
		return err
	}
	fresh.notifier = w.notifier
	*w = *fresh
	return nil
}

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
