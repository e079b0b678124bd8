package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"time"

	"waggle/journal"
)

// Versions of what records fold to. They rise with every change of what the same
// records make of a fold; a change of its types needs no new one.
const (
	leaderFold = 4
	workerFold = 2
)

var (
	_ journal.Snapshotter = (*Leader)(nil)
	_ journal.Snapshotter = (*Worker)(nil)
)

// FoldVersion implements journal.Snapshotter: it names what records fold to, and
// the types that hold it.
func (l *Leader) FoldVersion() string {
	if l.brief {
		return fmt.Sprintf("leader, brief %d %s", leaderFold, leaderShape)
	}
	return fmt.Sprintf("leader %d %s", leaderFold, leaderShape)
}

// FoldVersion implements journal.Snapshotter.
func (w *Worker) FoldVersion() string { return fmt.Sprintf("worker %d %s", workerFold, workerShape) }

var (
	leaderShape = shapeOf(reflect.TypeFor[Leader]())
	workerShape = shapeOf(reflect.TypeFor[Worker]())
)

var errFailedFold = errors.New("a fold that has failed has no snapshot")

// Snapshot implements journal.Snapshotter. It is of no use to anybody but Restore
// of the same FoldVersion.
func (l *Leader) Snapshot() ([]byte, error) {
	if l.failed != nil {
		return nil, errFailedFold
	}
	plain := *l
	plain.told = nil
	return freeze(&plain)
}

// Snapshot implements journal.Snapshotter.
func (w *Worker) Snapshot() ([]byte, error) {
	if w.failed != nil {
		return nil, errFailedFold
	}
	plain := *w
	plain.told = nil
	return freeze(&plain)
}

// Restore implements journal.Snapshotter. What led to the state is told to no
// observer.
func (l *Leader) Restore(b []byte) error {
	fresh := NewLeader(nil)
	if err := thaw(b, fresh); err != nil {
		return err
	}
	if fresh.brief != l.brief {
		return errThaw
	}
	fresh.told = l.told
	*l = *fresh
	return nil
}

// Restore implements journal.Snapshotter.
func (w *Worker) Restore(b []byte) error {
	fresh := NewWorker(nil)
	if err := thaw(b, fresh); err != nil {
		return err
	}
	fresh.told = w.told
	*w = *fresh
	return nil
}

// shapeOf names a type by the names and types of everything in it.
func shapeOf(t reflect.Type) string {
	h := sha256.New()
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		fmt.Fprintf(h, "%s %s;", t, t.Kind())
		if seen[t] || t == timeType {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				fmt.Fprintf(h, "%s:", f.Name)
				walk(f.Type)
			}
		case reflect.Map:
			walk(t.Key())
			walk(t.Elem())
		case reflect.Slice, reflect.Array, reflect.Pointer:
			walk(t.Elem())
		}
	}
	walk(t)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

var timeType = reflect.TypeFor[time.Time]()
