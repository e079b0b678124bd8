package record

import (
	"encoding/json"
	"slices"
	"time"

	"waggle/journal"
	"waggle/policy"
	"waggle/protocol"
	"waggle/spawn"
)

// Record kinds of the leader's journal (trust §4).
const (
	KindOpened       = "opened"       // Opened
	KindPolicy       = "policy"       // PolicySet
	KindJoined       = "joined"       // Joined
	KindProcess      = "process"      // Process
	KindLeft         = "left"         // Left
	KindSeen         = "seen"         // Seen
	KindVoted        = "voted"        // Decided: one of the two allows that DecideTwo takes, or an escalation
	KindDecided      = "decided"      // Decided
	KindCommanded    = "commanded"    // Commanded
	KindSent         = "sent"         // Sent
	KindClosed       = "closed"       // Closed
	KindUnverified   = "unverified"   // Unverified
	KindNoticed      = "noticed"      // Noticed; in a worker's journal too
	KindLeading      = "leading"      // LeadingProcess
	KindDied         = "died"         // Died
	KindStopping     = "stopping"     // Stopping
	KindEnding       = "ending"       // Ending
	KindDetached     = "detached"     // Detached
	KindCheckpoint   = "checkpoint"   // anything; never folded
	KindDiverged     = "diverged"     // Diverged
	KindAcknowledged = "acknowledged" // Acknowledged
	KindDone         = "done"         // Done
	KindEnded        = "ended"        // Ended
)

// Further record kinds of a worker's journal.
const (
	KindAsked    = "asked"    // Asked
	KindSaid     = "said"     // Said
	KindAnswered = "answered" // Answered
	KindStarted  = "started"  // Started
	KindFinished = "finished" // Finished
	KindUnknown  = "unknown"  // UnknownEnd
	KindApplied  = "applied"  // Applied
	KindTaken    = "taken"    // Taken
	KindReady    = "ready"    // Ready
)

// Kinds lists the kinds of records that journals have.
func Kinds() []string {
	return []string{KindOpened, KindPolicy, KindJoined, KindProcess, KindLeft, KindSeen, KindVoted, KindDecided, KindCommanded, KindSent, KindClosed, KindUnverified,
		KindNoticed, KindLeading, KindDied, KindStopping, KindEnding, KindDetached, KindCheckpoint, KindDiverged, KindAcknowledged, KindDone, KindEnded,
		KindAsked, KindSaid, KindAnswered, KindStarted, KindFinished, KindUnknown, KindApplied, KindTaken, KindReady,
		KindBudget, KindSpent, KindPaused, KindLimited, KindConnected, KindConversation, KindUsed, KindSteps, KindPane, KindHeard, KindChecked,
		KindBorrowed, KindReturned, KindYielded, KindSlept, KindHalted, KindResumed, KindRests, KindTakenBack, KindBegun, journal.KindRepaired}
}

// Level says what keeps a member from acting in another's name (trust §8).
type Level string

const (
	Cooperative Level = "cooperative" // runs as the user without a sandbox
	Enforced    Level = "enforced"    // tools run in the sandbox
	FileTrust   Level = "file"        // not run by waggle; only files vouch for it
)

// Words is the level on a page, where enforced is a word of what a sandbox was found to hold.
func (l Level) Words() string {
	if l == Enforced {
		return "sandbox required"
	}
	return string(l)
}

// Mail is a message that a record calls for: the exact envelope, so that sending
// it again is the same message.
type Mail struct {
	To       protocol.MemberName `json:"to"`
	Kind     protocol.Kind       `json:"kind"`
	SHA256   string              `json:"sha256"` // of the envelope's text
	Envelope json.RawMessage     `json:"envelope"`
}

// Opened starts a journal, and in a worker's journal every later epoch.
type Opened struct {
	Team     protocol.TeamName   `json:"team"`
	Root     string              `json:"root,omitempty"` // leader: URL of the wire tree
	UID      TeamUID             `json:"team_uid"`
	Instance Instance            `json:"instance"`
	Name     protocol.MemberName `json:"name"`
	Epoch    uint64              `json:"epoch,omitempty"`
	Version  string              `json:"version,omitempty"` // of the program
	// Guest says that another program leads this member's team: that lead uses files.
	Guest bool `json:"guest,omitempty"`
	// Baseline are entries of mailboxes that were there before: control messages of a
	// restored team's past, which this journal does not judge. Those of members are
	// named as in AlarmEntry.
	Baseline []string `json:"baseline,omitempty"`
	// Ended is when the process before died, when a process that led saw it; nil: nobody did, or it is the first.
	Ended *time.Time `json:"ended,omitempty"`
}

