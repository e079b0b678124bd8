package snapshot

import (
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
)

// The fields of what records hold and a fold keeps, in the order in which a snapshot has
// them.

func PolicySet(c *Codec, x *record.PolicySet) {
	Policy(c, &x.Policy)
	Dict(c, &x.Decide, Text[policy.Gate], Text[policy.Decider])
	c.Flag(&x.Unattended)
	Signed(c, &x.Deadline)
	Shared(c, &x.Lead, Policy)
	c.Flag(&x.Sandboxed)
	List(c, &x.Rules, Scoped)
	List(c, &x.Hosts, HostGrant)
	List(c, &x.Spent, Key)
	Text(c, &x.By)
	Text(c, &x.File)
	Text(c, &x.Path)
	Shared(c, &x.Ceiling, Ceiling)
	List(c, &x.Undoes, Unsigned[uint64])
}

func Policy(c *Codec, x *policy.Policy) {
	Unsigned(c, &x.Version)
	Text(c, &x.Mode)
	List(c, &x.Allow, Rule)
	List(c, &x.Deny, Rule)
	c.Flag(&x.Sandboxed)
}

func Rule(c *Codec, x *policy.Rule) {
	Text(c, &x.Tool)
	Text(c, &x.Pattern)
}

func Scoped(c *Codec, x *record.Scoped) {
	Rule(c, &x.Rule)
	c.Flag(&x.Deny)
	Text(c, &x.Instance)
	Shared(c, &x.Until, (*Codec).Instant)
	Shared(c, &x.From, Key)
	Text(c, &x.Task)
}

func Key(c *Codec, x *record.Key) {
	Text(c, &x.Instance)
	Text(c, &x.Kind)
	Text(c, &x.ID)
}

func Handles(c *Codec, x *record.Handles) {
	Dict(c, &x.Given, Text[string], GivenHandle)
	c.Instant(&x.Swept)
}

func GivenHandle(c *Codec, x *record.GivenHandle) {
	Key(c, &x.Key)
	c.Instant(&x.At)
}

func HostGrant(c *Codec, x *record.HostGrant) {
	Text(c, &x.Host)
	Text(c, &x.Port)
	c.Flag(&x.Deny)
	Text(c, &x.Instance)
	Shared(c, &x.Until, (*Codec).Instant)
	Shared(c, &x.From, Key)
	Text(c, &x.By)
}

func Ceiling(c *Codec, x *record.Ceiling) {
	Text(c, &x.File)
	Text(c, &x.SHA256)
	Text(c, &x.Mode)
	List(c, &x.Allow, Rule)
	List(c, &x.Deny, Rule)
	c.Flag(&x.Sandboxed)
}

func Ask(c *Codec, x *record.Ask) {
	Signed(c, &x.N)
	Text(c, &x.Tool)
	Text(c, &x.Input)
	Text(c, &x.Cwd)
	Text(c, &x.Host)
	Text(c, &x.Port)
	Text(c, &x.Refused)
	Text(c, &x.Spelled)
	Text(c, &x.Plan)
	Text(c, &x.Reason)
	Text(c, &x.PlanFile)
	Signed(c, &x.Revision)
	Text(c, &x.ToolUseID)
	c.Flag(&x.Sandboxed)
	Text(c, &x.MustAsk)
	Shared(c, &x.Own, Own)
	Bound(c, &x.Bound)
}

func Own(c *Codec, x *policy.Own) {
	Text(c, &x.File)
	c.Flag(&x.Told)
	Text(c, &x.Approved)
	c.Flag(&x.Standing)
}

func Bound(c *Codec, x *record.Bound) {
	Text(c, &x.Stdin)
	List(c, &x.Env, Text[string])
	c.Flag(&x.Held)
	Text(c, &x.Program)
	List(c, &x.Words, Resolved)
	List(c, &x.Scripts, Script)
	List(c, &x.Paths, RealPath)
}

func Resolved(c *Codec, x *record.Resolved) {
	Text(c, &x.Name)
	Text(c, &x.Path)
}

func Script(c *Codec, x *record.Script) {
	Text(c, &x.Path)
	Text(c, &x.SHA256)
}

func RealPath(c *Codec, x *policy.RealPath) {
	Text(c, &x.Spelled)
	Text(c, &x.Real)
}

