package control

import "waggle/internal/snapshot"

// The fields of a fold, and of its types whose fields are not all exported, in the order in which a snapshot has them.

func leaderFields(c *snapshot.Codec, x *Leader) {
	snapshot.Values(c, &x.Team, &x.Root, &x.UID, &x.Instance, &x.Epoch, &x.Policy, &x.Requests, &x.Members, &x.Unverified, &x.Continued,
		&x.Divergence, &x.Noticed, &x.Led, &x.Closing, &x.Detached, &x.Halt, &x.Slept, &x.SleptAt, &x.Ended, &x.Ignored,
		&x.sleeps, &x.ledSince, &x.version, &x.byInst, &x.current, &x.byKey, &x.pending, &x.handles, &x.entries, &x.heard,
		&x.excused, &x.orders, &x.tasks, &x.open, &x.vouched, &x.words, &x.sends, &x.news, &x.stirred, &x.brief, &x.budgets)
}

func workerFields(c *snapshot.Codec, x *Worker) {
	snapshot.Values(c, &x.Team, &x.UID, &x.Instance, &x.Name, &x.Epoch, &x.Guest, &x.PolicyVersion, &x.Shutdown, &x.Unverified, &x.Noticed,
		&x.Last, &x.TurnAt, &x.Ready, &x.ReadyAt, &x.Conversation, &x.Usage, &x.Steps, &x.Limited, &x.LimitedAt, &x.Pane,
		&x.PaneAt, &x.Yielded, &x.Rested, &x.Tasks, &x.Calls, &x.Outbox, &x.NewsSeq, &x.base, &x.turn, &x.turnTask, &x.heard,
		&x.spells, &x.newsBefore, &x.lent, &x.turnsBefore, &x.asked, &x.byKey, &x.byAsk, &x.budget, &x.entries, &x.commands,
		&x.applied, &x.spoke, &x.vouched, &x.narrowed, &x.denied, &x.leaving, &x.gone)
}

func memberFields(c *snapshot.Codec, x *Member) {
	snapshot.Values(c, &x.Joined, &x.JoinedAt, &x.Process, &x.ProcAt, &x.Died, &x.DiedAt, &x.diedSeen, &x.Deaths, &x.Stopping, &x.StopAt,
		&x.Left, &x.LeftAt, &x.LeftSeq, &x.Since, &x.Shutdown, &x.Approved, &x.Rejected, &x.LastIdle, &x.IdleAt, &x.AgreedAt, &x.Claimed,
		&x.Done, &x.Turns, &x.Mode, &x.ModeBy, &x.Spelling, &x.Broken, &x.Borrowed, &x.Begun, &x.base, &x.modeVersion,
		&x.idleDue, &x.pending, &x.assigned)
}

func callFields(c *snapshot.Codec, x *Call) {
	snapshot.Values(c, &x.Key, &x.Digest, &x.Ask, &x.Task, &x.AskedSeq, &x.Asked, &x.Answer, &x.Epoch, &x.Started, &x.StartedAt, &x.Finished,
		&x.Unknown, &x.turn, &x.took, &x.used, &x.lost, &x.late, &x.past, &x.redo)
}

// Calls and members are inside of a fold, so the codec has to be told how to encode them.
var _ = []struct{}{snapshot.Own(memberFields), snapshot.Own(callFields)}
