package operator

import (
	"context"
	"errors"
	"sort"

	"waggle/journal"
	"waggle/record"
)

// LogRecord is a journal record and whose journal it is in.
type LogRecord struct {
	journal.Record
	Name string // leader, or the member's name; operator: of what was done in another program's team
}

// Log reads the journals of a team as they grow. It is used by one goroutine.
type Log struct {
	r    *Record
	open map[journal.Name]*journal.File
	news []LogRecord
	bad  map[journal.Name]bool // whose break was told
}

// OpenLog opens the journals of a team that is or was (see Past).
func (o Operator) OpenLog(ctx context.Context, of string) (*Log, error) {
	r, err := o.OpenAny(ctx, of)
	if err != nil {
		return nil, err
	}
	return &Log{r: r, open: map[journal.Name]*journal.File{}, bad: map[journal.Name]bool{}}, nil
}

// Record is what the log is of.
func (l *Log) Record() *Record { return l.r }

// Dirs are the directories that change when a journal grows or a new one begins.
func (l *Log) Dirs() []string {
	dirs := []string{l.r.Dir.Journals().Path}
	for n := range l.open {
		dirs = append(dirs, l.r.Dir.JournalOf(string(n)))
	}
	sort.Strings(dirs)
	return dirs
}

// Next returns the records that are new, of all journals in order of time. What
// stands before a break is returned with the error that locates it; a break is
// told once.
func (l *Log) Next(ctx context.Context) ([]LogRecord, error) {
	names, err := l.r.Dir.Journals().Names()
	if err != nil {
		return nil, err
	}
	if l.r.Broken == nil {
		l.r.Broken = l.r.Journal.Refresh(ctx) // for the names of members
	}
	var errs []error
	for _, n := range names {
		if l.bad[n] {
			continue
		}
		if err := l.read(ctx, n); err != nil {
			l.bad[n] = true
			if m, ok := l.r.Lead.ByInstance(record.Instance(n)); !ok || !m.Broken || !Broken(err) { // nobody has looked at it
				errs = append(errs, err)
			}
		}
	}
	recs := l.news
	l.news = nil
	for i := range recs {
		recs[i].Name = l.r.Owner(recs[i].Journal)
	}
	sort.SliceStable(recs, func(i, j int) bool { return recs[i].Time.Before(recs[j].Time) })
	return recs, errors.Join(errs...)
}

// read takes up what is new in one journal.
func (l *Log) read(ctx context.Context, n journal.Name) error {
	if j := l.open[n]; j != nil {
		return j.Refresh(ctx)
	}
	opts := l.r.JournalOptions
	opts.SnapshotAfter = -1
	j, err := l.r.Dir.Journals().Open(n, Recorder(func(r journal.Record) { l.news = append(l.news, LogRecord{Record: r}) }), opts)
	l.open[n] = j
	return err
}

// Records returns the records of every journal of a team, journal by journal.
func (s *State) Records() ([]LogRecord, error) {
	var all []LogRecord
	read := func(j journal.Name, name string) error {
		_, err := s.Dir.Journals().Open(j, Recorder(func(r journal.Record) { all = append(all, LogRecord{r, name}) }), s.JournalOptions)
		return err
	}
	if err := read(s.JournalName, string(s.JournalName)); err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Members {
		if err := read(journal.Name(m.Instance), string(m.Name)); err != nil && !(m.Broken && Broken(err)) {
			return nil, err
		}
	}
	return all, nil
}

// Recorder is a fold that keeps records and changes nothing.
type Recorder func(journal.Record)

// Apply implements journal.Fold.
func (f Recorder) Apply(r journal.Record) error { f(r); return nil }