// Deciders says who answers each kind of question.
type Deciders map[policy.Gate]policy.Decider

// PolicySet is a version of the team's policy.
type PolicySet struct {
	Policy policy.Policy `json:"policy"`
	Decide Deciders      `json:"decide"`
	// Unattended: no person will be asked; a request is denied as soon as it is seen (run
	// --headless).
	Unattended bool `json:"unattended,omitempty"`
	// Deadline is how long a request stays open, in milliseconds; 0: without limit.
	Deadline int64 `json:"deadline_ms,omitempty"`
	// Lead is the policy of the lead agent, which limits what it may allow under DecideLeader. Nil:
	// the team's.
	Lead *policy.Policy `json:"lead,omitempty"`
	// Sandboxed is policy.Policy.Sandboxed, of every member and the lead. An older program does
	// not know it and asks.
	Sandboxed bool `json:"sandboxed,omitempty"`
	// Rules hold beside the policy's own, and Hosts are standing answers about
	// hosts: for one member, for a time, or both. See For and HostsFor.
	Rules []Scoped    `json:"rules,omitempty"`
	Hosts []HostGrant `json:"hosts,omitempty"`
	// Spent are requests for hosts whose answer opens nothing by itself: it stands in Hosts, or was
	// taken back.
	Spent []Key       `json:"spent,omitempty"`
	By    policy.Role `json:"by"`
	File  string      `json:"file_sha256,omitempty"` // the team file that was accepted
	Path  string      `json:"file_path,omitempty"`   // the path of that file, whatever its name: edits of it ask
	// Ceiling bounds all of the above; nil: the user has set none.
	Ceiling *Ceiling `json:"ceiling,omitempty"`
	// Undoes are the versions whose changes this one takes back.
	Undoes []uint64 `json:"undoes,omitempty"`
}

// Joined is the start of a membership.
type Joined struct {
	Instance Instance            `json:"instance"`
	Name     protocol.MemberName `json:"name"`
	// Lead makes it the agent behind the lead, whose name and mailbox are the lead's: what
	// the team file calls it. "": a member.
	Lead  string          `json:"lead,omitempty"`
	Color string          `json:"color,omitempty"`
	Agent string          `json:"agent"`          // exec, script, …
	Spec  json.RawMessage `json:"spec,omitempty"` // the agent's own settings
	// File is the SHA-256 of the accepted team file that has Spec; "": no file has it.
	File         string `json:"file_sha256,omitempty"`
	Cwd          string `json:"cwd"`
	RealCwd      string `json:"real_cwd,omitempty"` // Cwd without links at that time, of a confined member without a worktree; "" in records of before
	PlanRequired bool   `json:"plan_required,omitempty"`
	Backend      string `json:"backend"`
	// Model and Mode are what was asked for; "" leaves it to the agent and the policy.
	Model    string      `json:"model,omitempty"`
	Mode     policy.Mode `json:"mode,omitempty"`
	Restart  *Restart    `json:"restart,omitempty"` // nil: it is never started again by itself
	Trust    Level       `json:"trust"`
	Channel  string      `json:"channel,omitempty"`  // by what it joined, when it was not the operator who made it: token and the hash of one
	Baseline []string    `json:"baseline,omitempty"` // mailbox entries that were there before
	Worktree *Worktree   `json:"worktree,omitempty"` // in which Cwd is; nil: it has none of its own
	// Prepare is nil in records of before: the accepted team file says it.
	Prepare *Preparation `json:"prepare,omitempty"`
	Sandbox *Sandbox     `json:"sandbox,omitempty"` // nil: its commands are not confined
	// Provenance is empty in records of before: Origin says it.
	Provenance Provenance  `json:"provenance,omitempty"`
	Definition *Definition `json:"definition,omitempty"` // nil: none
	// Check is that of its tasks that have none of their own; nil: its agent says when they are done.
	Check *Check `json:"check,omitempty"`
	// AtOnce is how many of the members that waggle new made work at once, from this one on; 0: something else made it.
	AtOnce int `json:"at_once,omitempty"`
	// Queued: as many worked when it joined. It is started after Begun.
	Queued bool `json:"queued,omitempty"`
	// Continues is the instance of the member of this name that had left and that this one goes on as: in
	// its directory and worktree, with its conversation. "": it is new.
	Continues Instance `json:"continues,omitempty"`
	// Conversation is the one that its agent goes on with; nil: it begins its own.
	Conversation *Conversation `json:"conversation,omitempty"`
}

