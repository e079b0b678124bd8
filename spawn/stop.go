package spawn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"waggle/internal/backoff"
)

// ErrNotOurs means that a process is not one that may be ended from here.
var ErrNotOurs = errors.New("not a process of ours")

// ErrStillAlive means that a process did not end by SIGKILL in time, because the
// kernel holds it or because it runs as another user.
var ErrStillAlive = errors.New("still alive")

// The rungs of Stop: which step ended the process.
const (
	RungGone  = "gone"  // no process was left to end
	RungInput = "stdin" // it ended when its input was closed
	RungTerm  = "term"  // it ended by SIGTERM
	RungKill  = "kill"  // it ended by SIGKILL
)

// Harder is the harder of two rungs; "" is softer than all.
func Harder(a, b string) string {
	rungs := []string{RungGone, RungInput, RungTerm, RungKill}
	if slices.Index(rungs, a) < slices.Index(rungs, b) {
		return b
	}
	return a
}

// Grace is how long each rung of Stop waits.
type Grace struct {
	// Input ends the process's input, the step before SIGTERM; an error means that this is not
	// possible. nil: there is no such step.
	Input     func(context.Context) error
	InputWait time.Duration // between that and SIGTERM; 0 means 500 ms
	Term      time.Duration // between SIGTERM and SIGKILL; 0 means 5 s
	Kill      time.Duration // for the group to be gone after SIGKILL; 0 means 5 s
	// Apart is called with each process that StopTree finds below the recorded one in another group, before its first
	// signal after that. Once its parents have ended nothing else tells whose it is, and a StopTree that is cut short
	// leaves it. nil: nobody is told.
	Apart func(Identity)
}

func (g Grace) filled() Grace {
	const usual = 5 * time.Second
	g.InputWait, g.Term, g.Kill = cmp.Or(g.InputWait, usual/10), cmp.Or(g.Term, usual), cmp.Or(g.Kill, usual)
	return g
}

// Stop ends the process group of id by the end of its input, where g has that, by SIGTERM, then
// SIGKILL, and verifies that it is gone; zombies count as gone. rung is the step that ended it:
// RungGone, RungInput, RungTerm or RungKill; it is "" with an error. A stopped process (SIGSTOP) is
// continued so that it can end by SIGTERM.
//
// It signals only recorded processes, and checks again before each signal. While the recorded
// process runs, its group is ended. After its death the group is ended as long as it still has
// members, in the same session and not older than the recorded process, and the pid was not given
// to another process; else there is nothing to do. It cannot detect a pid number that wrapped
// around completely: a later group of the same number and session whose leader died too. Of a group
// that the recorded process did not lead, only that process and its descendants are ended, one by
// one.
//
// The error matches ErrNotOurs, and nothing was signalled, when the group holds this process or one
// of its ancestors, when pid or pgid is 1 or less, when the leader is dead and an older process is
// in the group, when the record is of a member inside the process (Identity.Inside), or when
// another program started it (Identity.Theirs). It matches ErrStillAlive when the last step did not
// help, and ctx.Err() when ctx ended first; the process may then have been signalled already.
// Several Stops of one process may run at once.
func Stop(ctx context.Context, id Identity, g Grace) (rung string, err error) {
	rung, err = stop(ctx, id, groupOf(id), g.filled())
	if err != nil {
		return "", failed(err, "stop %d", id.PID)
	}
	return rung, nil
}

// StopTree is Stop for a whole member: it first ends the group of id as Stop does, so that a
// process that handles SIGTERM can end its own children in order, then the descendants that
// outlived it in other groups and sessions, by SIGTERM and after g.Kill by SIGKILL. It takes at
// most g.InputWait, g.Term and three times g.Kill. rung is the hardest step that was needed.
//
// Descendants are found only while the chain of parents above them lives: when the recorded process
// is dead already, StopTree does what Stop does.
func StopTree(ctx context.Context, id Identity, g Grace) (rung string, err error) {
	g = g.filled()
	t := &tree{root: id}
	rung, err = stop(ctx, id, watched{groupOf(id), t}, g)
	if err == nil || errors.Is(err, ErrStillAlive) {
		rest, err2 := ladder(ctx, each{t.live}, Grace{Term: g.Kill, Kill: g.Kill})
		rung, err = Harder(rung, rest), errors.Join(err, err2)
	}
	if err != nil {
		return "", failed(err, "stop %d and what runs below", id.PID)
	}
	return rung, nil
}

