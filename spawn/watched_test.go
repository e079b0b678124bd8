//go:build unix

package spawn

import (
	"os"
	"testing"
)

// TestOnePicture: a check of a group and of the processes below it reads the process table once,
// whether the recorded process leads its group or not.
func TestOnePicture(t *testing.T) {
	id, err := Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	other := id
	other.PGID = id.PID + 1 // not the leader of its group
	for name, target := range map[string]pictured{"leader": group{id}, "another": groupOf(other)} {
		looks := 0
		w := watched{target, &tree{root: id}}
		_, err := w.liveAt(func() ([]stat, error) { looks++; return allStats() })
		if err != nil || looks != 1 {
			t.Errorf("%s: %d times, %v", name, looks, err)
		}
	}
}