// Worktree is the git worktree that was made for a member. Paths are absolute and
// without symbolic links.
type Worktree struct {
	Path   string `json:"path"`           // its top level
	Branch string `json:"branch"`         // short: waggle/<team>/<member>, or another where that cannot be
	Base   string `json:"base"`           // the commit that it began at
	From   string `json:"from,omitempty"` // the branch that it began at, where it is merged into: the checkout's, unless another was asked for; "": none
	Repo   string `json:"repo"`           // top level of the checkout that it was made from
	Common string `json:"common"`         // the git directory of Repo, which they share unless there is a Mirror
	// Mirror is the bare repository by which waggle reads a checkout that has a git directory of its
	// own, for a confined member; "": it is a linked worktree.
	Mirror string `json:"mirror,omitempty"`
	// Existing: the branch was there before, so it is never deleted.
	Existing bool `json:"existing,omitempty"`
}

// Preparation is what a member's worktree gets before the member starts for the first time, as the
// operator accepted it.
type Preparation struct {
	Copy  []string `json:"copy,omitempty"`  // paths in the checkout that git ignores, which are copied
	Link  []string `json:"link,omitempty"`  // likewise, to which symbolic links are made
	Setup []string `json:"setup,omitempty"` // shell texts that run in the worktree, once
	// Check is the shell text that must succeed before the member's work is merged; "": that of the
	// accepted file of the team.
	Check string `json:"check,omitempty"`
	// Path and File are the team file that was shown for it, and its SHA-256; "": the accepted one of
	// the team, or none.
	Path string `json:"path,omitempty"`
	File string `json:"file,omitempty"`
}

// Equal reports the same content, whatever file it is from.
func (p *Preparation) Equal(q *Preparation) bool {
	if p == nil || q == nil {
		return p == q
	}
	return slices.Equal(p.Copy, q.Copy) && slices.Equal(p.Link, q.Link) && slices.Equal(p.Setup, q.Setup)
}

// Process is one start of an instance, appended by that process.
type Process struct {
	Instance Instance       `json:"instance"`
	Epoch    uint64         `json:"epoch"`
	ID       spawn.Identity `json:"id"`
	Log      string         `json:"log,omitempty"`
}

// Restart is the policy for a member whose process died while a process leads.
type Restart struct {
	Most    int   `json:"most"`       // so many deaths within Window end it
	Window  int64 `json:"window_ms"`  // milliseconds
	First   int64 `json:"backoff_ms"` // milliseconds before the first restart; doubled each time
	Longest int64 `json:"longest_ms"` // the most that is waited
}

// LeadingProcess is the process that leads from now on, appended by it.
type LeadingProcess struct {
	ID       spawn.Identity `json:"id"`
	Detached bool           `json:"detached,omitempty"` // its terminal is not shown
	Up       bool           `json:"up,omitempty"`       // every member that it was to start is ready
	Run      bool           `json:"run,omitempty"`      // it runs a job to completion and ends the team then
	Version  string         `json:"version,omitempty"`
}

// Died records that the process of a start is gone without a handshake. The member stays: its
// orders and requests wait for its next start or its end.
type Died struct {
	Instance Instance `json:"instance"`
	Epoch    uint64   `json:"epoch"` // 0: it had not come up
	// Attempt numbers the starts after that epoch that ended before they came up.
	Attempt int        `json:"attempt,omitempty"`
	Detail  string     `json:"detail,omitempty"`
	Again   *time.Time `json:"restart_at,omitempty"` // when the leader starts it again; nil: never
	GaveUp  bool       `json:"gave_up,omitempty"`    // it was started again too often
}

// Stopping is recorded before the first signal, when the operator ends a member's processes. A
// process that is found gone after it counts as stopped, not as dead, and is not restarted.
type Stopping struct {
	Instance Instance `json:"instance"`
	Why      string   `json:"why"`
	Step     string   `json:"step,omitempty"` // once they are gone: the hardest step that was needed (package spawn)
}