func Decided(c *Codec, x *record.Decided) {
	Key(c, &x.Key)
	Text(c, &x.Digest)
	Text(c, &x.Decision)
	Text(c, &x.By)
	Text(c, &x.Channel)
	Text(c, &x.Via)
	Unsigned(c, &x.Policy)
	Text(c, &x.Rule)
	Text(c, &x.Reason)
	Text(c, &x.UpdatedInput)
	Text(c, &x.UpdatedDigest)
	List(c, &x.Answers, Reply)
	Shared(c, &x.UseBy, (*Codec).Instant)
	Text(c, &x.Trust)
	Shared(c, &x.Mail, Mail)
	Shared(c, &x.First, Key)
	Judged(c, &x.Judged)
}

func Mail(c *Codec, x *record.Mail) {
	Text(c, &x.To)
	Text(c, &x.Kind)
	Text(c, &x.SHA256)
	c.raw(&x.Envelope)
}

func Reply(c *Codec, x *record.Reply) {
	Text(c, &x.Question)
	Text(c, &x.Answer)
	List(c, &x.Chosen, Signed[int])
}

func Judged(c *Codec, x *record.Judged) {
	Signed(c, &x.Judge)
	Text(c, &x.Mode)
	Text(c, &x.Task)
	List(c, &x.Denied, Rule)
}

func Commanded(c *Codec, x *record.Commanded) {
	Text(c, &x.What)
	Text(c, &x.Instance)
	Text(c, &x.ID)
	Shared(c, &x.Task, Task)
	Text(c, &x.Mode)
	Unsigned(c, &x.Version)
	Text(c, &x.By)
	Shared(c, &x.Mail, Mail)
	Unsigned(c, &x.Undoes)
}

func Task(c *Codec, x *record.Task) {
	Text(c, &x.ID)
	Text(c, &x.Subject)
	Text(c, &x.Instructions)
	Text(c, &x.SHA256)
	Text(c, &x.Cwd)
	Signed(c, &x.TimeoutMS)
	c.Flag(&x.PlanRequired)
	Shared(c, &x.Check, Check)
	Text(c, &x.Words)
	c.Flag(&x.Optional)
}

func Check(c *Codec, x *record.Check) {
	Text(c, &x.Command)
	Text(c, &x.Dir)
	Signed(c, &x.Returns)
	Signed(c, &x.TimeoutMS)
}

func Slept(c *Codec, x *record.Slept) { Signed(c, &x.ForMS) }

func Checked(c *Codec, x *record.Checked) {
	Text(c, &x.Task)
	Text(c, &x.Command)
	c.Flag(&x.Passed)
	Text(c, &x.Why)
	Text(c, &x.Tail)
}

func Words(c *Codec, x *record.Words) {
	Text(c, &x.Instance)
	Text(c, &x.Priority)
	Unsigned(c, &x.Supersedes)
	Shared(c, &x.Expires, (*Codec).Instant)
	Text(c, &x.By)
	Shared(c, &x.Mail, Mail)
}

func Joined(c *Codec, x *record.Joined) {
	Text(c, &x.Instance)
	Text(c, &x.Name)
	Text(c, &x.Lead)
	Text(c, &x.Color)
	Text(c, &x.Agent)
	c.raw(&x.Spec)
	Text(c, &x.File)
	Text(c, &x.Cwd)
	Text(c, &x.RealCwd)
	c.Flag(&x.PlanRequired)
	Text(c, &x.Backend)
	Text(c, &x.Model)
	Text(c, &x.Mode)
	Shared(c, &x.Restart, Restart)
	Text(c, &x.Trust)
	Text(c, &x.Channel)
	List(c, &x.Baseline, Text[string])
	Shared(c, &x.Worktree, Worktree)
	Shared(c, &x.Prepare, Preparation)
	Shared(c, &x.Sandbox, Sandbox)
	Text(c, &x.Provenance)
	Shared(c, &x.Definition, Definition)
	Shared(c, &x.Check, Check)
	Signed(c, &x.AtOnce)
	c.Flag(&x.Queued)
	Text(c, &x.Continues)
	Shared(c, &x.Conversation, Conversation)
}

func Definition(c *Codec, x *record.Definition) {
	Text(c, &x.Name)
	Text(c, &x.Path)
	Text(c, &x.SHA256)
}

func Sandbox(c *Codec, x *record.Sandbox) {
	Text(c, &x.Mode)
	List(c, &x.Caches, Text[string])
	Text(c, &x.UnixSockets)
	List(c, &x.Secrets, Text[string])
	List(c, &x.Readable, Text[string])
	List(c, &x.Writable, Text[string])
	List(c, &x.Variables, Text[string])
	Shared(c, &x.Limits, SandboxLimits)
}

