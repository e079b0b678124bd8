// Package poll is the loop between a mailbox and a machine: receive, authorise
// and journal each control entry before any chat, apply what the record calls
// for, deliver chat only to an idle session, and mark read what the journal owns
// (protocol §5.3, invariants 5 and 12).
//
//	p := poll.Poller{Name: "tester", Box: box, Machine: m, Mark: true}
//	err := p.Pass(ctx)                   // once
//	err = p.Run(ctx, nudges, retry)      // and again for every nudge
//
// Delivery is at least once and in file order, shutdown requests before all. The
// read flag is output: a pass never looks at it to tell what is new. An error
// leaves everything that is not on record as it was, for the next pass.
package poll

import (
	"context"
	"errors"
	"fmt"

	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/protocol"
)

// Machine is a leader or a worker as the loop sees it. The loop calls it from
// one goroutine.
type Machine interface {
	// Refresh brings the machine's journals up to date.
	Refresh(ctx context.Context) error
	// Standing is the machine's state of an entry.
	Standing(entry string) Standing
	// Receive judges one control entry and journals what it means. After nil
	// the journal owns the entry. ErrLater puts it off.
	Receive(ctx context.Context, in message.Incoming) error
	// Apply carries out what the journal calls for: mail to send, members to record as left. It is
	// called once a pass, after every control entry and before any chat, also when there was no
	// mail.
	Apply(ctx context.Context) error
	// Deliver is given the chat of a batch in file order and returns the ids of
	// the entries that the session has taken; none when it is busy.
	Deliver(ctx context.Context, chat []message.Incoming) (taken []mailbox.ID, err error)
}

// ErrLater is what Receive returns, or wraps, when an entry cannot be judged now although others
// can. The entry stays as it is, and so do later entries of the same sender; the pass continues.
// The machine has logged the reason.
var ErrLater = errors.New("not now")

// Standing is a machine's state of an entry of its mailbox.
type Standing int

const (
	// New: the entry was neither judged nor taken.
	New Standing = iota
	// Owned: the journal has it. It is marked read when it is not yet: a crash
	// came between.
	Owned
	// Old: the entry is from before the member joined. It is never delivered and never marked.
	Old
)

// Poller runs passes over one mailbox.
type Poller struct {
	Name    protocol.MemberName
	Box     mailbox.Store
	Machine Machine
	// Mark says whether owned entries are marked read. False for a mailbox that
	// another program leads (trust §5).
	Mark bool

	settled []settled // the entries that a mailbox begins with and that need no look any more
}

// settled is an entry without work: it is marked and owned, unless the file changes it.
type settled struct {
	id   mailbox.ID
	read bool // it is settled only as long as it is marked
}

// Pass runs one pass. An error leaves everything that was not journaled as it
// was: the next pass sees it again.
func (p *Poller) Pass(ctx context.Context) error {
	// The mailbox is read before the journals: a sender journals first, so an
	// entry whose record is not there by then has none.
	entries, err := p.Box.Entries(ctx)
	if err != nil {
		return fmt.Errorf("poll %s: %w", p.Name, err)
	}
	if err := p.Machine.Refresh(ctx); err != nil {
		return fmt.Errorf("poll %s: %w", p.Name, err)
	}
	ctl, chat, done := p.sort(entries)
	done, err = p.receive(ctx, ctl, done)
	if err == nil {
		err = p.Machine.Apply(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("poll %s: %w", p.Name, err), p.mark(ctx, done))
	}
	taken, err := p.Machine.Deliver(ctx, chat)
	if err != nil {
		err = fmt.Errorf("poll %s: %w", p.Name, err)
	}
	return errors.Join(err, p.mark(ctx, append(done, taken...)))
}

// receive hands over control and adds the entries to mark to done.
func (p *Poller) receive(ctx context.Context, ctl []item, done []mailbox.ID) ([]mailbox.ID, error) {
	later := map[string]bool{}
	for _, it := range ctl {
		from := it.in.Envelope.From
		if later[from] {
			continue // keep the order of each sender
		}
		err := p.Machine.Receive(ctx, it.in)
		if errors.Is(err, ErrLater) {
			later[from] = true
			continue
		}
		if err != nil {
			return done, err
		}
		if !it.read {
			done = append(done, it.id)
		}
	}
	return done, nil
}

func (p *Poller) mark(ctx context.Context, ids []mailbox.ID) error {
	if !p.Mark || len(ids) == 0 {
		return nil
	}
	if err := p.Box.MarkRead(ctx, ids...); err != nil {
		return fmt.Errorf("poll %s: mark read: %w", p.Name, err)
	}
	return nil
}