// Ending records that the operator ends the team; the process that leads does it.
type Ending struct {
	Reason string `json:"reason"`
	Grace  int64  `json:"grace_ms"`        // for members to end by handshake, in milliseconds
	Force  bool   `json:"force,omitempty"` // no handshake
}

// Detached records that the operator wants the process that leads to go on without a
// terminal.
type Detached struct{}

// Ready has the properties that a start of a worker found. The worker appends it after it has
// applied its orders about itself, and takes work from then on.
type Ready struct {
	Epoch  uint64      `json:"epoch"`
	Agent  string      `json:"agent"`
	Model  string      `json:"model"` // "" when the agent has none
	Mode   policy.Mode `json:"mode"`
	Policy uint64      `json:"policy_version"`
	Cwd    string      `json:"cwd"` // links resolved
	// Top is the top directory of the git checkout that contains Cwd, "" outside of one or without
	// a worktree.
	Top     string `json:"worktree,omitempty"`
	Backend string `json:"backend,omitempty"`
	Sandbox *Held  `json:"sandbox,omitempty"` // nil: none was asked for
}

// Values of Left.How.
const (
	LeftHandshake = "handshake" // shutdown approved and the process is gone
	LeftStopped   = "stopped"   // ended by us after a grace
	LeftDied      = "died"      // gone without handshake
	LeftReplaced  = "replaced"  // the team was created anew
	LeftReleased  = "released"  // another program runs it, and it continues
)

// Left is the end of a membership.
type Left struct {
	Instance Instance `json:"instance"`
	How      string   `json:"how"`
	Detail   string   `json:"detail,omitempty"`
}

// Seen owns an entry of the lead's mailbox that the sender's journal vouches
// for. For a request it opens the question.
type Seen struct {
	Entry    string             `json:"entry"` // mailbox id
	Instance Instance           `json:"instance"`
	Ref      uint64             `json:"peer_seq"` // seq of the record in the sender's journal
	Kind     protocol.Kind      `json:"kind"`
	ID       protocol.RequestID `json:"id,omitempty"`
	Digest   Digest             `json:"digest,omitempty"`
	Ask      *Ask               `json:"ask,omitempty"`
	Expires  *time.Time         `json:"expires_at,omitempty"`
	Task     string             `json:"task,omitempty"`
	// Assignment is the seq of the order that gave the task.
	Assignment uint64 `json:"assignment,omitempty"`
	Failed     bool   `json:"failed,omitempty"`  // idle: the turn failed
	Checked    bool   `json:"checked,omitempty"` // the task's check has passed
	Note       string `json:"note,omitempty"`    // a reason or a result, short
	// Told says, for an idle notice, that the journal of the lead's agent has words to this member
	// since its last one.
	Told bool `json:"told,omitempty"`
	// Hops is what its envelope says of turns in which agents only answered each other (Mail.WithHops).
	Hops int `json:"hops,omitempty"`
	// Channel is file for a message of a member that waggle does not run: the entry is its only
	// evidence. "": the sender's journal has it.
	Channel policy.Channel `json:"channel,omitempty"`
	// Spelling is the dialect in which the sender is answered and written to from now on
	// (protocol.Decoded.Speaks); "": the wire's. It is in no digest.
	Spelling protocol.Dialect `json:"spelling,omitempty"`
}

// Values of Decided.Decision.
const (
	DecisionAllow = "allow"
	DecisionDeny  = "deny"
	// DecisionAnswer is the decision on a question: words, no permission.
	DecisionAnswer = "answer"
	// DecisionEscalate decides nothing: it gives the request to the operator. Only a voted record
	// holds it.
	DecisionEscalate = "escalate"
)

