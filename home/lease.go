package home

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/record"
	"waggle/spawn"
)

// TryLead takes the leader lease without waiting. held is false when another process
// holds the lease, and also when the record of another leading process says so and
// that process is alive: the lease file that this process locked may have been removed
// or replaced.
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

// Led reports whether a process leads. It takes no lease, and makes and changes no file.
func (d Dir) Led() (bool, error) {
	if by, ok := d.leads(); ok && by.PID != os.Getpid() && by.Alive() {
		return true, nil
	}
	return d.Leased(d.LeaderLease())
}

// Leased reports whether a process holds the lease at path, without taking it. A path that is not a
// regular file is held by no process.
func (d Dir) Leased(path string) (bool, error) {
	return atomicfile.Flocked(path)
}

// TryLease takes the lease at path without waiting. A file at path that is not regular is set
// aside.
func (d Dir) TryLease(path string) (release func() error, held bool, err error) {
	return atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease, Aside: d.Quarantine()})
}

// endingWait is how long a new process waits for the lease of one that has ended.
const endingWait = 3 * time.Second

// TakeProcess takes the lease of an instance. A process that was killed counts as gone before the last
// of its threads has ended, and holds its lease until then: TakeProcess waits for that, and for no
// process that runs. held is false when another process runs the instance.
func (d Dir) TakeProcess(ctx context.Context, i record.Instance) (release func() error, held bool, err error) {
	ending, cancel := context.WithTimeout(ctx, endingWait)
	defer cancel()
	for {
		release, held, err = d.TryLease(d.ProcessLease(i))
		if err != nil || held || !d.ended(i) {
			return release, held, err
		}
		if !backoff.Pause(ending, 10*time.Millisecond) {
			return nil, false, ctx.Err()
		}
	}
}

// ended reports whether the newest process of an instance does not run any more, as far as is on record.
func (d Dir) ended(i record.Instance) bool {
	all, err := d.Started()
	at := slices.IndexFunc(all, func(s Started) bool { return s.Instance == i })
	if err != nil || at < 0 {
		return err == nil
	}
	return all[at].ID.Ended()
}

// Dislodge sets the file of the leader lease aside although another program has it
// locked. The caller has checked that the leading process has ended.
func (d Dir) Dislodge(now time.Time) error {
	_, err := atomicfile.SetAside(d.LeaderLease(), d.Quarantine(), now)
	return err
}

// leads is the process that has said that it leads, beside the journal.
func (d Dir) leads() (spawn.Identity, bool) {
	var s Started
	if jsonfile.Read(d.leading(), &s, maxStarted) != nil || s.Instance != "" {
		return spawn.Identity{}, false
	}
	return s.ID, s.ID.PID > 0
}

// Leading is the pid of the process that leads, as it or the file of its lease says; 0: it is not known.
func (d Dir) Leading() int {
	if by, ok := d.leads(); ok && by.Alive() {
		return by.PID
	}
	return atomicfile.Holder(d.LeaderLease())
}

// LeftLead removes the record of this process as the leading one. The caller releases
// the lease after it.
func (d Dir) LeftLead() error {
	if by, ok := d.leads(); !ok || by.PID != os.Getpid() {
		return nil
	}
	return os.Remove(d.leading())
}

// leading is the record of the process that leads.
func (d Dir) leading() string { return filepath.Join(d.started(), "leader.json") }
