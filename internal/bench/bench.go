// Package bench compares a mailbox with the algorithm that every other program
// uses on the same file: lock, read all of it, parse, change, write all of it,
// rename. go test -bench and the bench command run the same scenarios:
//
//	result, err := bench.Run(ctx, bench.Options{Dir: scratch, Now: time.Now, Shuffle: rand.Shuffle})
//
// Both take turns on files of the same content in one directory, so that what
// slows one down slows down the other. Only ratios within one run mean anything:
// times depend on the disk and on what else runs.
package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/protocol"
)

// Sizes are the inboxes of a full comparison, in entries.
var Sizes = []int{10, 1000, 10_000, 100_000}

// Operations, in the order of a report.
const (
	Append = "append" // one message behind n that were read
	Poll   = "poll"   // nothing new among n
	Read   = "read"   // one new message behind n that were read
	Mark   = "mark"   // that message marked read
)

// Ops lists the operations.
var Ops = []string{Append, Poll, Read, Mark}

// Options say what to compare. Dir, Now and Shuffle are required.
type Options struct {
	Dir     string        // scratch space on the file system of interest
	Sizes   []int         // nil: Sizes
	Rounds  int           // per size; 0: 3
	Budget  time.Duration // for one operation of one side in one round; 0: 50 ms. One sample is always taken
	Now     func() time.Time
	Shuffle func(n int, swap func(i, j int)) // the order within a round
	Done    func(size int)                   // called when a size is done; may be nil
}

// Row compares one operation at one size. Times are medians in microseconds.
type Row struct {
	Op      string  `json:"op"`
	Entries int     `json:"entries"`
	Waggle  float64 `json:"waggle_us"`
	Peers   float64 `json:"peers_us"`
	Ratio   float64 `json:"ratio"`   // how many times faster we are
	Samples int     `json:"samples"` // of the side with fewer
}

// Run measures every operation at every size. Every file that was written is
// checked: an error says that one is not what it should be.
func Run(ctx context.Context, o Options) ([]Row, error) {
	if o.Sizes == nil {
		o.Sizes = Sizes
	}
	o.Rounds, o.Budget = cmp.Or(o.Rounds, 3), cmp.Or(o.Budget, 50*time.Millisecond)
	rows := []Row{}
	for _, n := range o.Sizes {
		more, err := o.size(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("bench: %d entries: %w", n, err)
		}
		rows = append(rows, more...)
		if o.Done != nil {
			o.Done(n)
		}
	}
	return rows, nil
}

// sides are who is compared.
var sides = map[string]func(path string) (side, error){
	"waggle": newWaggle,
	"peers":  func(path string) (side, error) { return peers{path}, nil },
}

func (o Options) size(ctx context.Context, n int) ([]Row, error) {
	file := Content(n)
	type cell struct{ op, side string }
	var cells []cell
	for _, op := range Ops {
		for name := range sides {
			cells = append(cells, cell{op, name})
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return strings.Compare(a.op+a.side, b.op+b.side) })
	took := map[cell][]time.Duration{}
	for range o.Rounds {
		o.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
		for _, c := range cells {
			s, err := o.samples(ctx, c.op, c.side, file, n)
			if err != nil {
				return nil, fmt.Errorf("%s by %s: %w", c.op, c.side, err)
			}
			took[c] = append(took[c], s...)
		}
	}
	var rows []Row
	for _, op := range Ops {
		ours, theirs := took[cell{op, "waggle"}], took[cell{op, "peers"}]
		w, p := median(ours), median(theirs)
		rows = append(rows, Row{Op: op, Entries: n, Waggle: w, Peers: p, Ratio: p / w, Samples: min(len(ours), len(theirs))})
	}
	return rows, nil
}

// maxSamples bounds what one round adds to an inbox.
const maxSamples = 50