// Decided answers a request, once.
type Decided struct {
	Key
	Digest   Digest         `json:"digest"`
	Decision string         `json:"decision"`
	By       policy.Role    `json:"by"`
	Channel  policy.Channel `json:"channel"`
	Via      string         `json:"via,omitempty"` // which face: approve, prompt, headless, expiry, rules
	Policy   uint64         `json:"policy_version"`
	Rule     string         `json:"rule,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	// UpdatedInput is what runs instead of what was asked, under its own digest.
	UpdatedInput  string `json:"updated_input,omitempty"`
	UpdatedDigest Digest `json:"updated_digest,omitempty"`
	// Answers are those to a question, one for each.
	Answers []Reply    `json:"answers,omitempty"`
	UseBy   *time.Time `json:"use_by,omitempty"`
	Trust   Level      `json:"trust"`
	Mail    *Mail      `json:"mail,omitempty"`
	// First is the first request that the same command answered; nil: this one, or the only one.
	First *Key `json:"first,omitempty"`
	Judged
}

// Judged is how the rules were asked, of what they decided. The zero value: they did not
// decide, or a program did that did not say it.
type Judged struct {
	Judge int         `json:"judge,omitempty"`      // policy.JudgeVersion
	Mode  policy.Mode `json:"judge_mode,omitempty"` // that held for the member
	Task  string      `json:"judge_task,omitempty"` // that it worked on; left out where no rule holds during a task
	// Denied are the deny rules that a guest's lead has added.
	Denied []policy.Rule `json:"judge_denied,omitempty"`
}

// The orders of a Commanded.
const (
	CommandAssigned = "assigned"
	CommandShutdown = "shutdown"
	CommandMode     = "mode"
	CommandPolicy   = "policy"
)

// Commanded orders a member to do something.
type Commanded struct {
	What     string             `json:"what"`
	Instance Instance           `json:"instance"`
	ID       protocol.RequestID `json:"id,omitempty"` // shutdown
	Task     *Task              `json:"task,omitempty"`
	Mode     policy.Mode        `json:"mode,omitempty"`
	Version  uint64             `json:"version,omitempty"` // of mode and policy: only rises
	By       policy.Role        `json:"by"`
	Mail     *Mail              `json:"mail"`
	// Undoes is the version of the mode that this one takes back; 0: none.
	Undoes uint64 `json:"undoes,omitempty"`
}

// Task is what an assignment binds a member to.
type Task struct {
	ID           string `json:"id"`
	Subject      string `json:"subject"`
	Instructions string `json:"instructions"`
	SHA256       string `json:"sha256"` // of the instructions
	Cwd          string `json:"cwd,omitempty"`
	TimeoutMS    int64  `json:"timeout_ms,omitempty"`
	PlanRequired bool   `json:"plan_required,omitempty"`
	// Check decides whether it is done; nil: the check of the member, or its agent.
	Check *Check `json:"check,omitempty"`
	// Words is whose the instructions are; "": it is not known.
	Words Author `json:"words,omitempty"`
	// Optional: the team has done its work also without it.
	Optional bool `json:"optional,omitempty"`
}

// Author is whose words the instructions of a task are.
type Author string

// The authors.
const (
	WordsOfFile     Author = "file"     // they stand in the accepted team file
	WordsOfOperator Author = "operator" // the operator typed them with the order
)

// Equal reports the same order.
func (t Task) Equal(o Task) bool {
	same := t.Check == o.Check || t.Check != nil && o.Check != nil && *t.Check == *o.Check
	t.Check, o.Check, t.Words, o.Words = nil, nil, "", ""
	return same && t == o
}

// Sent records that the mail of an earlier record is in the mailbox.
type Sent struct {
	Ref uint64 `json:"ref"` // seq of the decided or commanded record
	// File is the time of the mailbox's file when the mail was in it, Unix nanoseconds; 0:
	// not known. A file that is older later is not the one that was written.
	File int64 `json:"file_ns,omitempty"`
	// Again says why it was sent a second time; "": it is the first.
	Again string `json:"again,omitempty"`
}

// Closed records that a request or command had its effect, or never will.
type Closed struct {
	Ref      uint64 `json:"ref,omitempty"` // seq of the decided or commanded record
	Key      *Key   `json:"key,omitempty"` // of a request that was abandoned
	Evidence string `json:"evidence"`
}

// Unverified is the audit record of something that claimed authority or another
// member's name and has none. It has no effect.
type Unverified struct {
	Entry string             `json:"entry"` // mailbox id
	Box   string             `json:"box"`   // whose mailbox
	From  string             `json:"from"`
	Kind  protocol.Kind      `json:"kind"`
	ID    protocol.RequestID `json:"id,omitempty"`
	Text  string             `json:"sha256"` // of the text
	Why   string             `json:"why"`
	// Told: it is a request that nobody can answer, and its sender was told so in words.
	Told bool `json:"told,omitempty"`
}

// Diverged says that a worker's journal proves a decision or a command that the
// leader's lacks.
type Diverged struct {
	Instance Instance `json:"instance"`
	Leader   uint64   `json:"leader_seq"` // where the worker's journal says it stands
	Why      string   `json:"why"`
}

// Acknowledged ends a divergence, or lets a team continue without the records after the break of a
// journal. Only the operator appends it.
type Acknowledged struct {
	Ref   uint64      `json:"ref"`             // seq of the diverged record; 0 with Break
	Break *KnownBreak `json:"break,omitempty"` // the lost records
}

// KnownBreak is a break that the operator has acknowledged. Records after it have no
// effect any more.
type KnownBreak struct {
	Journal journal.Name `json:"journal"`        // the leader's, or that of an instance
	File    string       `json:"file"`           // below the journal's directory
	Line    int          `json:"line,omitempty"` // in that file; 0: the file as a whole
	Seq     uint64       `json:"seq"`            // that was expected there
	Why     string       `json:"why"`            // the reason of the break
	Records int          `json:"records"`        // lines that were cut, the bad one included
	Bytes   int64        `json:"bytes"`          // their size
	SHA256  string       `json:"sha256"`         // of these bytes, segment after segment
	Kept    string       `json:"kept,omitempty"` // the directory below the team's that holds the journal as it was
}

// Noticed is an event about the team's files that is logged and journaled. It changes
// no state.
type Noticed struct {
	What  string `json:"what"` // of the team's directory: vanished, replaced, returned
	Path  string `json:"path"`
	Moved string `json:"moved,omitempty"` // where it was renamed to
	Saved string `json:"saved,omitempty"` // where in the archive is kept what it held
}

// Missing reports whether the team's directory is gone. n may be nil.
func (n *Noticed) Missing() bool { return n != nil && n.What == "vanished" }

// Done records that the operator has set the task of a member that uses files to done. A report of
// such a member completes nothing.
type Done struct {
	Ref  uint64 `json:"ref"` // seq of the order to do it
	Task string `json:"task"`
}

// Ended is the end of the team.
type Ended struct {
	How string `json:"how"`
}

// Asked is a worker's request, on record before it is sent. The session that
// waits again for an open request writes a second one without mail: it was sent
// already.
type Asked struct {
	Key
	Digest Digest `json:"digest"`
	Ask    Ask    `json:"ask"`
	Task   string `json:"task,omitempty"`
	Mail   *Mail  `json:"mail,omitempty"`
}

// Said is any other message of a worker to the lead.
type Said struct {
	Kind protocol.Kind      `json:"kind"`
	ID   protocol.RequestID `json:"id,omitempty"`
	Task string             `json:"task,omitempty"`
	// Assignment is the seq of the order that gave the task.
	Assignment uint64 `json:"assignment,omitempty"`
	Failed     bool   `json:"failed,omitempty"`
	Checked    bool   `json:"checked,omitempty"` // the task's check has passed
	Note       string `json:"note,omitempty"`
	Mail       *Mail  `json:"mail"`
}

// Answered is the answer as the worker took it: from the leader's journal, from
// its own rules, or because its patience ended.
type Answered struct {
	Key
	Digest   Digest      `json:"digest"`
	Decision string      `json:"decision"`
	By       policy.Role `json:"by"`
	Rule     string      `json:"rule,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Policy   uint64      `json:"policy_version"`
	Leader   uint64      `json:"leader_seq,omitempty"` // of the decided record; 0: decided here
	Waited   bool        `json:"waited,omitempty"`     // gate wait ended; the request stays open
	// Revoked: the worker itself closes an open request, or revokes an allow that was not started,
	// because the call that would run differs from the one that was asked.
	Revoked       bool       `json:"revoked,omitempty"`
	UpdatedInput  string     `json:"updated_input,omitempty"`
	UpdatedDigest Digest     `json:"updated_digest,omitempty"`
	Answers       []Reply    `json:"answers,omitempty"`
	UseBy         *time.Time `json:"use_by,omitempty"`
	// Ask is set when the rules decided and no Asked record holds it.
	Ask *Ask `json:"ask,omitempty"`
	Judged
	Entry string `json:"entry,omitempty"` // the mailbox entry that brought it
	// Channel is file for the answer of a guest's lead: the entry is its only evidence.
	Channel policy.Channel `json:"channel,omitempty"`
}

