package operator

import (
	"errors"
	"path/filepath"

	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// Broken reports an error after which a journal can be read and not appended to.
func Broken(err error) bool { return is[*journal.BrokenError](err) }

// Unreadable returns the error of a command that cannot run while a journal is broken, with the
// commands that can.
func Unreadable(op string, name protocol.TeamName, err error) error {
	return &Error{Kind: Failed, Op: op, Err: err, Next: Next{Step: NextAcknowledge, Team: name}}
}

// JournalError is the error of one journal of a team, whose other journals can be read.
type JournalError struct {
	Team    protocol.TeamName
	Journal journal.Name
	Owner   string // leader, or the member
	dir     string
	Err     error
}

func (e *JournalError) Error() string { return e.Owner + ": " + e.Err.Error() }

func (e *JournalError) Unwrap() error { return e.Err }

// Place returns the file, the line (0: the whole file) and the number of the first record that cannot be read, and why.
// The file is "" when the error is not about one.
func (e *JournalError) Place() (file string, line int, seq uint64, why string) {
	var broken *journal.BrokenError
	if !errors.As(e.Err, &broken) {
		return "", 0, 0, e.Err.Error()
	}
	return filepath.Join(e.dir, broken.File), broken.Line, uint64(broken.Seq), broken.Why
}

// JournalErrors returns every JournalError that is joined in an error.
func JournalErrors(err error) []*JournalError {
	if e, ok := err.(*JournalError); ok {
		return []*JournalError{e}
	}
	switch w := err.(type) {
	case interface{ Unwrap() []error }:
		var all []*JournalError
		for _, e := range w.Unwrap() {
			all = append(all, JournalErrors(e)...)
		}
		return all
	case interface{ Unwrap() error }:
		return JournalErrors(w.Unwrap())
	}
	return nil
}

// About returns the part of an error of journals (JournalErrors) that is about the leader's and those of one owner.
func About(err error, owner string) error {
	var errs []error
	for _, e := range JournalErrors(err) {
		if e.Owner == string(journal.Leader) || protocol.SameName(protocol.MemberName(e.Owner), protocol.MemberName(owner)) {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// Unread names the team and the owner of a journal that cannot be read; nil for none, and for a break that the
// operator has acknowledged.
func (s *State) Unread(n journal.Name, err error) error {
	if err == nil {
		return nil
	}
	if m, ok := s.Lead.ByInstance(record.Instance(n)); ok && m.Broken && Broken(err) {
		return nil
	}
	return &JournalError{Team: s.Team, Journal: n, Owner: s.Owner(n), dir: s.Dir.JournalOf(string(n)), Err: err}
}
