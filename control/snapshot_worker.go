package control

import (
	"waggle"
	"waggle/internal/snapshot"
)

// The fields of a worker's fold, in the order in which its snapshot has them.

func workerFields(c *snapshot.Codec, x *Worker) {
	snapshot.Text(c, &x.Team)
	snapshot.Text(c, &x.UID)
	snapshot.Text(c, &x.Instance)
	snapshot.Text(c, &x.Name)
	snapshot.Unsigned(c, &x.Epoch)
	c.Flag(&x.Guest)
	snapshot.Unsigned(c, &x.PolicyVersion)
	snapshot.Shared(c, &x.Shutdown, snapshot.Applied)
	snapshot.Signed(c, &x.Unverified)
	snapshot.Shared(c, &x.Noticed, snapshot.Noticed)
	momentFields(c, &x.Last)
	c.Instant(&x.TurnAt)
	snapshot.Shared(c, &x.Ready, snapshot.Ready)
	c.Instant(&x.ReadyAt)
	snapshot.Shared(c, &x.Conversation, snapshot.Conversation)
	snapshot.Usage(c, &x.Usage)
	snapshot.List(c, &x.Steps, snapshot.Step)
	snapshot.Shared(c, &x.Limited, snapshot.Limited)
	c.Instant(&x.LimitedAt)
	snapshot.Text(c, &x.Pane)
	c.Instant(&x.PaneAt)
	snapshot.Unsigned(c, &x.Yielded)
	snapshot.Unsigned(c, &x.Rested)
	snapshot.List(c, &x.Tasks, snapshot.To(taskStateFields))
	snapshot.List(c, &x.Calls, snapshot.To(callFields))
	snapshot.List(c, &x.Outbox, sendingFields)
	snapshot.Unsigned(c, &x.NewsSeq)
	snapshot.Text(c, &x.base)
	snapshot.Shared(c, &x.turn, snapshot.Taken)
	snapshot.Shared(c, &x.turnTask, taskStateFields)
	snapshot.List(c, &x.heard, snapshot.Text[string])
	snapshot.List(c, &x.spells, spellFields)
	snapshot.Unsigned(c, &x.newsBefore)
	c.Flag(&x.lent)
	snapshot.Signed(c, &x.turnsBefore)
	snapshot.Dict(c, &x.asked, snapshot.Key, snapshot.To(callFields))
	snapshot.Dict(c, &x.byKey, snapshot.Key, snapshot.To(callFields))
	snapshot.Dict(c, &x.byAsk, questionFields, snapshot.To(callFields))
	snapshot.Shared(c, &x.budget, callFields)
	snapshot.Dict(c, &x.entries, snapshot.Text[string], (*snapshot.Codec).Flag)
	snapshot.Dict(c, &x.commands, snapshot.Unsigned[uint64], (*snapshot.Codec).Flag)
	snapshot.List(c, &x.applied, snapshot.Applied)
	snapshot.Dict(c, &x.spoke, snapshot.Text[waggle.MemberName], (*snapshot.Codec).Instant)
	snapshot.Dict(c, &x.vouched, voucherFields, snapshot.ListOf(snapshot.To(vouchedFields)))
	snapshot.Text(c, &x.narrowed)
	snapshot.List(c, &x.denied, snapshot.Rule)
	c.Flag(&x.leaving)
	c.Flag(&x.gone)
}

func spellFields(c *snapshot.Codec, x *Spell) {
	c.Instant(&x.From)
	c.Instant(&x.To)
}

func momentFields(c *snapshot.Codec, x *Moment) {
	snapshot.Text(c, &x.Kind)
	c.Instant(&x.At)
}

func taskStateFields(c *snapshot.Codec, x *TaskState) {
	snapshot.Task(c, &x.Task)
	snapshot.Unsigned(c, &x.Ref)
	c.Flag(&x.Taken)
	c.Flag(&x.Ended)
	c.Flag(&x.Failed)
	snapshot.Text(c, &x.Note)
	snapshot.Signed(c, &x.Checks)
	snapshot.Shared(c, &x.Checked, snapshot.Checked)
}

func callFields(c *snapshot.Codec, x *Call) {
	snapshot.Key(c, &x.Key)
	snapshot.Text(c, &x.Digest)
	snapshot.Ask(c, &x.Ask)
	snapshot.Text(c, &x.Task)
	snapshot.Unsigned(c, &x.AskedSeq)
	c.Instant(&x.Asked)
	snapshot.Shared(c, &x.Answer, snapshot.Answered)
	snapshot.Unsigned(c, &x.Epoch)
	c.Flag(&x.Started)
	c.Instant(&x.StartedAt)
	snapshot.Shared(c, &x.Finished, snapshot.Finished)
	c.Flag(&x.Unknown)
	snapshot.Shared(c, &x.turn, snapshot.Taken)
	c.Flag(&x.used)
	c.Flag(&x.lost)
	c.Flag(&x.late)
	c.Flag(&x.past)
	c.Flag(&x.redo)
}

func sendingFields(c *snapshot.Codec, x *Sending) {
	snapshot.Unsigned(c, &x.Seq)
	snapshot.Shared(c, &x.Mail, snapshot.Mail)
}

func questionFields(c *snapshot.Codec, x *question) {
	snapshot.Signed(c, &x.sum)
	snapshot.Text(c, &x.is)
	c.Flag(&x.sandboxed)
}

func voucherFields(c *snapshot.Codec, x *voucher) {
	snapshot.Text(c, &x.kind)
	snapshot.Text(c, &x.id)
	snapshot.Text(c, &x.sha)
}

func vouchedFields(c *snapshot.Codec, x *Vouched) {
	snapshot.Unsigned(c, &x.Seq)
	snapshot.Shared(c, &x.Call, callFields)
	snapshot.Shared(c, &x.Said, snapshot.Said)
}
