//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"testing"
)

// processes is a table of processes: the parent of each. Reads of missing ones are counted, and
// fail as why says.
type processes struct {
	parents map[int]int
	missed  int
	why     error
}

func (p *processes) read(pid int) (stat, error) {
	parent, ok := p.parents[pid]
	if !ok {
		p.missed++
		return stat{}, fmt.Errorf("process %d: %w", pid, p.why)
	}
	return stat{pid: pid, ppid: parent, start: uint64(pid)}, nil
}

// TestAncestors: they are listed from the nearest on; a parent that cannot be looked at is
// an error beside those below it, and one that has ended is looked for three times.
func TestAncestors(t *testing.T) {
	t.Parallel()
	unreadable := errors.New("no file descriptor is left")
	for _, c := range []struct {
		name    string
		parents map[int]int
		why     error
		want    string
		missed  int
	}{
		{"whole", map[int]int{40: 30, 30: 20, 20: 0}, ErrGone, "[30 20]", 0},
		{"unreadable", map[int]int{40: 30, 30: 20}, unreadable, "[30]", 1},
		{"gone", map[int]int{40: 30, 30: 20}, ErrGone, "[30]", 3},
		{"the process itself", nil, unreadable, "[]", 1},
	} {
		p := &processes{parents: c.parents, why: c.why}
		up, err := ancestorsIn(p.read, 40)
		pids := []int{}
		for _, s := range up {
			pids = append(pids, s.pid)
		}
		if fmt.Sprint(pids) != c.want || (err == nil) != (c.missed == 0) || err != nil && !errors.Is(err, c.why) || p.missed != c.missed {
			t.Errorf("%s: %v, %v, %d looks at what is missing; want %s, %d", c.name, pids, err, p.missed, c.want, c.missed)
		}
	}
	up, err := ancestorsIn((&processes{parents: map[int]int{7: 7}}).read, 7)
	if len(up) != deepest || err != nil {
		t.Errorf("a loop: %d ancestors, %v", len(up), err)
	}
}

// TestNobodySeen: nobodySeen is an error only for a walk that saw no ancestor and failed for
// another reason than ErrGone.
func TestNobodySeen(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	if nobodySeen(nil, other) == nil || nobodySeen(nil, ErrGone) != nil || nobodySeen([]stat{{}}, other) != nil || nobodySeen(nil, nil) != nil {
		t.Error("wrong")
	}
}
