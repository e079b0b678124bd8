package control

import "waggle"

// The fields of a worker's fold, in the order in which its snapshot has them.

func (c *codec) worker(x *Worker) {
	text(c, &x.Team)
	text(c, &x.UID)
	text(c, &x.Instance)
	text(c, &x.Name)
	unsigned(c, &x.Epoch)
	c.flag(&x.Guest)
	unsigned(c, &x.PolicyVersion)
	shared(c, &x.Shutdown, (*codec).applied)
	signed(c, &x.Unverified)
	shared(c, &x.Noticed, (*codec).noticed)
	c.moment(&x.Last)
	c.instant(&x.TurnAt)
	shared(c, &x.Ready, (*codec).ready)
	c.instant(&x.ReadyAt)
	list(c, &x.Tasks, to((*codec).taskState))
	list(c, &x.Calls, to((*codec).call))
	list(c, &x.Outbox, (*codec).sending)
	unsigned(c, &x.Told)
	text(c, &x.base)
	shared(c, &x.turn, (*codec).taken)
	shared(c, &x.turnTask, (*codec).taskState)
	list(c, &x.heard, text[string])
	unsigned(c, &x.untold)
	dict(c, &x.asked, (*codec).key, to((*codec).call))
	dict(c, &x.byKey, (*codec).key, to((*codec).call))
	dict(c, &x.byAsk, (*codec).question, to((*codec).call))
	dict(c, &x.entries, text[string], (*codec).flag)
	dict(c, &x.commands, unsigned[uint64], (*codec).flag)
	list(c, &x.applied, (*codec).applied)
	dict(c, &x.spoke, text[waggle.MemberName], (*codec).instant)
	dict(c, &x.vouched, (*codec).voucher, listOf(to((*codec).vouched)))
	c.flag(&x.leaving)
	c.flag(&x.gone)
}

func (c *codec) moment(x *Moment) {
	text(c, &x.Kind)
	c.instant(&x.At)
}

func (c *codec) taskState(x *TaskState) {
	c.task(&x.Task)
	unsigned(c, &x.Ref)
	c.flag(&x.Taken)
	c.flag(&x.Ended)
	c.flag(&x.Failed)
	text(c, &x.Note)
}

func (c *codec) call(x *Call) {
	c.key(&x.Key)
	text(c, &x.Digest)
	c.ask(&x.Ask)
	text(c, &x.Task)
	unsigned(c, &x.AskedSeq)
	c.instant(&x.Asked)
	shared(c, &x.Answer, (*codec).answered)
	unsigned(c, &x.Epoch)
	c.flag(&x.Started)
	c.instant(&x.StartedAt)
	shared(c, &x.Finished, (*codec).finished)
	c.flag(&x.Unknown)
	shared(c, &x.turn, (*codec).taken)
	c.flag(&x.used)
	c.flag(&x.lost)
}

func (c *codec) sending(x *Sending) {
	unsigned(c, &x.Seq)
	shared(c, &x.Mail, (*codec).mail)
}

func (c *codec) question(x *question) {
	signed(c, &x.sum)
	text(c, &x.is)
}

func (c *codec) voucher(x *voucher) {
	text(c, &x.kind)
	text(c, &x.id)
	text(c, &x.sha)
}

func (c *codec) vouched(x *Vouched) {
	unsigned(c, &x.Seq)
	shared(c, &x.Call, (*codec).call)
	shared(c, &x.Said, (*codec).said)
}
