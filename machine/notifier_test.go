package machine_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/machine"
)

// TestNotifier: whatever is read, held back, lost and read again, an observer is told of each
// transition that stays exactly once, in order, and of none that was lost.
func TestNotifier(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var told []uint64
		n := &machine.Notifier{Observe: func(o machine.Observation) { told = append(told, o.Seq) }}
		var kept, held uint64 // the newest on disk, and beyond it
		holding := false
		read := func(from, to uint64) {
			for s := from + 1; s <= to; s++ {
				testenv.Must(t, n.Notify(machine.Observation{Machine: machine.Team, From: machine.Leading, On: machine.EvOpened, To: machine.Leading, Seq: s}))
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0: // transitions are made
				more := held + uint64(rapid.IntRange(1, 3).Draw(t, "more"))
				read(held, more)
				if held = more; !holding {
					kept = held
				}
			case 1:
				n.Hold()
				holding = true
			case 2:
				n.Keep()
				holding, kept = false, held
			case 3: // what is not on disk is forgotten, and the rest is read again
				n.Reset()
				holding, held = false, kept
				read(0, kept)
			}
			want := make([]uint64, 0, kept)
			for s := uint64(1); s <= kept; s++ {
				want = append(want, s)
			}
			if !slices.Equal(told, want) {
				t.Fatalf("told of %v, on disk are %d", told, kept)
			}
		}
	})
	if err := (&machine.Notifier{}).Notify(machine.Observation{Seq: 1}); err != nil { // nobody is notified
		t.Error(err)
	}
}
