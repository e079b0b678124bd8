package operator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"waggle/control"
	"waggle/internal/cgroup"
	"waggle/spawn"
)

// cgroupEnd is how long the end of a control group may take: its processes are killed.
const cgroupEnd = 3 * time.Second

// cgroupOf is the control group of a member in this run of the machine, nil when it has
// none on record. One whose name is not that member's is not used.
func (s *State) cgroupOf(m *control.Member) (*cgroup.Record, error) {
	if m.Process == nil || m.Process.ID.Inside || m.Process.ID.Theirs {
		return nil, nil
	}
	r, err := cgroup.Load(s.Dir.Path, string(m.Instance))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Boot != m.Process.ID.Boot || filepath.Base(r.Path) != cgroup.Name(s.Dir.Path, string(m.Instance)):
		return nil, nil
	}
	return &r, nil
}

// endCgroup ends what is left in the control group of a member whose process has ended:
// also what no mark and no process group tells from other processes. It never ends a
// group in which this process or one above it is.
func (o Operator) endCgroup(ctx context.Context, s *State, m *control.Member, why string) (rung string, err error) {
	rung = spawn.RungGone
	r, err := s.cgroupOf(m)
	if r == nil || err != nil || !r.There() || !gone(m.Process.ID) {
		return rung, err
	}
	spare := []int{1, o.PID}
	up, err := spawn.Ancestors(o.PID)
	if err != nil {
		return rung, fmt.Errorf("end what %s has left: %w", m.Name, err)
	}
	for _, id := range up {
		spare = append(spare, id.PID)
	}
	left, err := r.Processes()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rung, err
	}
	argv := map[int]string{}
	for _, pid := range left {
		argv[pid] = program(spawn.Argv(pid))
	}
	ctx, cancel := context.WithTimeout(ctx, cgroupEnd)
	defer cancel()
	if err := r.End(ctx, spare); err != nil {
		return rung, fmt.Errorf("end what %s has left: %w", m.Name, err)
	}
	for pid, what := range argv {
		rung = spawn.RungKill
		s.sweptOff(string(m.Name), pid, what, why)
	}
	return rung, nil
}

// cgroups finds what is left in the control groups of members whose process has ended.
func (c *collector) cgroups(s *State) (err error) {
	for _, m := range s.Lead.Members {
		r, rerr := s.cgroupOf(m)
		err = errors.Join(err, rerr)
		if r == nil || !r.There() || !gone(m.Process.ID) {
			continue
		}
		left, rerr := r.Processes()
		err = errors.Join(err, rerr)
		why := fmt.Sprintf("it is in the control group of pid %d, which is dead", m.Process.ID.PID)
		for _, pid := range left {
			if slices.ContainsFunc(c.out.Found, func(g *Garbage) bool { return g.PID == pid }) {
				continue // it was found by its group or its mark
			}
			id, ierr := spawn.Identify(pid)
			if ierr != nil {
				continue // it has just ended
			}
			g := Garbage{Kind: GarbageCommand, Member: string(m.Name), PID: pid, Start: id.Start, Argv: program(spawn.Argv(pid)), Path: r.Path, Why: why,
				unused: func(context.Context) bool { return gone(m.Process.ID) },
				gone:   func() bool { return !r.There() },
				end:    func(ctx context.Context) error { _, err := c.o.endCgroup(ctx, s, m, why); return err }}
			c.find(s, fmt.Sprint(r.Path, " ", pid), g)
		}
	}
	return err
}

// dropCgroups removes the empty control groups of a team that has ended. One with a
// process in it stays: the system refuses to remove it.
func dropCgroups(s *State) {
	for _, m := range s.Lead.Members {
		if r, err := s.cgroupOf(m); err == nil && r != nil && r.There() {
			_ = r.Drop()
		}
	}
}
