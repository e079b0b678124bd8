package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waggle/control"
	"waggle/internal/commands"
	"waggle/operator"
	"waggle/spawn"
)

// LeftTool is a command that a dead process of a member has left running.
type LeftTool struct {
	PID  int    `json:"pid"`
	Argv string `json:"argv"`
}

// LeftTools lists the commands that a member's dead processes left running: those in their recorded
// groups, and those with the mark of a command whose worker is dead and was the member's.
func (o Operator) LeftTools(s *operator.State, m *control.Member, marked []spawn.Marked) (signs []LeftTool, err error) {
	tools, err := commands.Tools(s.Dir, m.Instance)
	for _, t := range tools {
		live, lerr := spawn.GroupOf(t.ID)
		err = errors.Join(err, lerr)
		for _, id := range live {
			signs = append(signs, LeftTool{id.PID, program(spawn.Argv(id.PID))})
		}
	}
	recorded, rerr := o.recorded(s)
	for _, p := range marked {
		_, orphan := p.Orphan()
		known := slices.ContainsFunc(signs, func(t LeftTool) bool { return t.PID == p.ID.PID })
		if orphan && !known && p.Owner == owner(s, m.Instance) && p.Ours(recorded...) {
			signs = append(signs, LeftTool{p.ID.PID, program(p.Argv)})
		}
	}
	return signs, errors.Join(err, rerr)
}

// swept is a process and its command line.
type swept struct {
	id   spawn.Identity
	argv string
}

// belowIt lists the descendants of a process, which end with it. A process that cannot be read is
// left out.
func belowIt(pid int) []swept {
	ids, _ := spawn.Descendants(pid) // a command that has ended has none
	var out []swept
	for _, id := range ids {
		out = append(out, swept{id, program(spawn.Argv(id.PID))})
	}
	return out
}

// endGroups ends the processes in the recorded groups of a member's commands.
func (o Operator) endGroups(ctx context.Context, s *operator.State, m *control.Member) (rung string, err error) {
	rung = spawn.RungGone
	tools, err := commands.Tools(s.Dir, m.Instance)
	errs := []error{err}
	for _, t := range tools {
		ended := belowIt(t.ID.PID)
		r, err := spawn.StopTree(ctx, t.ID, leftovers)
		rung = spawn.Harder(rung, r)
		if err == nil && r != spawn.RungGone {
			const why = "its worker has died, and its member ends"
			sweptOff(s, string(m.Name), t.ID.PID, program(t.Argv), why)
			for _, p := range ended {
				if !p.id.Alive() {
					sweptOff(s, string(m.Name), p.id.PID, p.argv, why)
				}
			}
		}
		if err == nil {
			err = t.Forget()
		}
		if !short(err) { // else its record stays: it names a process that has ended
			errs = append(errs, err)
		}
	}
	return rung, errors.Join(errs...)
}

// EndTools ends the commands that a dead process of a member has left running, by their recorded
// groups and by their marks, before the member is restarted: both would change the same files. It
// does not touch the commands of a running worker.
func (o Operator) EndTools(ctx context.Context, s *operator.State, m *control.Member) error {
	tools, err := commands.Tools(s.Dir, m.Instance)
	errs := []error{err}
	for _, t := range tools {
		if !operator.Gone(m.Process.ID) {
			return errors.New("it runs by now")
		}
		rung, err := spawn.StopTree(ctx, t.ID, inTheWay)
		if err != nil {
			errs = append(errs, fmt.Errorf("its tool %d (%s) still runs: %w", t.ID.PID, program(t.Argv), err))
			continue
		}
		if rung != spawn.RungGone {
			sweptOff(s, string(m.Name), t.ID.PID, program(t.Argv), "its worker has died, and its member starts again")
		}
		errs = append(errs, t.Forget())
	}
	marked, err := spawn.AllMarked()
	if errors.Is(err, errors.ErrUnsupported) {
		return errors.Join(errs...)
	}
	recorded, rerr := o.recorded(s)
	errs = append(errs, err, rerr)
	for _, p := range marked {
		if _, orphan := p.Orphan(); !orphan || p.Owner != owner(s, m.Instance) {
			continue
		}
		if !p.Ours(recorded...) {
			leftAlone(s, string(m.Name), p)
			continue
		}
		rung, err := spawn.StopTree(ctx, p.ID, inTheWay)
		if err != nil {
			errs = append(errs, fmt.Errorf("its tool %d (%s) still runs: %w", p.ID.PID, program(p.Argv), err))
		} else if rung != spawn.RungGone {
			sweptOff(s, string(m.Name), p.ID.PID, program(p.Argv), "its worker has died, and its member starts again")
		}
	}
	_, err = o.endCgroup(ctx, s, m, "its worker has died, and its member starts again")
	errs = append(errs, err)
	return errors.Join(errs...)
}

// ToolsText describes the commands that still run.
func ToolsText(tools []LeftTool) string {
	var list []string
	for _, t := range tools[:min(len(tools), 3)] {
		list = append(list, fmt.Sprintf("pid %d (%s)", t.PID, t.Argv))
	}
	if n := len(tools) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return "what its dead process ran still runs: " + strings.Join(list, ", ")
}
