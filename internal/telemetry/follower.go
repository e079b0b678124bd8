package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"waggle/control"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// Follower tells an observer what is new on record. It is used by one goroutine at
// a time.
type Follower struct {
	journals journal.Dir
	cursor   string
	to       machine.Observer
	told     map[journal.Name]uint64 // up to which record
	lead     *control.Leader
	open     map[journal.Name]journal.Journal
	fresh    []heard // not told yet
}

// heard is a transition that is on record, and where it stands among those of
// other journals: by its time, but never before what its own journal has before it.
type heard struct {
	machine.Observation
	journal journal.Name
	at      time.Time
}

// NewFollower opens the leader's journal and reads how far was told, of the file cursor. One process writes that: the one
// that leads.
func NewFollower(journals journal.Dir, cursor string, to machine.Observer) (*Follower, error) {
	f := &Follower{journals: journals, cursor: cursor, to: to, told: map[journal.Name]uint64{}, open: map[journal.Name]journal.Journal{}}
	b, err := atomicfile.ReadFile(cursor, atomicfile.Options{})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(b, &f.told); err != nil {
			return nil, fmt.Errorf("telemetry: %s does not say how far was told; remove it to be told everything again: %w", cursor, err)
		}
	}
	f.lead = control.NewLeader(f.hear(journal.Leader))
	return f, f.begin(journal.Leader, f.lead)
}

// begin opens a journal without its snapshots: those hold states, not moves.
func (f *Follower) begin(name journal.Name, fold journal.Fold) error {
	j, err := f.journals.Open(name, fold, journal.Options{SnapshotAfter: -1})
	if err == nil {
		f.open[name] = j
	}
	return err
}

// hear keeps what one journal has that was not told.
func (f *Follower) hear(name journal.Name) machine.Observer {
	var last time.Time
	return func(o machine.Observation) {
		if o.Time.After(last) {
			last = o.Time
		}
		if o.Seq > f.told[name] {
			f.fresh = append(f.fresh, heard{o, name, last})
		}
	}
}

// Pass tells what is new: each journal in its order, and what happened in several
// by the time. A member whose journal cannot be read keeps what it has for a later
// pass; the error says so.
func (f *Follower) Pass(ctx context.Context) error {
	err := f.open[journal.Leader].Refresh(ctx)
	for _, m := range f.lead.Members {
		err = errors.Join(err, f.member(ctx, m.Instance))
	}
	if len(f.fresh) == 0 {
		return err
	}
	slices.SortStableFunc(f.fresh, func(a, b heard) int { return a.at.Compare(b.at) })
	for _, h := range f.fresh {
		f.to(h.Observation)
		f.told[h.journal] = h.Seq
	}
	f.fresh = nil
	return errors.Join(err, f.note())
}

func (f *Follower) member(ctx context.Context, i record.Instance) error {
	name := journal.Name(i)
	if j := f.open[name]; j != nil {
		return j.Refresh(ctx)
	}
	return f.begin(name, control.NewWorker(f.hear(name)))
}

// note remembers how far was told.
func (f *Follower) note() error {
	if err := jsonfile.WriteLine(f.cursor, f.told, atomicfile.Options{}); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	return nil
}
