package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"waggle/control"
	"waggle/internal/cgroup"
	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/record"
	"waggle/spawn"
)

// cgroupEnd is how long the end of a control group may take after its processes were killed.
const cgroupEnd = 3 * time.Second

// cgroupsOf lists the existing control groups of the dead processes of a member. Of the records of
// removed groups it keeps one: it tells gc that every process of the member was in such a group.
func cgroupsOf(s *operator.State, m *control.Member) (left []cgroup.Record, err error) {
	all, err := cgroup.Records(s.Dir.Path, string(m.Instance))
	for bad := (*atomicfile.RecordError)(nil); errors.As(err, &bad); { // it names no group
		if _, err = atomicfile.SetAside(bad.Path, s.Dir.Quarantine(), s.JournalOptions.Now()); err == nil {
			all, err = cgroup.Records(s.Dir.Path, string(m.Instance))
		}
	}
	kept := false
	for _, r := range all {
		// An error about an earlier boot says that its processes are gone; no group of it exists.
		switch {
		case !operator.Gone(spawn.Identity{PID: r.PID, Start: r.Start, Boot: r.Boot}):
		case r.There():
			left = append(left, r)
		case !kept && m.Process != nil && r.Boot == m.Process.ID.Boot:
			kept = true
		default:
			err = errors.Join(err, r.Forget())
		}
	}
	return left, err
}

// endCgroup ends the processes in the control groups of a member whose process has ended, also
// those that neither mark nor process group identifies. It never ends a group that contains this
// process or one of its ancestors.
func (o Operator) endCgroup(ctx context.Context, s *operator.State, m *control.Member, why string) (rung string, err error) {
	rung = spawn.RungGone
	list, _ := cgroupsOf(s, m) // gc reports what cannot be listed
	if len(list) == 0 {
		return rung, nil
	}
	spare := []int{1, o.PID}
	up, err := spawn.Ancestors(o.PID)
	if err != nil {
		return rung, fmt.Errorf("end what %s has left: %w", m.Name, err)
	}
	for _, id := range up {
		spare = append(spare, id.PID)
	}
	ctx, cancel := context.WithTimeout(ctx, cgroupEnd)
	defer cancel()
	var errs []error
	for _, r := range list {
		ended, err := o.endGroup(ctx, s, m, r, spare, why)
		rung, errs = spawn.Harder(rung, ended), append(errs, err)
	}
	return rung, errors.Join(errs...)
}

func (o Operator) endGroup(ctx context.Context, s *operator.State, m *control.Member, r cgroup.Record, spare []int, why string) (rung string, err error) {
	rung = spawn.RungGone
	left, err := r.Processes()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rung, err
	}
	argv := map[int]string{}
	for _, pid := range left {
		argv[pid] = program(spawn.Argv(pid))
	}
	if err := r.End(ctx, spare); err != nil {
		return rung, fmt.Errorf("end what %s has left: %w", m.Name, err)
	}
	for pid, what := range argv {
		rung = spawn.RungKill
		sweptOff(s, string(m.Name), pid, what, why)
	}
	return rung, nil
}

// cgroups finds the processes in the control groups of members whose process has ended.
func (c *collector) cgroups(s *operator.State) (err error) {
	for _, m := range s.Lead.Members {
		list, rerr := cgroupsOf(s, m)
		err = errors.Join(err, rerr)
		for _, r := range list {
			err = errors.Join(err, c.cgroup(s, m, r))
		}
	}
	return err
}

func (c *collector) cgroup(s *operator.State, m *control.Member, r cgroup.Record) error {
	left, err := r.Processes()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process has ended it meanwhile
	}
	why := fmt.Sprintf("it is in the control group of pid %d, which is dead", r.PID)
	for _, pid := range left {
		if slices.ContainsFunc(c.out.Found, func(g *Garbage) bool { return g.PID == pid }) {
			continue // found by its group or its mark already
		}
		id, ierr := spawn.Identify(pid)
		if ierr != nil {
			continue // it has just ended
		}
		g := Garbage{Kind: GarbageCommand, Member: string(m.Name), PID: pid, Start: id.Start, Argv: program(spawn.Argv(pid)), Path: r.Path, Why: why,
			unused: always,
			gone:   func() bool { return !r.There() },
			end:    func(ctx context.Context) error { _, err := c.o.endCgroup(ctx, s, m, why); return err }}
		c.find(s, fmt.Sprint(r.Path, " ", pid), g)
	}
	return err
}

// grouped reports a member that had a control group in this run of the machine.
func grouped(s *operator.State, m *control.Member, boot string) bool {
	all, _ := cgroup.Records(s.Dir.Path, string(m.Instance)) // records that cannot be read count as none
	return slices.ContainsFunc(all, func(r cgroup.Record) bool { return r.Boot == boot })
}

// DropLeft removes the empty control groups of members that have left a running team.
func DropLeft(s *operator.State) {
	for _, m := range s.Lead.Members {
		if m.Left == nil || s.Dropped[m.Instance] || m.Process != nil && !operator.Gone(m.Process.ID) {
			continue
		}
		if dropCgroups(s, m) != nil {
			continue // it contains a process: gc reports it
		}
		if s.Dropped == nil {
			s.Dropped = map[record.Instance]bool{}
		}
		s.Dropped[m.Instance] = true
	}
}

// dropCgroups removes the empty control groups of a member. One with a process in it stays, as the system refuses to
// remove it, and so does one that cannot be read: both are errors.
func dropCgroups(s *operator.State, m *control.Member) error {
	list, err := cgroupsOf(s, m)
	for _, r := range list {
		err = errors.Join(err, r.Drop())
	}
	return err
}
