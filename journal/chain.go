package journal

import (
	"fmt"
	"time"
)

// chain is the position in the chain of lines up to which a journal was read or written.
type chain struct {
	name    Name
	genesis string // head of the empty journal
	seq     Seq    // number of the last record
	head    string // hash of the last line
	sum     sum    // of the last line
	epochs  epochs
}

// epochs holds the newest epoch on record of each instance that wrote.
type epochs map[string]uint64

func newChain(uid string, name Name) chain {
	return chain{name: name, genesis: Genesis(uid, name)}.first()
}

// first is the beginning of the chain.
func (c chain) first() chain {
	return chain{name: c.name, genesis: c.genesis, head: c.genesis, epochs: epochs{}}
}

// stale refuses a writer whose successor has written.
func (c chain) stale(w Writer) error {
	if now := c.epochs[w.Instance]; w.Epoch > 0 && w.Epoch < now {
		return &StaleError{Journal: c.name, Instance: w.Instance, Epoch: w.Epoch, Current: now}
	}
	return nil
}

// follows says why a line is not the next one.
func (c chain) follows(l line) error {
	switch {
	case l.Journal != c.name:
		return fmt.Errorf("the record belongs to journal %q", string(l.Journal))
	case l.Seq != c.seq+1:
		return fmt.Errorf("seq is %d: lines are missing, doubled or moved", l.Seq)
	case l.Prev != c.head:
		return fmt.Errorf("prev is not the hash of the line before: a line was changed or removed")
	}
	return c.stale(l.Writer)
}

// pass moves the chain behind a line. The line's epoch counts once the whole append does.
func (c *chain) pass(l line) { c.seq, c.head, c.sum = l.Seq, l.hash, l.sum }

// count keeps the epoch of a record whose append is complete.
func (c chain) count(r Record) {
	if r.Writer.Epoch > 0 {
		c.epochs[r.Writer.Instance] = r.Writer.Epoch
	}
}

// drawn makes the records of an append that follows c and is in no file, and the chain behind them; their epochs
// do not count yet.
func (c chain) drawn(now time.Time, w Writer, propose func() ([]Draft, error)) (recs []Record, after chain, err error) {
	if err := c.stale(w); err != nil {
		return nil, c, err
	}
	drafts, err := propose()
	if err != nil {
		return nil, c, err
	}
	lines, _, err := c.draw(now, w, drafts, func(b []byte) (Ref, error) { return refOf(b), nil })
	for _, l := range lines {
		recs = append(recs, l.Record)
		c.pass(l)
	}
	return recs, c, err
}

// draw makes the lines of an append that follows c. keep stores a large body. draw refuses records
// that a reader would refuse, before anything is written.
func (c chain) draw(now time.Time, w Writer, drafts []Draft, keep func([]byte) (Ref, error)) (lines []line, raw []byte, err error) {
	for i, d := range drafts {
		l, b, err := c.drawOne(now, w, d, i < len(drafts)-1, keep)
		if err != nil {
			return nil, nil, fmt.Errorf("journal %s: append %s: %w", c.name, d.Kind, err)
		}
		lines, raw = append(lines, l), append(raw, b...)
		c.pass(l)
		if len(raw) > maxAppend {
			return nil, nil, fmt.Errorf("journal %s: the append is over the limit of %d bytes", c.name, maxAppend)
		}
	}
	return lines, raw, nil
}

func (c chain) drawOne(now time.Time, w Writer, d Draft, more bool, keep func([]byte) (Ref, error)) (line, []byte, error) {
	body, err := marshalBody(d.Body)
	if err != nil {
		return line{}, nil, err
	}
	r := Record{V: Version, Must: d.Must, Journal: c.name, Seq: c.seq + 1, Prev: c.head, Time: now, Writer: w, Kind: d.Kind, Body: body}
	if len(body) > MaxInline {
		ref, err := keep(body)
		if err != nil {
			return line{}, nil, err
		}
		r.Ref = &ref
	}
	b := appendLine(nil, r, more)
	if len(b) > maxLine {
		return line{}, nil, errLongLine
	}
	l, err := decodeLine(b)
	if err != nil {
		return line{}, nil, fmt.Errorf("it cannot be written: %w", err)
	}
	if err := c.follows(l); err != nil {
		return line{}, nil, err
	}
	if l.Ref != nil {
		l.Body = body
	}
	return l, b, nil
}
