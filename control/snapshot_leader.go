package control

import (
	"waggle"
	"waggle/journal"
)

// The fields of a leader's fold, in the order in which its snapshot has them.

func (c *codec) leader(x *Leader) {
	text(c, &x.Team)
	text(c, &x.Root)
	text(c, &x.UID)
	text(c, &x.Instance)
	unsigned(c, &x.Epoch)
	c.policySet(&x.Policy)
	list(c, &x.Requests, to((*codec).request))
	list(c, &x.Members, to((*codec).member))
	list(c, &x.Unverified, (*codec).unverifiedAt)
	unsigned(c, &x.Continued)
	shared(c, &x.Divergence, (*codec).divergedAt)
	shared(c, &x.Noticed, (*codec).noticed)
	shared(c, &x.Led, (*codec).leadingProcess)
	shared(c, &x.Closing, (*codec).ending)
	c.flag(&x.Detached)
	shared(c, &x.Ended, (*codec).ended)
	list(c, &x.Ignored, (*codec).ignoredAt)
	unsigned(c, &x.version)
	dict(c, &x.byInst, text[Instance], to((*codec).member))
	dict(c, &x.current, text[waggle.MemberName], to((*codec).member))
	dict(c, &x.byKey, (*codec).key, to((*codec).request))
	list(c, &x.pending, to((*codec).request))
	c.handles(&x.handles)
	dict(c, &x.entries, text[string], (*codec).flag)
	dict(c, &x.heard, (*codec).peerSeq, (*codec).flag)
	dict(c, &x.excused, (*codec).peerSeq, (*codec).flag)
	dict(c, &x.orders, unsigned[journal.Seq], to((*codec).order))
	dict(c, &x.tasks, text[string], to((*codec).order))
	list(c, &x.open, to((*codec).order))
	dict(c, &x.vouched, (*codec).addressed, listOf(to((*codec).order)))
	dict(c, &x.words, text[string], to((*codec).order))
	list(c, &x.said, to((*codec).order))
	list(c, &x.news, (*codec).news)
	c.flag(&x.stirred)
	c.flag(&x.brief)
}

func (c *codec) request(x *Request) {
	c.key(&x.Key)
	text(c, &x.Digest)
	text(c, &x.Handle)
	c.ask(&x.Ask)
	text(c, &x.Task)
	unsigned(c, &x.Seq)
	c.instant(&x.Seen)
	shared(c, &x.Expires, (*codec).instant)
	text(c, &x.State)
	shared(c, &x.Decided, (*codec).decided)
	c.instant(&x.At)
	shared(c, &x.Order, (*codec).order)
	text(c, &x.Closed)
	list(c, &x.Votes, (*codec).decided)
	shared(c, &x.Escalated, (*codec).decided)
}

func (c *codec) order(x *Order) {
	unsigned(c, &x.Seq)
	c.instant(&x.At)
	text(c, &x.Instance)
	shared(c, &x.Mail, (*codec).mail)
	shared(c, &x.Decided, (*codec).decided)
	shared(c, &x.Commanded, (*codec).commanded)
	shared(c, &x.Words, (*codec).words)
	text(c, &x.Hash)
	text(c, &x.MsgID)
	c.flag(&x.Sent)
	signed(c, &x.File)
	text(c, &x.Again)
	c.flag(&x.Closed)
	text(c, &x.End)
	c.instant(&x.EndAt)
}

func (c *codec) member(x *Member) {
	c.joined(&x.Joined)
	c.instant(&x.JoinedAt)
	shared(c, &x.Process, (*codec).process)
	c.instant(&x.ProcAt)
	shared(c, &x.Died, (*codec).died)
	c.instant(&x.DiedAt)
	list(c, &x.Deaths, (*codec).instant)
	shared(c, &x.Stopping, (*codec).stopping)
	c.instant(&x.StopAt)
	shared(c, &x.Left, (*codec).left)
	c.instant(&x.LeftAt)
	c.instant(&x.Since)
	shared(c, &x.Shutdown, (*codec).order)
	c.flag(&x.Approved)
	text(c, &x.Rejected)
	shared(c, &x.LastIdle, (*codec).seen)
	c.instant(&x.IdleAt)
	c.instant(&x.AgreedAt)
	dict(c, &x.Claimed, text[string], to((*codec).seen))
	dict(c, &x.Done, text[string], to((*codec).seen))
	dict(c, &x.Turns, text[string], to((*codec).seen))
	text(c, &x.Mode)
	text(c, &x.ModeBy)
	c.flag(&x.Broken)
	text(c, &x.base)
	unsigned(c, &x.modeVersion)
	c.flag(&x.told)
	signed(c, &x.pending)
	dict(c, &x.assigned, text[string], unsigned[uint64])
}

func (c *codec) unverifiedAt(x *UnverifiedAt) {
	c.unverified(&x.Unverified)
	unsigned(c, &x.Seq)
	c.instant(&x.Time)
}

func (c *codec) divergedAt(x *DivergedAt) {
	c.diverged(&x.Diverged)
	unsigned(c, &x.Seq)
}

func (c *codec) ignoredAt(x *IgnoredAt) {
	unsigned(c, &x.Seq)
	text(c, &x.Kind)
	text(c, &x.Why)
}

func (c *codec) handles(x *Handles) {
	dict(c, &x.given, text[string], (*codec).given)
	c.instant(&x.swept)
}

func (c *codec) given(x *given) {
	c.key(&x.key)
	c.instant(&x.at)
}

func (c *codec) peerSeq(x *peerSeq) {
	text(c, &x.instance)
	unsigned(c, &x.seq)
}

func (c *codec) addressed(x *addressed) {
	text(c, &x.to)
	text(c, &x.kind)
	text(c, &x.sha)
}

func (c *codec) news(x *News) {
	unsigned(c, &x.Seq)
	c.instant(&x.Time)
	text(c, &x.Member)
	text(c, &x.What)
	text(c, &x.Task)
	text(c, &x.Note)
}
