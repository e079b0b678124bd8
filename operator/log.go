package operator

import (
	"context"
	"errors"
	"sort"

	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// LogRecord is a journal record and the owner of its journal.
type LogRecord struct {
	journal.Record
	Name string // leader, or the member's name; operator: the operator's own journal beside another program's team
	Team protocol.TeamName
	// Member is the member that the record is about, Request the handle of the request that it is
	// about: "" for none, and for a request that no leader has seen yet.
	Member, Request string
}

// Log reads the journals of a team as they grow. It is used by one goroutine.
type Log struct {
	r    *State
	open map[journal.Name]*journal.File
	news []LogRecord
	bad  map[journal.Name]bool // journals whose break was returned
}

// OpenLog opens the journals of a present or past team (see Read).
func (o Operator) OpenLog(ctx context.Context, of string) (*Log, error) {
	r, err := o.Open(ctx, protocol.TeamName(of), Read)
	if err != nil {
		return nil, err
	}
	return &Log{r: r, open: map[journal.Name]*journal.File{}, bad: map[journal.Name]bool{}}, nil
}

// Record returns the record of the team whose journals the log reads.
func (l *Log) Record() *State { return l.r }

// Owners names the owners of the journals: leader, the members, and the present members whose journal
// has not begun.
func (l *Log) Owners() []string {
	names := []string{string(l.r.JournalName)}
	for _, m := range l.r.Lead.Members {
		names = append(names, string(m.Name))
	}
	return names
}

// Dirs are the directories that change when a journal grows or a new one begins.
func (l *Log) Dirs() []string {
	dirs := []string{l.r.Dir.Journals().Path}
	for n := range l.open {
		dirs = append(dirs, l.r.Dir.JournalOf(string(n)))
	}
	sort.Strings(dirs)
	return dirs
}

// Next returns the new records of all journals in order of time. Where a journal is broken it
// returns the records before the break and the error that locates it (JournalErrors); the same break is
// returned once.
func (l *Log) Next(ctx context.Context) ([]LogRecord, error) {
	names, err := l.r.Dir.Journals().Names()
	if err != nil {
		return nil, err
	}
	if l.r.Damaged == nil {
		l.r.Damaged = l.r.Journal.Refresh(ctx) // for the names of members
	}
	var errs []error
	for _, n := range names {
		if l.bad[n] {
			continue
		}
		if err := l.read(ctx, n); err != nil {
			l.bad[n] = true
			errs = append(errs, l.r.Unread(n, err))
		}
	}
	recs := l.news
	l.news = nil
	for i := range recs {
		l.about(&recs[i])
	}
	sort.SliceStable(recs, func(i, j int) bool { return recs[i].Time.Before(recs[j].Time) })
	return recs, errors.Join(errs...)
}

// about adds whose record it is, and the member and the request that its body names.
func (l *Log) about(r *LogRecord) {
	r.Name, r.Team = l.r.Owner(r.Journal), l.r.Team
	k, err := record.Body[record.Key](r.Record)
	if err != nil {
		return
	}
	if closed, err := record.Body[record.Closed](r.Record); err == nil && closed.Key != nil {
		k = *closed.Key
	}
	if m, ok := l.r.Lead.ByInstance(k.Instance); ok {
		r.Member = string(m.Name)
	}
	if req, ok := l.r.Lead.Request(k); ok && k.ID != "" {
		r.Request = req.Handle
	}
}

// read returns the new records of one journal.
func (l *Log) read(ctx context.Context, n journal.Name) error {
	if j := l.open[n]; j != nil {
		return j.Refresh(ctx)
	}
	j, err := l.r.Dir.OpenJournal(n, Recorder(func(r journal.Record) { l.news = append(l.news, LogRecord{Record: r}) }), l.r.JournalOptions)
	l.open[n] = j
	return err
}

// Records returns the records of every journal of a team, journal by journal. Where the journal of a member cannot be
// read, the error says so, and the records of the others are returned with it.
func (s *State) Records() (all []LogRecord, errs error) {
	read := func(j journal.Name, name string) error {
		_, err := s.Dir.OpenJournal(j, Recorder(func(r journal.Record) { all = append(all, LogRecord{Record: r, Name: name}) }), s.JournalOptions)
		return s.Unread(j, err)
	}
	if err := read(s.JournalName, string(s.JournalName)); err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Members {
		errs = errors.Join(errs, read(journal.Name(m.Instance), string(m.Name)))
	}
	return all, errs
}

// Recorder is a fold that keeps records and has no state of its own.
type Recorder func(journal.Record)

// Apply implements journal.Fold.
func (f Recorder) Apply(r journal.Record) error { f(r); return nil }
