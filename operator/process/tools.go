package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waggle/control"
	"waggle/internal/commands"
	"waggle/internal/cut"
	"waggle/operator"
	"waggle/spawn"
)

// LeftTool is a command that a dead process of a member has left running.
type LeftTool struct {
	PID  int    `json:"pid"`
	Argv string `json:"argv"`
}

// inGroups lists the running processes in the recorded groups of a member's commands.
func inGroups(s *operator.State, m *control.Member) (ids []spawn.Identity, err error) {
	tools, err := commands.Tools(s.Dir, m.Instance)
	for _, t := range tools {
		live, lerr := spawn.GroupOf(t.ID)
		ids, err = append(ids, live...), errors.Join(err, lerr)
	}
	return ids, err
}

// LeftTools lists the commands that a member's dead processes left running: those in their recorded
// groups, and those with the mark of a command whose worker is dead and was the member's.
func (o Operator) LeftTools(s *operator.State, m *control.Member, marked []spawn.Marked) (signs []LeftTool, err error) {
	ids, err := inGroups(s, m)
	for _, id := range ids {
		signs = append(signs, LeftTool{id.PID, program(spawn.Argv(id.PID))})
	}
	own, _, rerr := o.markedOf(s, m, marked)
	for _, p := range own {
		known := slices.ContainsFunc(signs, func(t LeftTool) bool { return t.PID == p.ID.PID })
		if _, orphan := p.Orphan(); orphan && !known {
			signs = append(signs, LeftTool{p.ID.PID, program(p.Argv)})
		}
	}
	return signs, errors.Join(err, rerr)
}

// endLeft ends a process that a member has left running and what is below it, and notes why.
func endLeft(ctx context.Context, s *operator.State, m *control.Member, id spawn.Identity, argv []string, g spawn.Grace, why string) (rung string, err error) {
	rung, err = spawn.StopTree(ctx, id, g)
	if err == nil && rung != spawn.RungGone {
		sweptOff(s, string(m.Name), id.PID, program(argv), why)
	}
	return rung, err
}

// endGroups ends the processes in the recorded groups of a member's commands.
func (o Operator) endGroups(ctx context.Context, s *operator.State, m *control.Member) (rung string, err error) {
	const why = "its worker has died, and its member ends"
	rung = spawn.RungGone
	tools, err := commands.Tools(s.Dir, m.Instance)
	errs := []error{err}
	for _, t := range tools {
		below, _ := spawn.Descendants(t.ID.PID) // a command that has ended has none
		argv := map[int]string{}
		for _, id := range below {
			argv[id.PID] = program(spawn.Argv(id.PID))
		}
		r, err := endLeft(ctx, s, m, t.ID, t.Argv, leftovers, why)
		rung = spawn.Harder(rung, r)
		for _, id := range below { // they end with it
			if err == nil && r != spawn.RungGone && !id.Alive() {
				sweptOff(s, string(m.Name), id.PID, argv[id.PID], why)
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
	const why = "its worker has died, and its member starts again"
	end := func(id spawn.Identity, argv []string) error {
		_, err := endLeft(ctx, s, m, id, argv, inTheWay, why)
		if err != nil {
			err = fmt.Errorf("its tool %d (%s) still runs: %w", id.PID, program(argv), err)
		}
		return err
	}
	tools, err := commands.Tools(s.Dir, m.Instance)
	errs := []error{err}
	for _, t := range tools {
		if !operator.Gone(m.Process.ID) {
			return errors.New("it runs by now")
		}
		err := end(t.ID, t.Argv)
		if err == nil {
			err = t.Forget()
		}
		errs = append(errs, err)
	}
	own, err := o.ownMarked(s, m, spawn.Orphans)
	errs = append(errs, err)
	for _, p := range own {
		errs = append(errs, end(p.ID, p.Argv))
	}
	_, err = o.endCgroup(ctx, s, m, why)
	return errors.Join(append(errs, err)...)
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

// recorded lists the recorded processes of a team: those of its members, the one that leads, and the
// holders of its terminals, also by themselves. Processes below them are the team's.
func (o Operator) recorded(s *operator.State) (ids, holders []spawn.Identity, err error) {
	for _, m := range s.Lead.Members {
		if m.Process != nil && !m.Process.ID.Theirs {
			ids = append(ids, m.Process.ID)
		}
	}
	if s.Lead.Led != nil {
		ids = append(ids, s.Lead.Led.ID)
	}
	held, err := o.Terminals(s)
	for _, h := range held {
		if h.Place.Holder != nil {
			holders = append(holders, *h.Place.Holder)
		}
	}
	return append(ids, holders...), holders, err
}

// Sweeps sets the function that gets the notes of a team's sweeps. Several goroutines may call it.
func Sweeps(s *operator.State, note func(operator.Note)) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if note != nil {
		s.Note = note
	}
}

// sweptOff notes once that a process was ended.
func sweptOff(s *operator.State, member string, pid int, argv, why string) {
	sayOnce(s, operator.Note{What: operator.NoteSwept, Member: member, Text: fmt.Sprintf("pid %d (%s): %s", pid, argv, why)})
}

// leftAlone notes once that a process with a member's mark is not the member's.
func leftAlone(s *operator.State, member string, p spawn.Marked) {
	sayOnce(s, operator.Note{What: operator.NoteNotOurs, Member: member, Text: notMarked(p)})
}

func sayOnce(s *operator.State, n operator.Note) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Note == nil || s.Noted[n] {
		return
	}
	if s.Noted == nil {
		s.Noted = map[operator.Note]bool{}
	}
	s.Noted[n] = true
	s.Note(n)
}

// notMarked returns why a process with a mark is kept.
func notMarked(p spawn.Marked) string {
	return fmt.Sprintf("pid %d (%s) has the member's mark in its environment, but runs below pid %d (%s), which has not: it is not ended",
		p.ID.PID, program(p.Argv), p.Foreign.PID, program(spawn.Argv(p.Foreign.PID)))
}

// maxProgram is how many characters of a command line are shown.
const maxProgram = 200

// program returns the command line of a process as one visible line.
func program(argv []string) string {
	if len(argv) == 0 {
		return "unknown program"
	}
	return cut.Bytes(operator.Visible(strings.Join(argv, " ")), maxProgram)
}

// markedOf returns those of the marked processes that carry a member's mark: its own, and the others, which are not to
// be ended. Holders of terminals are left out: they end by themselves after their process.
func (o Operator) markedOf(s *operator.State, m *control.Member, marked []spawn.Marked) (own, others []spawn.Marked, err error) {
	recorded, holders, err := o.recorded(s)
	for _, p := range marked {
		switch {
		case p.Owner != owner(s, m.Instance) || slices.Contains(holders, p.ID):
		case p.Ours(recorded...):
			own = append(own, p)
		default:
			others = append(others, p)
		}
	}
	return own, others, err
}

// ownMarked lists a member's own of the marked processes of list, and notes those that only carry its mark. There is
// none where the system does not show marks.
func (o Operator) ownMarked(s *operator.State, m *control.Member, list func() ([]spawn.Marked, error)) ([]spawn.Marked, error) {
	all, err := list()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own, others, err := o.markedOf(s, m, all)
	for _, p := range others {
		leftAlone(s, string(m.Name), p)
	}
	return own, err
}
