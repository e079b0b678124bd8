package control

import (
	"waggle/policy"
	"waggle/spawn"
)

// The fields of what records hold and a fold keeps, in the order in which a snapshot has
// them.

func (c *codec) policySet(x *PolicySet) {
	c.policy(&x.Policy)
	dict(c, &x.Decide, text[policy.Gate], text[policy.Decider])
	c.flag(&x.Unattended)
	signed(c, &x.Deadline)
	shared(c, &x.Lead, (*codec).policy)
	list(c, &x.Rules, (*codec).scoped)
	list(c, &x.Hosts, (*codec).hostGrant)
	text(c, &x.By)
	text(c, &x.File)
	text(c, &x.Path)
	shared(c, &x.Ceiling, (*codec).ceiling)
}

func (c *codec) policy(x *policy.Policy) {
	unsigned(c, &x.Version)
	text(c, &x.Mode)
	list(c, &x.Allow, (*codec).rule)
	list(c, &x.Deny, (*codec).rule)
}

func (c *codec) rule(x *policy.Rule) {
	text(c, &x.Tool)
	text(c, &x.Pattern)
}

func (c *codec) scoped(x *Scoped) {
	c.rule(&x.Rule)
	c.flag(&x.Deny)
	text(c, &x.Instance)
	shared(c, &x.Until, (*codec).instant)
	shared(c, &x.From, (*codec).key)
}

func (c *codec) key(x *Key) {
	text(c, &x.Instance)
	text(c, &x.Kind)
	text(c, &x.ID)
}

func (c *codec) hostGrant(x *HostGrant) {
	text(c, &x.Host)
	text(c, &x.Port)
	c.flag(&x.Deny)
	text(c, &x.Instance)
	shared(c, &x.Until, (*codec).instant)
	shared(c, &x.From, (*codec).key)
}

func (c *codec) ceiling(x *Ceiling) {
	text(c, &x.File)
	text(c, &x.SHA256)
	text(c, &x.Mode)
	list(c, &x.Allow, (*codec).rule)
	list(c, &x.Deny, (*codec).rule)
}

func (c *codec) ask(x *Ask) {
	signed(c, &x.N)
	text(c, &x.Tool)
	text(c, &x.Input)
	text(c, &x.Cwd)
	text(c, &x.Host)
	text(c, &x.Port)
	text(c, &x.Spelled)
	text(c, &x.Plan)
	text(c, &x.Reason)
	text(c, &x.PlanFile)
	signed(c, &x.Revision)
	text(c, &x.ToolUseID)
	c.bound(&x.Bound)
}

func (c *codec) bound(x *Bound) {
	text(c, &x.Stdin)
	list(c, &x.Env, text[string])
	c.flag(&x.Held)
	text(c, &x.Program)
	list(c, &x.Words, (*codec).resolved)
	list(c, &x.Scripts, (*codec).script)
	list(c, &x.Paths, (*codec).realPath)
}

func (c *codec) resolved(x *Resolved) {
	text(c, &x.Name)
	text(c, &x.Path)
}

func (c *codec) script(x *Script) {
	text(c, &x.Path)
	text(c, &x.SHA256)
}

func (c *codec) realPath(x *policy.RealPath) {
	text(c, &x.Spelled)
	text(c, &x.Real)
}

func (c *codec) decided(x *Decided) {
	c.key(&x.Key)
	text(c, &x.Digest)
	text(c, &x.Decision)
	text(c, &x.By)
	text(c, &x.Channel)
	text(c, &x.Via)
	unsigned(c, &x.Policy)
	text(c, &x.Rule)
	text(c, &x.Reason)
	text(c, &x.UpdatedInput)
	text(c, &x.UpdatedDigest)
	shared(c, &x.UseBy, (*codec).instant)
	text(c, &x.Trust)
	shared(c, &x.Mail, (*codec).mail)
	c.judged(&x.Judged)
}

func (c *codec) mail(x *Mail) {
	text(c, &x.To)
	text(c, &x.Kind)
	text(c, &x.SHA256)
	c.raw(&x.Envelope)
}

func (c *codec) judged(x *Judged) {
	signed(c, &x.Judge)
	text(c, &x.Mode)
}

func (c *codec) commanded(x *Commanded) {
	text(c, &x.What)
	text(c, &x.Instance)
	text(c, &x.ID)
	shared(c, &x.Task, (*codec).task)
	text(c, &x.Mode)
	unsigned(c, &x.Version)
	text(c, &x.By)
	shared(c, &x.Mail, (*codec).mail)
}

func (c *codec) task(x *Task) {
	text(c, &x.ID)
	text(c, &x.Subject)
	text(c, &x.Instructions)
	text(c, &x.SHA256)
	text(c, &x.Cwd)
	signed(c, &x.TimeoutMS)
	c.flag(&x.PlanRequired)
}

func (c *codec) words(x *Words) {
	text(c, &x.Instance)
	text(c, &x.Priority)
	unsigned(c, &x.Supersedes)
	shared(c, &x.Expires, (*codec).instant)
	text(c, &x.By)
	shared(c, &x.Mail, (*codec).mail)
}

func (c *codec) joined(x *Joined) {
	text(c, &x.Instance)
	text(c, &x.Name)
	text(c, &x.Lead)
	text(c, &x.Color)
	text(c, &x.Agent)
	c.raw(&x.Spec)
	text(c, &x.Cwd)
	c.flag(&x.PlanRequired)
	text(c, &x.Backend)
	text(c, &x.Model)
	text(c, &x.Mode)
	shared(c, &x.Restart, (*codec).restart)
	text(c, &x.Trust)
	text(c, &x.Channel)
	list(c, &x.Baseline, text[string])
	shared(c, &x.Worktree, (*codec).worktree)
}

