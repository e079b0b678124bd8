package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/home"
	"waggle/journal"
	"waggle/operator"
	"waggle/record"
)

// Lately is how long ago a team may have ended, or a member may have left, to be named.
const Lately = 24 * time.Hour

// EndedTeam is a team of this wire tree that has ended.
type EndedTeam struct {
	ID   string // names its record only
	Team string
	At   time.Time
	How  string
}

// EndedSince lists the teams of this wire tree that ended after a time, the last first. A team whose
// journal cannot be read is left out: audit verify reports it.
func (o Operator) EndedSince(since time.Time) ([]EndedTeam, error) {
	known, err := o.Home.List()
	if err != nil {
		return nil, err
	}
	var out []EndedTeam
	for _, k := range known {
		if k.Broken != nil || k.Root != o.RootURL || touched(k).Before(since) {
			continue
		}
		r := o.OpenKnown(k)
		if r.Damaged != nil || r.Lead.Ended == nil {
			continue
		}
		if _, at, err := Span(r); err == nil && at.After(since) {
			out = append(out, EndedTeam{ID: k.ID(), Team: string(k.Team), At: at, How: r.Lead.Ended.How})
		}
	}
	slices.SortStableFunc(out, func(a, b EndedTeam) int { return b.At.Compare(a.At) })
	return out, nil
}

// Span is when a team was opened and when it ended, as far as its journal can be read: the zero time where it has no
// record of that.
func Span(s *operator.State) (opened, ended time.Time, err error) {
	opts := s.JournalOptions
	opts.SnapshotAfter, opts.ReadOnly = -1, true
	_, err = s.Dir.OpenJournal(s.JournalName, operator.Recorder(func(r journal.Record) {
		if opened.IsZero() {
			opened = r.Time
		}
		if r.Kind == record.KindEnded {
			ended = r.Time
		}
	}), opts)
	return opened, ended, err
}

// touched is when a file of the leader's journal was last written: it spares the reading of old
// journals.
func touched(k home.Known) (last time.Time) {
	files, err := filepath.Glob(filepath.Join(k.Dir.JournalOf(string(journal.Leader)), "*"))
	if err != nil {
		return last
	}
	for _, f := range files {
		if info, err := os.Lstat(f); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
