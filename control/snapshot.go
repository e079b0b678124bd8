package control

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"sync"
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
	return fmt.Sprintf("%s %d, format %d, %s", of, fold, snapshotFormat, shape)
}

var (
	leaderShape = sync.OnceValue(func() string { return shapeOf(reflect.TypeFor[Leader]()) })
	workerShape = sync.OnceValue(func() string { return shapeOf(reflect.TypeFor[Worker]()) })
)

var errFailedFold = errors.New("a fold that has failed has no snapshot")

// Snapshot implements journal.Snapshotter. Only Restore of the same FoldVersion can read it.
func (l *Leader) Snapshot() ([]byte, error) {
	if l.failed != nil {
		return nil, errFailedFold
	}
	return encode(l.FoldVersion(), l, (*codec).leader)
}

// Snapshot implements journal.Snapshotter.
func (w *Worker) Snapshot() ([]byte, error) {
	if w.failed != nil {
		return nil, errFailedFold
	}
	return encode(w.FoldVersion(), w, (*codec).worker)
}

// Restore implements journal.Snapshotter. Observers get no transition for it.
func (l *Leader) Restore(b []byte) error {
	fresh := NewLeader(nil)
	if err := decode(b, l.FoldVersion(), fresh, (*codec).leader); err != nil {
		return err
	}
	if fresh.brief != l.brief {
		return errSnapshot
	}
	fresh.told = l.told
	*l = *fresh
	return nil
}

// Restore implements journal.Snapshotter.
func (w *Worker) Restore(b []byte) error {
	fresh := NewWorker(nil)
	if err := decode(b, w.FoldVersion(), fresh, (*codec).worker); err != nil {
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
