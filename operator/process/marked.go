package process

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"waggle/control"
	"waggle/internal/cut"
	"waggle/operator"
	"waggle/spawn"
)

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
