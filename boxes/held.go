package boxes

import (
	"context"
	"slices"

	"waggle/mailbox"
	"waggle/protocol"
)

// What the owner of a mailbox fetches from a journal is put into the mailbox. A file that cannot be locked, because
// another program holds its lock or what is at the path of the lock cannot be set aside, must not keep it from the owner:
// then it is in memory until it is read. The sender puts it into the file when it can.

// locked reports a change of the file to Options.Locked, and returns the error if that is not the caller's.
func (h *Watched) locked(ctx context.Context, err error) error {
	if h.o.Locked == nil || ctx.Err() != nil {
		return nil
	}
	h.o.Locked(err)
	return err
}

// hold keeps entries that could not be appended.
func (h *Watched) hold(ctx context.Context, entries []protocol.Envelope) error {
	m := mailbox.NewMemory(mailbox.Options{})
	if err := m.Append(ctx, entries...); err != nil {
		return err
	}
	list, err := m.Entries(ctx)
	if err != nil {
		return err
	}
	there, err := h.Entries(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		for _, e := range there {
			if e.ID.Hash == list[i].ID.Hash {
				list[i].ID.Occurrence++
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = append(h.held, list...)
	return nil
}

// withHeld adds the held entries to those of the file. One that the file has is held no more.
func (h *Watched) withHeld(list []mailbox.Entry) []mailbox.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = slices.DeleteFunc(h.held, func(held mailbox.Entry) bool {
		return slices.ContainsFunc(list, func(e mailbox.Entry) bool { return e.ID == held.ID })
	})
	for _, e := range h.held {
		e.Index = len(list)
		list = append(list, e)
	}
	return list
}

// give takes the held entries that were read off the list, and returns the ids of the others.
func (h *Watched) give(ids []mailbox.ID) (others []mailbox.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.held) == 0 {
		return ids
	}
	was := func(id mailbox.ID) bool {
		return slices.ContainsFunc(h.held, func(e mailbox.Entry) bool { return e.ID == id })
	}
	for _, id := range ids {
		if !was(id) {
			others = append(others, id)
		}
	}
	h.held = slices.DeleteFunc(h.held, func(e mailbox.Entry) bool { return slices.Contains(ids, e.ID) })
	return others
}

func envelopes(list []mailbox.Entry) []protocol.Envelope {
	all := make([]protocol.Envelope, len(list))
	for i, e := range list {
		all[i] = e.Envelope
	}
	return all
}