type item struct {
	in   message.Incoming
	id   mailbox.ID
	read bool
}

// sort splits what is new into control and chat, both in file order but with
// shutdown before all (protocol §6.2). Entries that the journal owns but that are
// still unread are returned for marking: a crash came between. The read flag is
// output: it never makes an entry old (trust §1).
func (p *Poller) sort(entries []mailbox.Entry) (ctl []item, chat []message.Incoming, done []mailbox.ID) {
	var rest []item
	size := 0 // of the chat
	begin := p.unchanged(entries)
	for i, e := range entries[begin:] {
		if e.Err != nil {
			p.settle(begin+i, e.ID, false)
			continue // it delays no other entry; inbox and doctor show it
		}
		id := e.ID.String()
		switch p.Machine.Standing(id) {
		case Old:
			if e.Envelope.Read { // one that is not may be Owned later, and is marked then
				p.settle(begin+i, e.ID, true)
			}
			continue
		case Owned:
			if !e.Envelope.Read {
				done = append(done, e.ID)
			} else {
				p.settle(begin+i, e.ID, true)
			}
			continue
		}
		in := message.Incoming{Entry: id, Box: p.Name, Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}
		if s, ok := p.Machine.(Sharing); ok && !s.Mine(in) {
			if e.Envelope.Read { // whose it is has done with it
				p.settle(begin+i, e.ID, true)
			}
			continue
		}
		switch {
		case p.chats(in):
			if b, ok := p.Machine.(Bounded); ok && !b.Wants(in, size) {
				continue
			}
			chat, size = append(chat, in), size+len(in.Envelope.Text)
		case in.Decoded.Kind == protocol.KindShutdownRequest:
			ctl = append(ctl, item{in, e.ID, e.Envelope.Read})
		default:
			rest = append(rest, item{in, e.ID, e.Envelope.Read})
		}
	}
	return append(ctl, rest...), chat, done
}

// unchanged returns how many entries a mailbox begins with that were settled by an
// earlier pass and are as they were. A mailbox keeps what was read: a pass must not
// cost more the longer it gets.
func (p *Poller) unchanged(entries []mailbox.Entry) int {
	n := 0
	for n < len(p.settled) && n < len(entries) && p.settled[n].id == entries[n].ID && (!p.settled[n].read || entries[n].Envelope.Read) {
		n++
	}
	p.settled = p.settled[:n]
	return n
}

// settle notes the entry at position i as settled if all before it are.
func (p *Poller) settle(i int, id mailbox.ID, read bool) {
	if i == len(p.settled) {
		p.settled = append(p.settled, settled{id, read})
	}
}

// Run runs a pass at once and then one for each nudge. It ends when ctx ends, when
// nudges is closed, or when a pass fails with an error that retry does not accept. A
// pass that failed is retried at the next nudge, never sooner: the interval of the
// nudges is the back-off.
func (p *Poller) Run(ctx context.Context, nudges <-chan struct{}, retry func(error) bool) error {
	for {
		if err := p.Pass(ctx); err != nil && (ctx.Err() != nil || !retry(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-nudges:
			if !ok {
				return ctx.Err()
			}
		}
	}
}

// Final reports an error after which a journal cannot be used any more: it is
// broken, written by a newer program, refused by its fold, or taken over by a
// later start of the writer. Anything else may pass.
func Final(err error) bool {
	if errors.As(err, new(*journal.DraftError)) {
		return false // nothing was written: only this one record is refused
	}
	return errors.As(err, new(*journal.BrokenError)) || errors.As(err, new(*journal.FutureError)) || errors.As(err, new(*journal.StaleError))
}

// Bounded is a Machine that takes a part of the chat at a time. Chat that it does not want stays
// unread, for a later pass.
type Bounded interface {
	Machine
	// Wants reports whether chat is to be delivered, when so many bytes of text before it
	// in the mailbox are. It is asked after Refresh, in file order.
	Wants(in message.Incoming, before int) bool
}

// Sharing is a Machine whose mailbox another machine reads too. Each entry is for one of
// them: the other never judges, delivers or marks it.
type Sharing interface {
	Machine
	// Mine reports whether a new entry is for this machine. It is asked after Refresh.
	Mine(in message.Incoming) bool
}

// Reader is a Machine whose session is given some control messages as words.
type Reader interface {
	Machine
	// Words reports a control message that has no effect here and is delivered as chat.
	Words(in message.Incoming) bool
}

// chats reports an entry that is for the session, and not for the machine.
func (p *Poller) chats(in message.Incoming) bool {
	r, ok := p.Machine.(Reader)
	return !in.IsControl() || ok && r.Words(in)
}
