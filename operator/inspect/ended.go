package inspect

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waggle/home"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/protocol"
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

// EndedStatus is how a team ended, and what is kept of it.
type EndedStatus struct {
	Team    string                  `json:"team"`
	State   string                  `json:"state"` // ended
	ID      string                  `json:"id"`    // of its record; a later team of the name has another
	Opened  time.Time               `json:"opened"`
	At      time.Time               `json:"ended_at"`
	How     string                  `json:"how"` // down, run, deleted, replaced
	Members []EndedMember           `json:"members"`
	Tasks   []EndedTask             `json:"tasks"`
	Kept    []operator.KeptWorktree `json:"worktrees"` // worktrees and branches that are still there; path "": only the branch is
	Pending int                     `json:"pending"`   // 0: nothing waits
	Dir     string                  `json:"dir"`       // of its journals and its archive
}

// EndedMember is how a member of an ended team left.
type EndedMember struct {
	Name   string    `json:"name"`
	State  string    `json:"state"` // left
	How    string    `json:"how"`   // "": no record says so
	Detail string    `json:"detail"`
	At     time.Time `json:"at"`
	Lead   string    `json:"-"` // the team file's name of the agent behind the lead; "" of a member
}

// EndedTask is a task of an ended team, as it was at the end.
type EndedTask struct {
	ID      string          `json:"id"`
	Subject string          `json:"subject"`
	Owner   string          `json:"owner"`
	State   board.TaskState `json:"state"`
	Note    string          `json:"note"` // what the board does not show
}

// EndedStatus returns how a team ended. The operator must be one of operator.EndedTeam.
func (o Operator) EndedStatus(ctx context.Context, name protocol.TeamName) (*EndedStatus, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if err != nil {
		return nil, err
	}
	st := &EndedStatus{Team: string(name), State: "ended", ID: o.Reads.ID(), How: s.Lead.Ended.How, Members: []EndedMember{}, Tasks: []EndedTask{}, Dir: s.Dir.Path}
	if st.Opened, st.At, err = Span(s); err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Members {
		e := EndedMember{Name: string(m.Name), Lead: m.Joined.Lead, State: "left"}
		if m.Left != nil {
			e.At, e.How, e.Detail = m.LeftAt, m.Left.How, m.Left.Detail
		}
		st.Members = append(st.Members, e)
	}
	list, err := board.Of(o.Operator).Tasks(ctx, name, false)
	if err == nil { // the rest is shown when the archive has no task list
		for _, t := range list.Tasks {
			st.Tasks = append(st.Tasks, EndedTask{ID: string(t.ID), Subject: t.Subject, Owner: t.Owner, State: t.State, Note: t.Note.Text})
		}
	}
	st.Kept, err = process.Of(o.Operator).KeptWorktrees(ctx, s)
	return st, err
}