// GroupOf lists the running processes that Stop would end for id, whose own process may be dead.
func GroupOf(id Identity) ([]Identity, error) {
	if id.PID <= 1 || id.PGID <= 1 || id.Inside || id.Theirs {
		return nil, nil
	}
	live, err := groupOf(id).liveAt(allStats)
	return identities(live), failed(err, "group of %d", id.PID)
}

// groupOf is what Stop ends.
func groupOf(id Identity) target {
	if id.PID == id.PGID {
		return group{id}
	}
	return inGroup{tree: &tree{root: id}, pgid: id.PGID}
}

// stop climbs the ladder for the group t of id, unless it is one to keep off.
func stop(ctx context.Context, id Identity, t target, g Grace) (string, error) {
	if id.Inside || id.Theirs {
		return RungGone, outside(id)
	}
	if id.PID <= 1 || id.PGID <= 1 {
		return "", fmt.Errorf("%w: pid %d, group %d", ErrNotOurs, id.PID, id.PGID)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	live, err := t.liveAt(allStats)
	if err != nil {
		return "", err
	}
	if len(live) == 0 {
		return RungGone, nil
	}
	if err := keepOff(id); err != nil {
		return "", err
	}
	if w, ok := t.(watched); ok && g.Apart != nil { // not earlier: what runs below a process that is kept is nobody's to end
		w.t.tell(g.Apart)
	}
	if gone, err := byInput(ctx, id, t, g); gone || err != nil {
		return RungInput, err
	}
	return ladder(ctx, t, g)
}

// byInput is the step before the signals. It is left out for a stopped process, which does not
// read.
func byInput(ctx context.Context, id Identity, t target, g Grace) (gone bool, err error) {
	if life, err := id.State(); g.Input == nil || err != nil || life != Running {
		return false, nil // the signal steps check for themselves
	}
	told, cancel := context.WithTimeout(ctx, g.InputWait)
	defer cancel()
	if g.Input(told) != nil {
		return false, ctx.Err()
	}
	return waitGone(ctx, t, false, g.InputWait)
}

// outside refuses to end a process for a member inside it, and a process that another program
// started. When that process does not run, neither does the member.
func outside(id Identity) error {
	alive, err := id.Check()
	switch {
	case !alive && err == nil:
		return nil
	case id.Theirs:
		return errors.Join(fmt.Errorf("%w: process %d was started by another program", ErrNotOurs, id.PID), err)
	}
	return errors.Join(fmt.Errorf("%w: the record is of a member inside process %d, which continues", ErrNotOurs, id.PID), err)
}

// keepOff refuses the groups of this process and its ancestors. An ancestor that cannot be seen
// belongs to another user and is not considered.
func keepOff(id Identity) error {
	self, err := readStat(os.Getpid())
	if err != nil {
		return fmt.Errorf("identify this process: %w", err)
	}
	up, err := ancestors(self.pid)
	if err != nil && len(up) == 0 {
		return fmt.Errorf("the ancestors of this process: %w", err)
	}
	for _, s := range append(up, self) {
		if s.pid == id.PID || s.pgid == id.PGID {
			return fmt.Errorf("%w: group %d holds process %d, which is this one or above it",
				ErrNotOurs, id.PGID, s.pid)
		}
	}
	return nil
}

// target is something that a ladder ends.
type target interface {
	// liveAt returns the running processes that are left of it, in a picture of the process table, which read takes.
	liveAt(read func() ([]stat, error)) ([]stat, error)
	// signal asks them to end, or kills them.
	signal(live []stat, kill bool) error
}

// ladder signals t until none of its processes runs, and returns the last step needed.
func ladder(ctx context.Context, t target, g Grace) (string, error) {
	rung := RungGone
	var refused error
	for _, step := range []struct {
		rung string
		kill bool
		wait time.Duration
	}{{RungTerm, false, g.Term}, {RungKill, true, g.Kill}} {
		live, err := t.liveAt(allStats)
		if err != nil {
			return "", err
		}
		if len(live) == 0 {
			return rung, nil
		}
		rung, refused = step.rung, t.signal(live, step.kill)
		gone, err := waitGone(ctx, t, step.kill, step.wait)
		if err != nil {
			return "", err
		}
		if gone {
			return rung, nil
		}
	}
	live, err := t.liveAt(allStats)
	if err != nil {
		return "", err
	}
	if len(live) == 0 {
		return rung, nil
	}
	return "", errors.Join(fmt.Errorf("%w: %s", ErrStillAlive, pids(live)), refused)
}

// waitGone waits until no process of t runs, at most d. While it is being killed, processes that
// were started between the check and the signal are killed as they appear.
func waitGone(ctx context.Context, t target, kill bool, d time.Duration) (bool, error) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	gone, err := until(wait, func() (bool, error) {
		live, err := t.liveAt(allStats)
		if kill && err == nil && len(live) > 0 {
			_ = t.signal(live, true) // the ladder has the first answer
		}
		return len(live) == 0, err
	})
	if err == nil && !gone {
		err = ctx.Err()
	}
	return gone, err
}

