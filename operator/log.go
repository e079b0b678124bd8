package operator

import (
	"context"

	"waggle"
	"waggle/journal"
)

// LogRecord is a journal record and whose journal it is in.
type LogRecord struct {
	journal.Record
	Name string // leader, or the member's name
}

// Records returns the records of every journal of a team, journal by journal.
func (o Operator) Records(ctx context.Context, name waggle.TeamName) ([]LogRecord, error) {
	s, err := o.led(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Records()
}

// Records is Operator.Records for a team that is open.
func (s *State) Records() ([]LogRecord, error) {
	var all []LogRecord
	read := func(j journal.Name, name string) error {
		_, err := s.Dir.Journals().Open(j, recorder(func(r journal.Record) { all = append(all, LogRecord{r, name}) }), s.jopts)
		return err
	}
	if err := read(journal.Leader, "leader"); err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Members {
		if err := read(journal.Name(m.Instance), string(m.Name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// recorder is a fold that only looks.
type recorder func(journal.Record)

func (f recorder) Apply(r journal.Record) error { f(r); return nil }