// Started claims the grant of a tool call: it is appended before the tool runs, and
// uses the grant up. For a plan or a host it claims an approval that came after the
// session had stopped waiting.
type Started struct {
	Key
	Digest Digest `json:"digest"` // of what runs
	Tool   string `json:"tool,omitempty"`
	Task   string `json:"task,omitempty"`
	// Reads: a plan is owed, and the rules found that the call only reads, as its tool's name does not tell.
	Reads bool `json:"reads,omitempty"`
}

// Finished ends a started call.
type Finished struct {
	Key
	ExitCode *int   `json:"exit_code,omitempty"`
	Failed   bool   `json:"failed"`
	Tail     string `json:"output_tail,omitempty"`
	Error    string `json:"error,omitempty"`
}

// UnknownEnd marks a call that was started and whose end is not recorded. It is never
// run again.
type UnknownEnd struct {
	Key
	Why string `json:"why"`
}

// Applied owns a command of the leader.
type Applied struct {
	What    string             `json:"what"` // CommandAssigned, …
	Ref     uint64             `json:"leader_seq"`
	Entry   string             `json:"entry,omitempty"` // mailbox id
	ID      protocol.RequestID `json:"id,omitempty"`
	Version uint64             `json:"version,omitempty"`
	Task    *Task              `json:"task,omitempty"`
	// Channel is file for what a guest's lead orders: there is no leader_seq then.
	Channel policy.Channel `json:"channel,omitempty"`
	// Spelling is the dialect of that order, in which it is answered; "": the wire's.
	Spelling protocol.Dialect `json:"spelling,omitempty"`
	// Mode and Deny are what a guest's lead has narrowed by it.
	Mode policy.Mode   `json:"mode,omitempty"`
	Deny []policy.Rule `json:"deny,omitempty"`
}

