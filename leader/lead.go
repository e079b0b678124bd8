package leader

import (
	"context"

	"waggle/control"
	"waggle/journal"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
)

var _ poll.Sharing = (*Leader)(nil)

// Mine implements poll.Sharing. The lead's mailbox has two readers: the worker of the lead's agent
// takes words to the lead and orders for the agent; Mine reports the entries that remain for the
// leader.
func (l *Leader) Mine(in message.Incoming) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.p.Fold.ForAgent(in)
}

// spokenTo reports an idle notice of a member to whom the lead's agent has said
// something since the member's last one: it is what the lead waits for. The caller holds
// mu.
func (l *Leader) spokenTo(in message.Incoming, from *control.Worker) bool {
	agent, ok := l.p.Fold.LeadAgent()
	if !ok || from == nil || in.Decoded.Kind != protocol.KindIdleNotification {
		return false
	}
	p := l.peers[agent.Instance]
	m, ok := l.p.Fold.ByInstance(from.Instance)
	return ok && p != nil && p.fold.SpokeTo(m.Name, m.IdleAt)
}

// told marks the idle notices among drafts.
func told(ds []journal.Draft, spoken bool) []journal.Draft {
	for i, d := range ds {
		if s, ok := d.Body.(record.Seen); ok && s.Kind == protocol.KindIdleNotification {
			s.Told = spoken
			ds[i].Body = s
		}
	}
	return ds
}

// LeadSettled reports whether the lead's agent was given everything that is for it and works on
// nothing, or no lead's agent runs. busy reports whether a turn of it runs.
func (l *Leader) LeadSettled(ctx context.Context) (settled, busy bool, err error) {
	l.mu.Lock()
	m, ok := l.p.Fold.LeadAgent()
	if !ok || m.Died != nil {
		l.mu.Unlock()
		return true, false, nil
	}
	w, err := l.peer(ctx, m.Instance)
	if err != nil {
		l.mu.Unlock()
		return false, false, err
	}
	settled, busy = w.Turn() == nil && len(l.p.Fold.NewsAfter(w.NewsSeq)) == 0, w.Turn() != nil
	l.mu.Unlock()
	if !settled {
		return false, busy, nil
	}
	entries, err := l.p.Box.Entries(ctx)
	if err != nil {
		return false, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range entries {
		id := e.ID.String()
		if e.Err != nil || w.Owns(id) || l.p.Fold.Unsaid(id, l.p.Minter.Now()) != "" || w.Copy(id, l.p.Fold) {
			continue
		}
		in := message.Incoming{Entry: id, Box: protocol.Lead, Envelope: e.Envelope, Decoded: protocol.Decode(e.Envelope)}
		if !in.IsControl() && l.p.Fold.ForAgent(in) && l.p.Fold.Wakes(id, e.Envelope) {
			return false, false, nil
		}
	}
	return true, false, nil
}
