package control

import (
	"waggle"
	"waggle/internal/budget"
	"waggle/internal/snapshot"
	"waggle/journal"
	"waggle/record"
)

// The fields of a leader's fold, in the order in which its snapshot has them.

func leaderFields(c *snapshot.Codec, x *Leader) {
	snapshot.Text(c, &x.Team)
	snapshot.Text(c, &x.Root)
	snapshot.Text(c, &x.UID)
	snapshot.Text(c, &x.Instance)
	snapshot.Unsigned(c, &x.Epoch)
	snapshot.PolicySet(c, &x.Policy)
	snapshot.List(c, &x.Requests, snapshot.To(requestFields))
	snapshot.List(c, &x.Members, snapshot.To(memberFields))
	snapshot.List(c, &x.Unverified, snapshot.UnverifiedAt)
	snapshot.Unsigned(c, &x.Continued)
	snapshot.Shared(c, &x.Divergence, snapshot.DivergedAt)
	snapshot.Shared(c, &x.Noticed, snapshot.Noticed)
	snapshot.Shared(c, &x.Led, snapshot.LeadingProcess)
	snapshot.Shared(c, &x.Closing, snapshot.Ending)
	c.Flag(&x.Detached)
	snapshot.Shared(c, &x.Halt, haltFields)
	snapshot.Shared(c, &x.Slept, snapshot.Slept)
	c.Instant(&x.SleptAt)
	snapshot.Shared(c, &x.Ended, snapshot.Ended)
	snapshot.List(c, &x.Ignored, snapshot.IgnoredAt)
	snapshot.List(c, &x.sleeps, spellFields)
	c.Instant(&x.ledSince)
	snapshot.Unsigned(c, &x.version)
	snapshot.Dict(c, &x.byInst, snapshot.Text[record.Instance], snapshot.To(memberFields))
	snapshot.Dict(c, &x.current, snapshot.Text[waggle.MemberName], snapshot.To(memberFields))
	snapshot.Dict(c, &x.byKey, snapshot.Key, snapshot.To(requestFields))
	snapshot.List(c, &x.pending, snapshot.To(requestFields))
	snapshot.Handles(c, &x.handles)
	snapshot.Dict(c, &x.entries, snapshot.Text[string], (*snapshot.Codec).Flag)
	snapshot.Dict(c, &x.heard, peerSeqFields, (*snapshot.Codec).Flag)
	snapshot.Dict(c, &x.excused, peerSeqFields, (*snapshot.Codec).Flag)
	snapshot.Dict(c, &x.orders, snapshot.Unsigned[journal.Seq], snapshot.To(orderFields))
	snapshot.Dict(c, &x.tasks, snapshot.Text[string], snapshot.To(orderFields))
	snapshot.List(c, &x.open, snapshot.To(orderFields))
	snapshot.Dict(c, &x.vouched, addressedFields, snapshot.ListOf(snapshot.To(orderFields)))
	snapshot.Dict(c, &x.words, snapshot.Text[string], snapshot.To(orderFields))
	snapshot.List(c, &x.said, snapshot.To(orderFields))
	snapshot.List(c, &x.news, newsFields)
	c.Flag(&x.stirred)
	c.Flag(&x.brief)
	accountFields(c, &x.budgets)
}

func accountFields(c *snapshot.Codec, x *budget.Account) {
	snapshot.Dict(c, &x.Limits, budgetFields, limitFields)
	snapshot.Dict(c, &x.Spent, snapshot.Text[record.Instance], snapshot.Usage)
	snapshot.Usage(c, &x.From)
}

func budgetFields(c *snapshot.Codec, x *budget.Of) {
	snapshot.Text(c, &x.Scope)
	snapshot.Text(c, &x.Name)
}

func limitFields(c *snapshot.Codec, x *budget.Limit) {
	snapshot.Limit(c, &x.Set)
	snapshot.Limit(c, &x.Now)
}

func requestFields(c *snapshot.Codec, x *Request) {
	snapshot.Key(c, &x.Key)
	snapshot.Text(c, &x.Digest)
	snapshot.Text(c, &x.Handle)
	snapshot.Ask(c, &x.Ask)
	snapshot.Text(c, &x.Task)
	snapshot.Unsigned(c, &x.Seq)
	c.Instant(&x.Seen)
	snapshot.Shared(c, &x.Expires, (*snapshot.Codec).Instant)
	snapshot.Text(c, &x.State)
	snapshot.Shared(c, &x.Decided, snapshot.Decided)
	c.Instant(&x.At)
	snapshot.Shared(c, &x.Order, orderFields)
	snapshot.Text(c, &x.Closed)
	snapshot.List(c, &x.Votes, snapshot.Decided)
	snapshot.Shared(c, &x.Escalated, snapshot.Decided)
	snapshot.Text(c, &x.Spelling)
}