// samples repeats one operation on a fresh inbox until the budget is spent. The
// first is a warm-up that does not count: a process reads its mailbox once.
func (o Options) samples(ctx context.Context, op, who string, file []byte, n int) ([]time.Duration, error) {
	dir, err := os.MkdirTemp(o.Dir, "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tester.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return nil, err
	}
	sc, err := NewScenario(ctx, who, op, path, n)
	if err != nil {
		return nil, err
	}
	if err := sc.Prepare(); err != nil {
		return nil, err
	}
	if err := sc.Do(); err != nil {
		return nil, err
	}
	var took []time.Duration
	for spent := time.Duration(0); len(took) == 0 || spent < o.Budget && len(took) < min(maxSamples, max(10, n/10)); {
		if err := errors.Join(ctx.Err(), sc.Prepare()); err != nil {
			return nil, err
		}
		began := o.Now()
		err := sc.Do()
		d := o.Now().Sub(began)
		if err != nil {
			return nil, err
		}
		took, spent = append(took, d), spent+d
	}
	return took, sc.check(path)
}

func median(ds []time.Duration) float64 {
	slices.Sort(ds)
	return float64(ds[len(ds)/2].Nanoseconds()) / 1000
}

// side is one way to work on a mailbox file.
type side interface {
	append(context.Context, protocol.Envelope) error
	unread(context.Context) (int, error)
	mark(context.Context) error // the last entry
}

// Scenario is one operation, repeated on one inbox.
type Scenario struct {
	side side
	ctx  context.Context
	op   string
	have int
	new  int
}

// NewScenario is an operation on an inbox at path, which holds n
// read entries, by "waggle" or "peers".
func NewScenario(ctx context.Context, who, op, path string, n int) (*Scenario, error) {
	s, err := sides[who](path)
	return &Scenario{side: s, ctx: ctx, op: op, have: n}, err
}

// Prepare does what is not measured before the next Do.
func (s *Scenario) Prepare() error {
	if s.op != Read && s.op != Mark {
		return nil
	}
	if s.new > 0 {
		if err := s.side.mark(s.ctx); err != nil {
			return err
		}
	}
	s.have, s.new = s.have+1, 1
	if err := s.side.append(s.ctx, message(s.have)); err != nil || s.op == Read {
		return err
	}
	_, err := s.side.unread(s.ctx)
	return err
}

// Do is what is measured.
func (s *Scenario) Do() error {
	switch s.op {
	case Append:
		s.have, s.new = s.have+1, s.new+1
		return s.side.append(s.ctx, message(s.have))
	case Mark:
		s.new = 0
		return s.side.mark(s.ctx)
	}
	n, err := s.side.unread(s.ctx)
	if err == nil && n != s.new {
		err = fmt.Errorf("%d unread messages, want %d", n, s.new)
	}
	return err
}

// check looks whether the file holds what was written.
func (s *Scenario) check(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var list []struct{ Read bool }
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("the inbox is not valid any more: %w", err)
	}
	unread := 0
	for _, e := range list {
		if !e.Read {
			unread++
		}
	}
	if len(list) != s.have || unread != s.new {
		return fmt.Errorf("the inbox has %d entries, %d of them unread; want %d and %d", len(list), unread, s.have, s.new)
	}
	return nil
}

// message is an entry of about 300 bytes.
func message(n int) protocol.Envelope {
	return protocol.Envelope{From: "tester", Text: strings.Repeat("words ", 20), Summary: "a test",
		Timestamp: fmt.Sprintf("2026-11-20T18:%02d:%02d.%03dZ", n/60_000%60, n/1000%60, n%1000), Color: "blue",
		MsgV: 1, MsgID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n), Type: "message"}
}

// Content is an inbox of n messages that were read, as real clients lay it out.
func Content(n int) []byte {
	out := []byte("[")
	for i := range n {
		e := message(i)
		e.Read = true
		if i > 0 {
			out = append(out, ',')
		}
		out = e.AppendJSON(append(out, "\n  "...))
	}
	if n > 0 {
		out = append(out, '\n')
	}
	return append(out, ']')
}