func SandboxLimits(c *Codec, x *record.SandboxLimits) {
	Signed(c, &x.CPU)
	Unsigned(c, &x.Memory)
	Unsigned(c, &x.Processes)
	Signed(c, &x.Time)
	Signed(c, &x.Output)
}

func Restart(c *Codec, x *record.Restart) {
	Signed(c, &x.Most)
	Signed(c, &x.Window)
	Signed(c, &x.First)
	Signed(c, &x.Longest)
}

func Worktree(c *Codec, x *record.Worktree) {
	Text(c, &x.Path)
	Text(c, &x.Branch)
	Text(c, &x.Base)
	Text(c, &x.From)
	Text(c, &x.Repo)
	Text(c, &x.Common)
	Text(c, &x.Mirror)
	c.Flag(&x.Existing)
}

func Preparation(c *Codec, x *record.Preparation) {
	List(c, &x.Copy, Text[string])
	List(c, &x.Link, Text[string])
	List(c, &x.Setup, Text[string])
	Text(c, &x.Check)
	Text(c, &x.Path)
	Text(c, &x.File)
}

func Process(c *Codec, x *record.Process) {
	Text(c, &x.Instance)
	Unsigned(c, &x.Epoch)
	Identity(c, &x.ID)
	Text(c, &x.Log)
}

func Identity(c *Codec, x *spawn.Identity) {
	Signed(c, &x.PID)
	Signed(c, &x.PGID)
	Signed(c, &x.SID)
	Text(c, &x.Start)
	Text(c, &x.Boot)
	c.Flag(&x.Inside)
	c.Flag(&x.Theirs)
}

func Died(c *Codec, x *record.Died) {
	Text(c, &x.Instance)
	Unsigned(c, &x.Epoch)
	Signed(c, &x.Attempt)
	Text(c, &x.Detail)
	Shared(c, &x.Again, (*Codec).Instant)
	c.Flag(&x.GaveUp)
}

func Stopping(c *Codec, x *record.Stopping) {
	Text(c, &x.Instance)
	Text(c, &x.Why)
	Text(c, &x.Step)
}

func Halted(c *Codec, x *record.Halted) {
	Text(c, &x.Reason)
}

func Borrowed(c *Codec, x *record.Borrowed) {
	Text(c, &x.Instance)
	Identity(c, &x.By)
	c.Flag(&x.Now)
}

func Left(c *Codec, x *record.Left) {
	Text(c, &x.Instance)
	Text(c, &x.How)
	Text(c, &x.Detail)
}

func Seen(c *Codec, x *record.Seen) {
	Text(c, &x.Entry)
	Text(c, &x.Instance)
	Unsigned(c, &x.Ref)
	Text(c, &x.Kind)
	Text(c, &x.ID)
	Text(c, &x.Digest)
	Shared(c, &x.Ask, Ask)
	Shared(c, &x.Expires, (*Codec).Instant)
	Text(c, &x.Task)
	Unsigned(c, &x.Assignment)
	c.Flag(&x.Failed)
	c.Flag(&x.Checked)
	Text(c, &x.Note)
	c.Flag(&x.Told)
	Signed(c, &x.Hops)
	Text(c, &x.Channel)
	Text(c, &x.Spelling)
}

func Unverified(c *Codec, x *record.Unverified) {
	Text(c, &x.Entry)
	Text(c, &x.Box)
	Text(c, &x.From)
	Text(c, &x.Kind)
	Text(c, &x.ID)
	Text(c, &x.Text)
	Text(c, &x.Why)
	c.Flag(&x.Told)
}

func Diverged(c *Codec, x *record.Diverged) {
	Text(c, &x.Instance)
	Unsigned(c, &x.Leader)
	Text(c, &x.Why)
}

func Noticed(c *Codec, x *record.Noticed) {
	Text(c, &x.What)
	Text(c, &x.Path)
	Text(c, &x.Moved)
	Text(c, &x.Saved)
}

func LeadingProcess(c *Codec, x *record.LeadingProcess) {
	Identity(c, &x.ID)
	c.Flag(&x.Detached)
	c.Flag(&x.Up)
	c.Flag(&x.Run)
	Text(c, &x.Version)
}

func Ending(c *Codec, x *record.Ending) {
	Text(c, &x.Reason)
	Signed(c, &x.Grace)
	c.Flag(&x.Force)
}