func orderFields(c *snapshot.Codec, x *Order) {
	snapshot.Unsigned(c, &x.Seq)
	c.Instant(&x.At)
	snapshot.Text(c, &x.Instance)
	snapshot.Shared(c, &x.Mail, snapshot.Mail)
	snapshot.Shared(c, &x.Decided, snapshot.Decided)
	snapshot.Shared(c, &x.Commanded, snapshot.Commanded)
	snapshot.Shared(c, &x.Words, snapshot.Words)
	snapshot.Text(c, &x.Hash)
	snapshot.Text(c, &x.MsgID)
	c.Flag(&x.Sent)
	snapshot.Signed(c, &x.File)
	snapshot.Text(c, &x.Again)
	c.Flag(&x.Closed)
	snapshot.Text(c, &x.End)
	c.Instant(&x.EndAt)
	c.Flag(&x.TakenBack)
}

func memberFields(c *snapshot.Codec, x *Member) {
	snapshot.Joined(c, &x.Joined)
	c.Instant(&x.JoinedAt)
	snapshot.Shared(c, &x.Process, snapshot.Process)
	c.Instant(&x.ProcAt)
	snapshot.Shared(c, &x.Died, snapshot.Died)
	c.Instant(&x.DiedAt)
	c.Flag(&x.diedSeen)
	snapshot.List(c, &x.Deaths, (*snapshot.Codec).Instant)
	snapshot.Shared(c, &x.Stopping, snapshot.Stopping)
	c.Instant(&x.StopAt)
	snapshot.Shared(c, &x.Left, snapshot.Left)
	c.Instant(&x.LeftAt)
	c.Instant(&x.Since)
	snapshot.Shared(c, &x.Shutdown, orderFields)
	c.Flag(&x.Approved)
	snapshot.Text(c, &x.Rejected)
	snapshot.Shared(c, &x.LastIdle, snapshot.Seen)
	c.Instant(&x.IdleAt)
	c.Instant(&x.AgreedAt)
	snapshot.Dict(c, &x.Claimed, snapshot.Text[string], snapshot.To(snapshot.Seen))
	snapshot.Dict(c, &x.Done, snapshot.Text[string], snapshot.To(snapshot.Seen))
	snapshot.Dict(c, &x.Turns, snapshot.Text[string], snapshot.To(snapshot.Seen))
	snapshot.Text(c, &x.Mode)
	snapshot.Text(c, &x.ModeBy)
	snapshot.Text(c, &x.Spelling)
	c.Flag(&x.Broken)
	snapshot.Shared(c, &x.Borrowed, borrowingFields)
	c.Flag(&x.Begun)
	snapshot.Text(c, &x.base)
	snapshot.Unsigned(c, &x.modeVersion)
	c.Flag(&x.idleDue)
	snapshot.Signed(c, &x.pending)
	snapshot.Dict(c, &x.assigned, snapshot.Text[string], snapshot.Unsigned[uint64])
}

func borrowingFields(c *snapshot.Codec, x *Borrowing) {
	snapshot.Borrowed(c, &x.Borrowed)
	snapshot.Unsigned(c, &x.Seq)
	c.Instant(&x.At)
}

func haltFields(c *snapshot.Codec, x *Halt) {
	snapshot.Halted(c, &x.Halted)
	snapshot.Unsigned(c, &x.Seq)
	c.Instant(&x.At)
}

func peerSeqFields(c *snapshot.Codec, x *peerSeq) {
	snapshot.Text(c, &x.instance)
	snapshot.Unsigned(c, &x.seq)
}

func addressedFields(c *snapshot.Codec, x *addressed) {
	snapshot.Text(c, &x.to)
	snapshot.Text(c, &x.kind)
	snapshot.Text(c, &x.sha)
}

func newsFields(c *snapshot.Codec, x *News) {
	snapshot.Unsigned(c, &x.Seq)
	c.Instant(&x.Time)
	snapshot.Text(c, &x.Member)
	snapshot.Text(c, &x.What)
	snapshot.Text(c, &x.Task)
	snapshot.Text(c, &x.Note)
	snapshot.Signed(c, &x.Hops)
}
