package home

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"waggle/internal/atomicfile"
	"waggle/spawn"
)

// TryLead takes the leader lease without waiting. It is not held when another process
// holds it, and when another process that leads has said so beside the journal and
// lives: somebody may have removed or replaced the file that this process has locked.
func (d Dir) TryLead() (release func() error, held bool, err error) {
	release, held, err = d.TryLease(d.LeaderLease())
	if err != nil || !held {
		return nil, false, err
	}
	if by, ok := d.leads(); ok && by.PID != os.Getpid() && by.Alive() {
		return nil, false, release()
	}
	return release, true, nil
}

// Led reports whether a process leads. It takes nothing, and makes and changes no file.
func (d Dir) Led() (bool, error) {
	if by, ok := d.leads(); ok && by.PID != os.Getpid() && by.Alive() {
		return true, nil
	}
	return d.Leased(d.LeaderLease())
}

// Leased reports whether a process holds the lease at path, without taking it. What has the
// place of the lease file and is none is held by nobody.
func (d Dir) Leased(path string) (bool, error) {
	held, err := atomicfile.Flocked(path)
	if errors.Is(err, atomicfile.ErrNotRegular) {
		return false, nil
	}
	return held, err
}

// TryLease takes the lease at path without waiting. What has the place of the lease file
// is set aside.
func (d Dir) TryLease(path string) (release func() error, held bool, err error) {
	return atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease, Aside: d.Quarantine()})
}

// Dislodge sets the leader lease aside, whoever has locked it: the process that leads has
// ended, and another program holds its lease.
func (d Dir) Dislodge(now time.Time) error {
	_, err := atomicfile.SetAside(d.LeaderLease(), d.Quarantine(), now)
	return err
}

// leads is the process that has said that it leads, beside the journal.
func (d Dir) leads() (spawn.Identity, bool) {
	b, err := atomicfile.ReadFile(d.leading(), atomicfile.Options{MaxSize: maxStarted})
	var s Started
	if err != nil || json.Unmarshal(b, &s) != nil || s.Instance != "" {
		return spawn.Identity{}, false
	}
	return s.ID, s.ID.PID > 0
}

// LeftLead removes what this process has written of itself as the one that leads. It is
// called before the lease is let go.
func (d Dir) LeftLead() error {
	if by, ok := d.leads(); !ok || by.PID != os.Getpid() {
		return nil
	}
	return os.Remove(d.leading())
}

// leading is the record of the process that leads.
func (d Dir) leading() string { return filepath.Join(d.started(), "leader.json") }
