package control

import (
	"slices"
	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// supersededText is the reason of what an older program asked and a newer one closed.
const supersededText = "superseded: it was asked by an older waggle, which bound less of it; it is asked again"

// Older reports whether the journal holds a question or a grant of an older sum that
// has still to be closed.
func (w *Worker) Older() bool {
	return slices.ContainsFunc(w.Calls, func(c *Call) bool { return c.Ask.Sum() < record.SumN && (c.Open() || c.revocable()) })
}

// Supersede closes the requests of an older program that this one would bind more closely (trust
// §2): open requests, and allows that were not used. The decisions in the leader's journal are
// applied first: a denial stays in force, and an allow is closed once it is here.
func (w *Worker) Supersede(l *Leader) []journal.Draft {
	return w.closes(supersededText, func(c *Call) bool {
		r, ok := l.Request(c.Key)
		return c.Ask.Sum() < record.SumN && (c.revocable() || c.Open() && (!ok || r.Decided == nil))
	})
}

// Revoke revokes the allow of a call that was not started, because the facts that were recorded
// with the request have changed. It drafts nothing when there is no such allow.
func (w *Worker) Revoke(k record.Key, why string) []journal.Draft {
	c, ok := w.byKey[k]
	if !ok || !c.revocable() {
		return nil
	}
	return []journal.Draft{c.revoke(why)}
}

// outrun closes open requests for the same call without a waiting session, where the files that the
// call names have changed: the new request replaces them.
func (w *Worker) outrun(kind protocol.Kind, a record.Ask) []journal.Draft {
	if kind != protocol.KindPermissionRequest {
		return nil
	}
	want := questionOf(kind, a.Bare())
	return w.closes("superseded: what it names has changed, and it is asked again", func(c *Call) bool {
		return c.Kind == kind && c.Open() && !w.waits(c) && questionOf(kind, c.Ask.Bare()) == want
	})
}

// closes drafts that the worker itself closes those of its calls.
func (w *Worker) closes(why string, of func(*Call) bool) (ds []journal.Draft) {
	for _, c := range those(w.Calls, of) {
		ds = append(ds, c.revoke(why))
	}
	return ds
}

func (c *Call) revoke(why string) journal.Draft { return c.revokeBy(why, "") }

// revokeBy is revoke with the entry of the mailbox that is the reason, "" for none.
func (c *Call) revokeBy(why, entry string) journal.Draft {
	return journal.Draft{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: c.Key, Digest: c.Digest, Decision: record.DecisionDeny,
		By: policy.RoleSystem, Reason: why, Revoked: true, Entry: entry}}
}

// revocable reports an allow that was given and not used.
func (c *Call) revocable() bool {
	return c.AskedSeq != 0 && c.allowed() && !c.Started && !c.used
}

// given says how a question ended that its asker took back or closed.
func (c *Call) given() string {
	if c.Answer != nil && c.Answer.Revoked {
		return record.Superseded
	}
	return record.Withdrawn
}