func Ended(c *Codec, x *record.Ended) {
	Text(c, &x.How)
}

func Applied(c *Codec, x *record.Applied) {
	Text(c, &x.What)
	Unsigned(c, &x.Ref)
	Text(c, &x.Entry)
	Text(c, &x.ID)
	Unsigned(c, &x.Version)
	Shared(c, &x.Task, Task)
	Text(c, &x.Channel)
	Text(c, &x.Spelling)
	Text(c, &x.Mode)
	List(c, &x.Deny, Rule)
}

func Ready(c *Codec, x *record.Ready) {
	Unsigned(c, &x.Epoch)
	Text(c, &x.Agent)
	Text(c, &x.Model)
	Text(c, &x.Mode)
	Unsigned(c, &x.Policy)
	Text(c, &x.Cwd)
	Text(c, &x.Top)
	Text(c, &x.Backend)
	Shared(c, &x.Sandbox, Held)
}

func Held(c *Codec, x *record.Held) {
	Text(c, &x.Level)
	Text(c, &x.Why)
	Text(c, &x.Fix)
	List(c, &x.Gaps, Text[string])
	c.Flag(&x.Shell)
	Text(c, &x.Outside)
}

func Answered(c *Codec, x *record.Answered) {
	Key(c, &x.Key)
	Text(c, &x.Digest)
	Text(c, &x.Decision)
	Text(c, &x.By)
	Text(c, &x.Rule)
	Text(c, &x.Reason)
	Unsigned(c, &x.Policy)
	Unsigned(c, &x.Leader)
	c.Flag(&x.Waited)
	c.Flag(&x.Revoked)
	Text(c, &x.UpdatedInput)
	Text(c, &x.UpdatedDigest)
	List(c, &x.Answers, Reply)
	Shared(c, &x.UseBy, (*Codec).Instant)
	Shared(c, &x.Ask, Ask)
	Judged(c, &x.Judged)
	Text(c, &x.Entry)
	Text(c, &x.Channel)
}

func Finished(c *Codec, x *record.Finished) {
	Key(c, &x.Key)
	Shared(c, &x.ExitCode, Signed[int])
	c.Flag(&x.Failed)
	Text(c, &x.Tail)
	Text(c, &x.Error)
}

func Taken(c *Codec, x *record.Taken) {
	List(c, &x.Entries, Text[string])
	Text(c, &x.Task)
	c.Flag(&x.Plan)
	Unsigned(c, &x.News)
	Signed(c, &x.Hops)
}

func Said(c *Codec, x *record.Said) {
	Text(c, &x.Kind)
	Text(c, &x.ID)
	Text(c, &x.Task)
	Unsigned(c, &x.Assignment)
	c.Flag(&x.Failed)
	c.Flag(&x.Checked)
	Text(c, &x.Note)
	Shared(c, &x.Mail, Mail)
}

func Conversation(c *Codec, x *record.Conversation) {
	Text(c, &x.ID)
	Text(c, &x.Model)
	c.Flag(&x.Resumed)
	Text(c, &x.Dir)
}

func Usage(c *Codec, x *record.Usage) {
	Text(c, &x.ID)
	Signed(c, &x.Input)
	Signed(c, &x.Output)
	Signed(c, &x.CacheRead)
	Signed(c, &x.CacheWrite)
	Signed(c, &x.CostMicros)
	Signed(c, &x.Turns)
	Text(c, &x.Source)
}

func Limit(c *Codec, x *record.Limit) {
	Signed(c, &x.CostMicros)
	Signed(c, &x.Tokens)
	Signed(c, &x.Turns)
}

func Limited(c *Codec, x *record.Limited) {
	c.Instant(&x.Until)
	Text(c, &x.Reason)
}

func Step(c *Codec, x *record.Step) {
	Text(c, &x.Text)
	Text(c, &x.State)
}

func UnverifiedAt(c *Codec, x *record.UnverifiedAt) {
	Unverified(c, &x.Unverified)
	Unsigned(c, &x.Seq)
	c.Instant(&x.Time)
}

func DivergedAt(c *Codec, x *record.DivergedAt) {
	Diverged(c, &x.Diverged)
	Unsigned(c, &x.Seq)
}

func IgnoredAt(c *Codec, x *record.IgnoredAt) {
	Unsigned(c, &x.Seq)
	Text(c, &x.Kind)
	Text(c, &x.Why)
}
