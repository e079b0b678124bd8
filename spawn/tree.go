package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
)

// Ancestors returns the identities from pid's parent up to init, or to the last process that has a
// parent in this PID namespace. When an ancestor is not visible to this user (a hidepid mount) it
// returns those below it and an error. The error matches ErrGone, without any ancestor, when pid
// itself is gone.
func Ancestors(pid int) ([]Identity, error) {
	up, err := ancestors(pid)
	return identities(up), failed(err, "ancestors of %d", pid)
}

// ancestors walks up again when a parent ended meanwhile, since its children
// have another one by then.
func ancestors(pid int) (up []stat, err error) { return ancestorsIn(readStat, pid) }

// ancestorsIn is ancestors in a table of processes that read looks up.
func ancestorsIn(read func(pid int) (stat, error), pid int) (up []stat, err error) {
	for range 3 {
		up, err = walkUp(read, pid)
		if !errors.Is(err, ErrGone) {
			break
		}
	}
	return up, err
}

const deepest = 10_000 // ancestors, against a loop of recycled pids

func walkUp(read func(pid int) (stat, error), pid int) ([]stat, error) {
	s, err := read(pid)
	if err != nil {
		return nil, err
	}
	var up []stat
	for s.ppid > 0 && len(up) < deepest {
		parent, err := read(s.ppid)
		if runtime.GOOS == "windows" && (err != nil || parent.start > s.start) {
			break // an orphan keeps the pid of its dead parent there, which may be recycled
		}
		if err != nil {
			return up, fmt.Errorf("parent %d: %w", s.ppid, err)
		}
		up = append(up, parent)
		s = parent
	}
	return up, nil
}

// Descendants returns the running processes below pid, parents before their children, whatever
// their group or session. The list is of one moment: a process that starts meanwhile may be
// missing. A descendant whose parents died is a child of the process that the kernel gave it to,
// the nearest [Subreaper] above on Linux, else init, and is then no longer found here. The error
// matches ErrGone when there is no process with this pid.
func Descendants(pid int) ([]Identity, error) {
	below, err := descendants(pid)
	return identities(below), failed(err, "descendants of %d", pid)
}

func descendants(pid int) ([]stat, error) {
	all, err := allStats()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s stat) bool { return s.pid == pid })
	if i < 0 {
		return nil, ErrGone
	}
	return below(all, all[i]), nil
}

// below picks from a picture of the process table what runs below the roots.
func below(all []stat, roots ...stat) []stat {
	children := map[int][]stat{}
	for _, s := range all {
		children[s.ppid] = append(children[s.ppid], s)
	}
	seen := map[int]bool{}
	for _, r := range roots {
		seen[r.pid] = true
	}
	var found []stat
	for next := slices.Clone(roots); len(next) > 0; next = next[1:] {
		parent := next[0]
		for _, child := range children[parent.pid] {
			// No process is older than its parent; only a recycled pid looks so.
			if seen[child.pid] || child.start < parent.start {
				continue
			}
			seen[child.pid] = true
			next = append(next, child)
			if !child.zombie {
				found = append(found, child)
			}
		}
	}
	return found
}

func identities(stats []stat) []Identity {
	ids := make([]Identity, 0, len(stats))
	for _, s := range stats {
		ids = append(ids, s.identity())
	}
	return ids
}

// tree remembers who was seen below a root while the chain of parents was still
// whole, so that those who survive the root are still known.
type tree struct {
	root  Identity
	seen  map[int]stat   // by pid
	apart func(Identity) // see tell; nil: nobody is told
	told  map[int]uint64 // by pid, with whom apart was called
}

// refresh looks at the table as read shows it: it removes the processes that ended and adds those
// below the root or below one of those seen before.
func (t *tree) refresh(read func() ([]stat, error)) error {
	if len(t.seen) == 0 {
		root, err := readStat(t.root.PID)
		if errors.Is(err, ErrGone) || err == nil && !root.is(t.root) {
			return nil // no process to look below
		}
	}
	all, err := read()
	if err != nil {
		return err
	}
	seen := map[int]stat{}
	var roots []stat
	for _, s := range all {
		old, known := t.seen[s.pid]
		switch {
		case s.is(t.root):
			roots = append(roots, s)
		case known && old.start == s.start && !s.zombie:
			seen[s.pid] = s
			roots = append(roots, s)
		}
	}
	for _, s := range below(all, roots...) {
		seen[s.pid] = s
	}
	t.seen = seen
	t.tellApart()
	return nil
}

// tell calls apart with those that are in another group than the root, now and whenever one is found: once with each
// that is not below another of them.
func (t *tree) tell(apart func(Identity)) {
	t.apart = apart
	t.tellApart()
}

func (t *tree) tellApart() {
	if t.apart == nil {
		return
	}
	for _, s := range t.left() {
		above, ok := t.seen[s.ppid]
		if below := ok && t.isApart(above); t.isApart(s) && !below && t.told[s.pid] != s.start {
			if t.told == nil {
				t.told = map[int]uint64{}
			}
			t.told[s.pid] = s.start
			t.apart(s.identity())
		}
	}
}

func (t *tree) isApart(s stat) bool { return s.pgid != t.root.PGID }

// add remembers one more, and says whether it is new.
func (t *tree) add(s stat) bool {
	if old, known := t.seen[s.pid]; known && old.start == s.start {
		return false
	}
	if t.seen == nil {
		t.seen = map[int]stat{}
	}
	t.seen[s.pid] = s
	return true
}

// live returns who is left of them, oldest first.
func (t *tree) live() ([]stat, error) {
	if len(t.seen) == 0 {
		return nil, nil
	}
	if err := t.refresh(allStats); err != nil {
		return nil, err
	}
	return t.left(), nil
}

// left returns who was seen at the last look, oldest first.
func (t *tree) left() []stat {
	left := slices.Collect(maps.Values(t.seen))
	slices.SortFunc(left, func(a, b stat) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	return left
}

// liveIn returns the root, if it runs, and who is left of the others in a group.
func (t *tree) liveIn(pgid int, read func() ([]stat, error)) ([]stat, error) {
	if err := t.refresh(read); err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(t.left(), func(s stat) bool { return s.pgid != pgid })
	root, err := readStat(t.root.PID)
	if errors.Is(err, ErrGone) {
		return left, nil
	}
	if err == nil && root.is(t.root) && !root.zombie {
		left = append(left, root)
	}
	return left, err
}