// Narrows reports what a guest's lead has narrowed: its mode, or its rules.
func (a Applied) Narrows() bool {
	return a.Version == 0 && (a.What == CommandMode && a.Mode != "" && len(a.Deny) == 0 || a.What == CommandPolicy && a.Mode == "" && len(a.Deny) > 0)
}

// Taken says what the session has taken: one turn's work.
type Taken struct {
	Entries []string `json:"entries,omitempty"` // chat: mailbox ids
	Task    string   `json:"task,omitempty"`
	Plan    bool     `json:"plan,omitempty"` // a plan must be approved first
	// News is the seq of the leader's journal up to which the lead's agent gets the events of the
	// members with this turn; 0: it gets none.
	News uint64 `json:"news,omitempty"`
	// Hops is what the turn's messages say of turns in which agents only answered each other
	// (Mail.WithHops); 0: the turn has another cause.
	Hops int `json:"hops,omitempty"`
}

// Evidence of what the reader of another program did with a message, and why it was
// sent a second time.
const (
	ReaderMarked = "its reader has marked it read"
	ReaderTook   = "its reader has taken it out of the mailbox"
	ReaderNever  = "another program erased it, twice"
	ErasedOnce   = "another program erased it before its reader took it"
)

// ChannelOf returns the channel of a Seen record: journal or file.
func (s Seen) ChannelOf() policy.Channel {
	if s.Channel == "" {
		return policy.ChannelJournal
	}
	return s.Channel
}

// Next is the restart time of a process that died at now, after these deaths; fresh says that its
// own death is not among them.
func (r *Restart) Next(deaths []time.Time, fresh bool, now time.Time) (at *time.Time, gaveUp bool) {
	since := now.Add(-time.Duration(r.Window) * time.Millisecond)
	n := 0
	for _, d := range slices.Backward(deaths) {
		if d.Before(since) {
			break
		}
		n++
	}
	if !fresh {
		n--
	}
	if n >= r.Most {
		return nil, true
	}
	wait := r.First
	for range n {
		wait = min(2*wait, r.Longest)
	}
	t := now.Add(time.Duration(wait) * time.Millisecond)
	return &t, false
}

// UnverifiedAt is an audit record and when it was made.
type UnverifiedAt struct {
	Unverified
	Seq  journal.Seq
	Time time.Time
}

// DivergedAt is an open divergence.
type DivergedAt struct {
	Diverged
	Seq journal.Seq
}

// IgnoredAt is a record without effect: its writer had no right to it, or its request
// was decided already.
type IgnoredAt struct {
	Seq  journal.Seq
	Kind string
	Why  string
}
