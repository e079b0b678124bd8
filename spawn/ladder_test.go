//go:build unix

package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"waggle/internal/test/testenv"
)

// patient is a process of a bubble: it takes a time to end by SIGTERM, and one to end by
// SIGKILL; a time below 0 is for ever.
type patient struct {
	byTerm, byKill time.Duration
	began          time.Time
	ends           time.Time
	signals        []string // with the time of each since the begin; repeated kills once
	killed         bool
}

func (p *patient) liveAt(func() ([]stat, error)) ([]stat, error) {
	if !p.ends.IsZero() && !time.Now().Before(p.ends) {
		return nil, nil
	}
	return []stat{{pid: 7}}, nil
}

func (p *patient) signal(_ []stat, kill bool) error {
	name, after := "term", p.byTerm
	if kill {
		name, after = "kill", p.byKill
	}
	if kill && p.killed {
		return nil
	}
	p.killed = kill
	p.signals = append(p.signals, fmt.Sprintf("%s %s", name, time.Since(p.began)))
	if at := time.Now().Add(after); after >= 0 && (p.ends.IsZero() || at.Before(p.ends)) {
		p.ends = at
	}
	return nil
}

// TestLadder: SIGTERM comes first, and SIGKILL only when the time for that is over, however
// long the process takes; the rung is the step that ended it. The clock is the bubble's, so
// that a busy machine changes nothing.
func TestLadder(t *testing.T) {
	const never = -time.Second
	g := Grace{Term: 5 * time.Second, Kill: 3 * time.Second}
	for name, c := range map[string]struct {
		p       patient
		rung    string
		signals []string
		took    time.Duration // at least, and at most a look more
		err     error
	}{
		"nobody":              {patient{ends: time.Unix(1, 0)}, RungGone, nil, 0, nil},
		"at once":             {patient{byTerm: 0, byKill: 0}, RungTerm, []string{"term 0s"}, 0, nil},
		"late":                {patient{byTerm: 4900 * time.Millisecond, byKill: 0}, RungTerm, []string{"term 0s"}, 4900 * time.Millisecond, nil},
		"at the last moment":  {patient{byTerm: 5 * time.Second, byKill: 0}, RungTerm, []string{"term 0s"}, 5 * time.Second, nil},
		"too late":            {patient{byTerm: 5100 * time.Millisecond, byKill: 0}, RungKill, []string{"term 0s", "kill 5s"}, 5 * time.Second, nil},
		"deaf":                {patient{byTerm: never, byKill: 0}, RungKill, []string{"term 0s", "kill 5s"}, 5 * time.Second, nil},
		"deaf, killed slowly": {patient{byTerm: never, byKill: 2900 * time.Millisecond}, RungKill, []string{"term 0s", "kill 5s"}, 7900 * time.Millisecond, nil},
		"held by the kernel":  {patient{byTerm: never, byKill: never}, "", []string{"term 0s", "kill 5s"}, 8 * time.Second, ErrStillAlive},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := c.p
				p.began = time.Now()
				rung, err := ladder(context.Background(), &p, g)
				took := time.Since(p.began)
				if rung != c.rung || !errors.Is(err, c.err) || !slices.Equal(p.signals, c.signals) {
					t.Errorf("%q by %q, %v; want %q by %q, %v", rung, p.signals, err, c.rung, c.signals, c.err)
				}
				if took < c.took || took > c.took+100*time.Millisecond { // the bubble's clock
					t.Errorf("it took %s, want %s", took, c.took)
				}
			})
		})
	}
}

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

// TestOnePicture: a check of a group and of the processes below it reads the process table once,
// whether the recorded process leads its group or not.
func TestOnePicture(t *testing.T) {
	id, err := Identify(os.Getpid())
	testenv.Must(t, err)
	other := id
	other.PGID = id.PID + 1 // not the leader of its group
	for name, target := range map[string]target{"leader": group{id}, "another": groupOf(other)} {
		looks := 0
		w := watched{target, &tree{root: id}}
		_, err := w.liveAt(func() ([]stat, error) { looks++; return allStats() })
		if err != nil || looks != 1 {
			t.Errorf("%s: %d times, %v", name, looks, err)
		}
	}
}
