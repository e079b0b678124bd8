package worker

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"waggle/control"
	"waggle/mailbox"
	"waggle/poll"
	"waggle/protocol"
	"waggle/task"
)

// flush puts every recorded message that is not known to be sent into its mailbox, in order for
// each recipient, the lead's first. A mailbox that is locked or missing keeps its messages for the
// next pass and delays no other. done reports whether the lead has everything, or cannot get more.
func (w *Worker) flush(ctx context.Context) (done bool) {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.mu.Lock()
	todo := slices.Clone(w.p.Fold.Outbox[w.flushed:])
	w.mu.Unlock()
	slices.SortStableFunc(todo, func(a, b control.Sending) int { return cmp.Compare(rank(a), rank(b)) })
	held := map[protocol.MemberName]error{}
	there := map[protocol.MemberName][]mailbox.Entry{}
	for _, s := range todo {
		to := s.Mail.To
		if w.sent[s.Seq] || held[to] != nil {
			continue
		}
		err := w.put(ctx, s, there)
		if ctx.Err() != nil {
			return false
		}
		w.trouble.Note("mailbox "+string(to), err, "on record and not sent yet, will retry", "kind", s.Mail.Kind, "to", to)
		if err != nil {
			held[to], w.tried[s.Seq] = err, true
			continue
		}
		w.sent[s.Seq] = true
	}
	w.mu.Lock()
	for w.flushed < len(w.p.Fold.Outbox) && w.sent[w.p.Fold.Outbox[w.flushed].Seq] {
		delete(w.sent, w.p.Fold.Outbox[w.flushed].Seq)
		delete(w.tried, w.p.Fold.Outbox[w.flushed].Seq)
		w.flushed++
	}
	w.mu.Unlock()
	err := held[protocol.Lead]
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

func rank(s control.Sending) int {
	if s.Mail.To == protocol.Lead {
		return 0
	}
	return 1
}

// put puts one message into its mailbox. When an earlier attempt may have done so, it checks the
// mailbox first. The caller holds sending.
func (w *Worker) put(ctx context.Context, s control.Sending, there map[protocol.MemberName][]mailbox.Entry) error {
	env, err := s.Mail.Open()
	if err != nil {
		return err
	}
	box, err := w.boxOf(s.Mail.To)
	if err != nil {
		return err
	}
	if s.Seq <= w.earlier || w.tried[s.Seq] {
		arrived, err := w.arrived(ctx, s, box, mailbox.HashOf(env), there)
		if err == nil && arrived {
			w.keepEye(s, env)
		}
		if err != nil || arrived {
			return err
		}
	}
	if err := mailbox.AppendOnce(ctx, box, env); err != nil {
		return err
	}
	w.keepEye(s, env)
	return nil
}

// arrived reports whether a message is in its mailbox, or was seen there. there
// holds what mailboxes held, so that each is read once.
func (w *Worker) arrived(ctx context.Context, s control.Sending, box mailbox.Store, hash string, there map[protocol.MemberName][]mailbox.Entry) (bool, error) {
	w.mu.Lock()
	seen := s.Mail.To == protocol.Lead && w.p.Lead.Owns(mailbox.ID{Hash: hash, Occurrence: 1}.String())
	w.mu.Unlock()
	if seen {
		return true, nil
	}
	entries, ok := there[s.Mail.To]
	if !ok {
		var err error
		if entries, err = box.Entries(ctx); err != nil {
			return false, err
		}
		there[s.Mail.To] = entries
	}
	return slices.ContainsFunc(entries, func(e mailbox.Entry) bool { return e.ID.Hash == hash }), nil
}

func (w *Worker) boxOf(name protocol.MemberName) (mailbox.Store, error) {
	if name == protocol.Lead {
		return w.p.LeadBox, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.p.Peer(name)
}

// shown is how the turn of a task ended.
type shown struct {
	id     task.ID
	ref    uint64 // of the order
	failed bool
}

// show updates the board for turns whose end is recorded: a task is completed, or pending again
// when it failed.
func (w *Worker) show(ctx context.Context) {
	w.mu.Lock()
	ends := slices.DeleteFunc(w.unshown, func(s shown) bool { return s.failed && !w.newest(s) })
	w.unshown = nil
	w.mu.Unlock()
	for _, s := range ends {
		err := w.showOne(ctx, s)
		w.trouble.Note("board "+string(s.id), err, "the board does not show how the task's turn ended", "task", s.id)
		var state *task.StateError
		if err != nil && !errors.As(err, &state) { // a task that has another state stays
			w.mu.Lock()
			w.unshown = append(w.unshown, s)
			w.mu.Unlock()
		}
	}
}

// newest reports whether no later order to do the task has come. The caller holds
// mu.
func (w *Worker) newest(s shown) bool {
	return !slices.ContainsFunc(w.p.Fold.Tasks, func(t *control.TaskState) bool { return t.ID == string(s.id) && t.Ref > s.ref })
}

func (w *Worker) showOne(ctx context.Context, s shown) error {
	t, err := w.p.Board.Get(ctx, s.id)
	var missing *task.NotFoundError
	switch {
	case errors.As(err, &missing):
		return nil
	case err != nil:
		return err
	case t.Status == task.Completed, s.failed && t.Status != task.InProgress:
		return nil
	case s.failed:
		_, err = w.p.Board.Pause(ctx, s.id, w.p.Fold.Name)
	default:
		if w.givenBack(t) {
			if _, err := w.p.Board.Claim(ctx, s.id, w.p.Fold.Name); err != nil {
				return err
			}
		}
		_, err = w.p.Board.Complete(ctx, s.id, w.p.Fold.Name)
	}
	return err
}

// fetch puts messages into this worker's own mailbox that the leader's journal has for it and that
// were not delivered: a leader may have died between the two (trust §3). So the mailbox has every
// message that was received.
func (w *Worker) fetch(ctx context.Context) {
	overdue := w.overdue()
	if len(overdue) == 0 {
		w.trouble.Note("fetch", nil, "")
		return
	}
	err := w.fetchAll(ctx, overdue)
	w.trouble.Note("fetch", err, "an overdue order could not be fetched, will retry")
}

// overdue lists the orders whose time limit for an effect has passed.
func (w *Worker) overdue() (os []*control.Order) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.p.Minter.Now()
	for _, o := range w.p.Lead.Unclosed(w.p.Fold.Instance) {
		wait := w.p.Overdue
		if o.Sent {
			wait *= 3 // it was delivered, and is missing now
		}
		if o.Mail != nil && !w.fetched[uint64(o.Seq)] && now.Sub(o.At) >= wait && w.p.Fold.Wants(o) && w.p.Lead.Unsaid(o.Hash, now) == "" {
			os = append(os, o)
		}
	}
	return os
}

// copies is how many copies of an order may be in the mailbox: the sent one and the fetched one.
const copies = 2

func (w *Worker) fetchAll(ctx context.Context, os []*control.Order) error {
	entries, err := w.p.Box.Entries(ctx)
	if err != nil {
		return err
	}
	for _, o := range os {
		env, err := o.Mail.Open()
		if err != nil {
			return err
		}
		hash, n, fresh := mailbox.HashOf(env), 0, false
		for _, e := range entries {
			if e.ID.Hash == hash {
				n++
				fresh = fresh || w.Standing(e.ID.String()) == poll.New
			}
		}
		if fresh {
			continue // it has just arrived: the next pass takes it
		}
		switch {
		case n == 0: // its sender may be about to put it there
			err = mailbox.AppendOnce(ctx, w.p.Box, env)
		case n < copies:
			err = w.p.Box.Append(ctx, env)
		}
		if err != nil {
			return err
		}
		if n < copies {
			w.wake()
		}
		if n == 0 && o.Sent {
			w.p.Log.Warn("an order was taken out of this member's mailbox before it was read, by a program that writes without the lock: fetched from the leader's journal",
				"kind", o.Mail.Kind, "seq", o.Seq)
		}
		w.mu.Lock()
		w.fetched[uint64(o.Seq)] = true
		w.mu.Unlock()
	}
	return nil
}
