package journal_test

import (
	"testing"
	"time"

	"waggle/journal"
	"waggle/journal/journaltest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T, name journal.Name, now func() time.Time) journaltest.Handle {
		m := journal.NewMemory(uid, name, now)
		return func(fold journal.Fold) journal.Journal { return m.Open(fold) }
	})
}

func TestFile(t *testing.T) { testFile(t, journal.Options{}) }

// TestFileRolling has a new segment for every other append.
func TestFileRolling(t *testing.T) { testFile(t, journal.Options{Segment: 400, Sync: noSync}) }

func testFile(t *testing.T, o journal.Options) {
	journaltest.Run(t, func(t *testing.T, name journal.Name, now func() time.Time) journaltest.Handle {
		dir, o := newDir(t), o
		o.Now = now
		return func(fold journal.Fold) journal.Journal {
			j, err := dir.Open(name, fold, o)
			if err != nil {
				t.Fatal(err)
			}
			return j
		}
	})
}