// until asks, often at first, until the answer is yes, an error, or ctx is done.
func until(ctx context.Context, ask func() (bool, error)) (bool, error) {
	const longest = 50 * time.Millisecond
	pause := time.Millisecond
	for {
		if yes, err := ask(); yes || err != nil {
			return yes, err
		}
		if !backoff.Pause(ctx, pause) {
			return ask()
		}
		pause = min(2*pause, longest)
	}
}

// watched is a target whose descendants are written down whenever it is looked at, in the
// same picture of the process table: to take one costs a few milliseconds.
type watched struct {
	target
	t *tree
}

func (w watched) liveAt(read func() ([]stat, error)) ([]stat, error) {
	read = sync.OnceValues(read)
	if err := w.t.refresh(read); err != nil {
		return nil, err
	}
	return w.target.liveAt(read)
}

// inGroup is a process that does not lead its group, and those below it in the group.
type inGroup struct {
	each
	tree *tree
	pgid int
}

func (g inGroup) liveAt(read func() ([]stat, error)) ([]stat, error) {
	return g.tree.liveIn(g.pgid, read)
}

// each is a set of single processes.
type each struct {
	find func() ([]stat, error)
}

func (e each) liveAt(func() ([]stat, error)) ([]stat, error) { return e.find() }

func (e each) signal(live []stat, kill bool) error {
	var errs []error
	for _, s := range live {
		errs = append(errs, signalOne(s.identity(), kill))
	}
	return errors.Join(errs...)
}

// Suspend stops exactly the process id (SIGSTOP), or lets it go on. A process that has ended is no error;
// on Windows the error matches errors.ErrUnsupported.
func Suspend(id Identity, stop bool) error {
	return holdProcess(id, func(p *os.Process) error { return suspend(p, stop) })
}

// holdProcess calls f with a handle on exactly the process id, if it runs. Where
// the system has such handles (Linux, Windows) the pid cannot be recycled between
// the check and what f does.
func holdProcess(id Identity, f func(*os.Process) error) error {
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return nil // it has ended
	}
	defer func() { _ = p.Release() }()
	alive, err := id.Check()
	if err != nil || !alive {
		return err
	}
	if err := f(p); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %d: %w", id.PID, err)
	}
	return nil
}

func pids(live []stat) string {
	n := make([]int, 0, len(live))
	for _, s := range live {
		n = append(n, s.pid)
	}
	slices.Sort(n)
	return fmt.Sprintf("pids %v", n)
}