func (c *codec) restart(x *Restart) {
	signed(c, &x.Most)
	signed(c, &x.Window)
	signed(c, &x.First)
	signed(c, &x.Longest)
}

func (c *codec) worktree(x *Worktree) {
	text(c, &x.Path)
	text(c, &x.Branch)
	text(c, &x.Base)
	text(c, &x.From)
	text(c, &x.Repo)
	text(c, &x.Common)
}

func (c *codec) process(x *Process) {
	text(c, &x.Instance)
	unsigned(c, &x.Epoch)
	c.identity(&x.ID)
	text(c, &x.Log)
}

func (c *codec) identity(x *spawn.Identity) {
	signed(c, &x.PID)
	signed(c, &x.PGID)
	signed(c, &x.SID)
	text(c, &x.Start)
	text(c, &x.Boot)
	c.flag(&x.Inside)
	c.flag(&x.Theirs)
}

func (c *codec) died(x *Died) {
	text(c, &x.Instance)
	unsigned(c, &x.Epoch)
	signed(c, &x.Attempt)
	text(c, &x.Detail)
	shared(c, &x.Again, (*codec).instant)
	c.flag(&x.GaveUp)
}

func (c *codec) stopping(x *Stopping) {
	text(c, &x.Instance)
	text(c, &x.Why)
	text(c, &x.Step)
}

func (c *codec) left(x *Left) {
	text(c, &x.Instance)
	text(c, &x.How)
	text(c, &x.Detail)
}

func (c *codec) seen(x *Seen) {
	text(c, &x.Entry)
	text(c, &x.Instance)
	unsigned(c, &x.Ref)
	text(c, &x.Kind)
	text(c, &x.ID)
	text(c, &x.Digest)
	shared(c, &x.Ask, (*codec).ask)
	shared(c, &x.Expires, (*codec).instant)
	text(c, &x.Task)
	unsigned(c, &x.Assignment)
	c.flag(&x.Failed)
	text(c, &x.Note)
	c.flag(&x.Told)
	text(c, &x.Channel)
}

func (c *codec) unverified(x *Unverified) {
	text(c, &x.Entry)
	text(c, &x.Box)
	text(c, &x.From)
	text(c, &x.Kind)
	text(c, &x.ID)
	text(c, &x.Text)
	text(c, &x.Why)
}

func (c *codec) diverged(x *Diverged) {
	text(c, &x.Instance)
	unsigned(c, &x.Leader)
	text(c, &x.Why)
}

func (c *codec) noticed(x *Noticed) {
	text(c, &x.What)
	text(c, &x.Path)
	text(c, &x.Moved)
	text(c, &x.Saved)
}

func (c *codec) leadingProcess(x *LeadingProcess) {
	c.identity(&x.ID)
	c.flag(&x.Detached)
	c.flag(&x.Up)
	c.flag(&x.Run)
	text(c, &x.Version)
}

func (c *codec) ending(x *Ending) {
	text(c, &x.Reason)
	signed(c, &x.Grace)
	c.flag(&x.Force)
}

func (c *codec) ended(x *Ended) {
	text(c, &x.How)
}

func (c *codec) applied(x *Applied) {
	text(c, &x.What)
	unsigned(c, &x.Ref)
	text(c, &x.Entry)
	text(c, &x.ID)
	unsigned(c, &x.Version)
	shared(c, &x.Task, (*codec).task)
	text(c, &x.Channel)
}

func (c *codec) ready(x *Ready) {
	unsigned(c, &x.Epoch)
	text(c, &x.Agent)
	text(c, &x.Model)
	text(c, &x.Mode)
	unsigned(c, &x.Policy)
	text(c, &x.Cwd)
	text(c, &x.Top)
	text(c, &x.Backend)
}

func (c *codec) answered(x *Answered) {
	c.key(&x.Key)
	text(c, &x.Digest)
	text(c, &x.Decision)
	text(c, &x.By)
	text(c, &x.Rule)
	text(c, &x.Reason)
	unsigned(c, &x.Policy)
	unsigned(c, &x.Leader)
	c.flag(&x.Waited)
	c.flag(&x.Revoked)
	text(c, &x.UpdatedInput)
	text(c, &x.UpdatedDigest)
	shared(c, &x.UseBy, (*codec).instant)
	shared(c, &x.Ask, (*codec).ask)
	c.judged(&x.Judged)
	text(c, &x.Entry)
	text(c, &x.Channel)
}

func (c *codec) finished(x *Finished) {
	c.key(&x.Key)
	shared(c, &x.ExitCode, signed[int])
	c.flag(&x.Failed)
	text(c, &x.Tail)
	text(c, &x.Error)
}

func (c *codec) taken(x *Taken) {
	list(c, &x.Entries, text[string])
	text(c, &x.Task)
	c.flag(&x.Plan)
	unsigned(c, &x.News)
}

func (c *codec) said(x *Said) {
	text(c, &x.Kind)
	text(c, &x.ID)
	text(c, &x.Task)
	unsigned(c, &x.Assignment)
	c.flag(&x.Failed)
	text(c, &x.Note)
	shared(c, &x.Mail, (*codec).mail)
}
