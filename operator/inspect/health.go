package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"waggle/operator"
	"waggle/protocol"
	"waggle/spawn"
)

// MemberState is the state of a member as every face shows it. The process's state is spawn.State,
// the machine's state is machine.State; Health derives this one from them and from other facts.
type MemberState string

// The states and their evidence (docs/design/members.md).
const (
	StateStarting   MemberState = "starting"           // its process is starting or will be started, and it takes no work yet
	StateQueued     MemberState = "queued"             // waggle new made it while as many of its members worked as may at once
	StateBlocked    MemberState = "blocked: setup"     // its worktree could not be prepared, and it was not started
	StateWorking    MemberState = "working"            // a turn runs
	StateHuman      MemberState = "waiting-human"      // a person has to answer it
	StatePeer       MemberState = "waiting-peer"       // the lead's agent has to answer it, or a task of another member has to be done first
	StateBackground MemberState = "waiting-background" // one of its commands runs and has been silent for a while, or has outlived its turn
	StateFailed     MemberState = "failed"             // its last turn on a task failed, and it has nothing else to do
	StateHeldUp     MemberState = "blocked"            // its task waits for one that failed
	StateIdle       MemberState = "idle"               // it has no work
	StatePaused     MemberState = "paused"             // a budget is used up, and nobody has raised it; or the operator has stopped all work
	StateLimited    MemberState = "limited"            // by a usage limit of its agent, or a service that is out of reach; it goes on by itself
	StateTaken      MemberState = "taken"              // a person goes on with its session in a client of their own
	StateStalled    MemberState = "stalled"            // its process runs and does not apply its orders, or is stopped
	StateDead       MemberState = "dead"               // its process is gone
	StateUnknown    MemberState = "unknown"            // the evidence cannot be read, or there is none
)

const (
	// quietAfter is how long a command may be silent before its member counts as waiting for it.
	// While the process lives, silence has no other effect.
	quietAfter = time.Minute
	// stallAfter is the age of an unapplied order from which on a member may be stalled: a running
	// process polls every second and fetches by itself what is 2 s old.
	stallAfter = 15 * time.Second
	// stallWatched is how long the order must stay unapplied while this program watches. Ages are
	// differences of wall clocks, and all of them are large after a laptop's sleep; during this
	// time this program, and so the member, could run.
	stallWatched = 2 * time.Second
)

// Health is the state of a member, its beginning and its reason.
type Health struct {
	State MemberState
	Since time.Time // zero: not known
	Why   string
}

// MemberFacts are the facts about a member at one moment, from the journals, the process table, the
// files and the board. Health is a function of them and of nothing else.
type MemberFacts struct {
	Now   time.Time
	Led   bool      // a process leads the team
	Files bool      // waggle does not run it: it has no journal
	Since time.Time // the beginning of its state in the leader's journal

	// PID is the recorded process, 0 when there is none. Process is the state of exactly that
	// process, by start time and boot; Unseen is the reason why it is not known.
	PID       int
	Client    bool // nothing is started for it: its client connects
	Process   spawn.State
	Unseen    string
	StartedAt time.Time // when the process recorded its start
	Inside    bool      // it runs inside of that process, which leads

	Death    *Death    // of the newest start
	Ending   string    // why its end is expected, "" when it is not
	LastSign time.Time // its newest record or output

	Broken string // why its journal cannot be read
	Up     bool   // the newest start has opened its journal
	Ready  bool   // it takes work

	Queued   string    // its place in the queue, "" when it is not in it
	Setup    *Waits    // why its worktree could not be prepared
	Taken    *Waits    // who has its session, or waits for it
	Paused   *Waits    // the budget that is used up, or that all work is stopped
	Limited  *Limited  // what has cut its turn short
	Asks     *Waits    // the oldest question that its session waits for
	Commands []Command // that were started and have not ended, oldest first
	Turn     *Waits    // the turn that runs
	Todo     *Waits    // a task of its own that waits for tasks of others
	Failed   *Waits    // its task whose last turn failed
	HeldUp   *Waits    // its task that waits for a failed one
	Held     string    // why it does not begin a task that it has, when it waits for nobody
	Begins   bool      // Held names a task that it begins now
	Finished bool      // it has completed a task
	Unowned  string    // the task of nobody that Held waits for, "" for none
	Said     string    // a task of its own that is done by its word alone
	Overdue  *Overdue  // the oldest order that it has not applied

	Resting bool   // it reported by file that it is idle, and got nothing since
	Active  *bool  // as config.json has it, for Files
	Source  string // where Active comes from
	Doubt   string // why its own report does not count, "" when it does
	// Session is what an adopted session says of itself, or the journal of a guest; nil: they say nothing.
	Session *Health
}

// StoppedWhy is why a member is paused, or a team stopped, by the operator's word.
const StoppedWhy = "you have stopped all work"

// Death is the end of a process as the leader's journal has it.
type Death struct {
	At     time.Time `json:"at"`
	Detail string    `json:"detail"`
	Again  time.Time `json:"restart_at"` // when it is started again; zero: not by itself
	GaveUp bool      `json:"gave_up"`
}

// Waits is something that runs or is waited for.
type Waits struct {
	What  string
	Since time.Time
	Peer  bool   // it does not wait for a person
	For   string // the peer, or the peer and the task, that it waits for; "": nobody
}

// Limited is what has cut a turn of a member's agent short that goes on by itself.
type Limited struct {
	Since, Until time.Time
	Why          string
}

// Command is a tool call that was started and has not ended.
type Command struct {
	What  string
	Since time.Time
	Heard time.Time // when its member last wrote output; zero: never
}

// Overdue is an order that was not applied.
type Overdue struct {
	What    string
	Since   time.Time
	Watched time.Duration // how long this program saw it unapplied
}

// Health returns the state of the member. Exactly one state holds. dead comes first, and only when
// the recorded process is certainly gone; then unknown, before every state of a living process.
func (f MemberFacts) Health() Health {
	switch {
	case f.gone():
		return f.dead()
	case f.PID != 0 && f.Process == spawn.Stopped:
		return Health{StateStalled, f.since(), fmt.Sprintf("process %d is stopped (SIGSTOP, or a debugger); kill -CONT %d lets it go on", f.PID, f.PID)}
	case f.PID != 0 && f.Process != spawn.Running:
		return Health{StateUnknown, time.Time{}, fmt.Sprintf("process %d cannot be inspected: %s", f.PID, cmp.Or(strings.TrimSpace(f.Unseen), "nobody knows why"))}
	case f.Broken != "":
		return Health{StateUnknown, time.Time{}, "its journal cannot be read: " + f.Broken}
	case f.Files:
		return f.byFiles()
	case f.Queued != "" && !f.Led:
		return Health{StateQueued, f.Since, f.Queued + "; nobody leads who would start it"}
	case f.Queued != "":
		return Health{StateQueued, f.Since, f.Queued}
	case f.PID == 0 && f.Setup != nil:
		return Health{StateBlocked, f.Setup.Since, f.Setup.What}
	case f.PID == 0 && f.Client:
		return Health{StateStarting, f.Since, "no client is connected as it"}
	case f.PID == 0 && !f.Led:
		return Health{StateUnknown, f.Since, "no process of it is on record, and nobody leads who would start one"}
	case f.PID == 0:
		return Health{StateStarting, f.Since, "its process has not written to the journal yet"}
	case !f.Up:
		return Health{StateStarting, f.StartedAt, fmt.Sprintf("process %d opens its journal", f.PID)}
	case f.stalled():
		return Health{StateStalled, f.Overdue.Since, fmt.Sprintf("process %d runs and has not applied %s for %s; it was watched for %s of it",
			f.PID, f.Overdue.What, f.ago(f.Overdue.Since), f.Overdue.Watched.Round(100*time.Millisecond))}
	}
	h := f.busy()
	if f.Ending != "" {
		h.Why = f.Ending + "; " + h.Why
	}
	return h
}

// gone reports that there certainly is no process: the recorded one does not run, or none has come
// up and the leader saw the start fail.
func (f MemberFacts) gone() bool {
	if f.PID == 0 {
		return f.Death != nil
	}
	return f.Process == spawn.Gone
}

func (f MemberFacts) dead() Health {
	h := Health{State: StateDead, Since: f.LastSign, Why: "its process ended before it came up"}
	if f.PID != 0 {
		h.Why = fmt.Sprintf("process %d is gone", f.PID)
	}
	if f.Inside {
		h.Why = fmt.Sprintf("process %d, in which it lived, is gone", f.PID)
	}
	if f.Ending != "" {
		h.Why = f.Ending + "; " + h.Why
	}
	if f.Death == nil {
		return f.asking(h)
	}
	if h.Why += operator.Suffix(f.Death.Detail); !f.Death.At.IsZero() {
		h.Since = f.Death.At
	}
	switch {
	case f.Ending != "":
	case f.Death.GaveUp:
		h.Why += "; it was started again too often, and is given up"
	case !f.Death.Again.IsZero() && f.Led && f.Death.Again.After(f.Now):
		h.Why += "; it is started again in " + f.Death.Again.Sub(f.Now).Round(time.Second).String()
	case !f.Death.Again.IsZero() && f.Led:
		h.Why += "; it is being started again"
	default:
		h.Why += "; nobody starts it again by itself"
	}
	return f.asking(h)
}

// asking adds what a dead member asks: its request stays open, and the answer waits for its next start.
func (f MemberFacts) asking(h Health) Health {
	if f.Asks != nil {
		h.Why += "; " + f.Asks.What
	}
	return h
}

// stays reports a dead member that a person has to bring back: its end was not expected, and nobody starts it
// again.
func (f MemberFacts) stays() bool {
	again := f.Led && (f.Death == nil || !f.Death.Again.IsZero()) // the process that leads starts it, as soon as it has seen the death
	return f.gone() && !f.Files && f.Ending == "" && !again
}

// byFiles is Health for a member that waggle does not run.
func (f MemberFacts) byFiles() Health {
	where := f.Source
	running := ""
	if f.PID != 0 {
		running = fmt.Sprintf("process %d runs; ", f.PID)
	}
	switch {
	case f.Doubt != "":
		return Health{StateUnknown, f.Since, f.Doubt}
	case f.Asks != nil:
		return Health{StateHuman, f.Asks.Since, running + f.Asks.What}
	case f.Session != nil:
		return Health{f.Session.State, f.Session.Since, running + f.Session.Why}
	case f.Active == nil && f.Resting:
		return Health{StateIdle, f.Since, running + "it said so by file"}
	case f.Active == nil && f.PID != 0:
		return Health{StateUnknown, f.Since, fmt.Sprintf("process %d runs, and nothing says what it does", f.PID)}
	case f.Active == nil:
		return Health{StateUnknown, f.Since, "only files vouch for it, and they do not say how it is"}
	case *f.Active:
		return Health{StateWorking, time.Time{}, running + "isActive is true in " + where}
	}
	return Health{StateIdle, time.Time{}, running + "isActive is false in " + where}
}

// stalled needs two independent facts: an old order, and that this program saw it stay unapplied.
func (f MemberFacts) stalled() bool {
	return f.Overdue != nil && f.Now.Sub(f.Overdue.Since) >= stallAfter && f.Overdue.Watched >= stallWatched
}

// busy is Health for a member whose process runs and has opened its journal.
func (f MemberFacts) busy() Health {
	switch {
	case f.Taken != nil:
		return Health{StateTaken, f.Taken.Since, f.Taken.What}
	case f.Paused != nil:
		return Health{StatePaused, f.Paused.Since, f.Paused.What}
	case f.Limited != nil:
		return Health{StateLimited, f.Limited.Since, "rate-limited until " + protocol.FormatTime(f.Limited.Until) + operator.Suffix(f.Limited.Why)}
	case f.Asks != nil && f.Asks.Peer:
		return Health{StatePeer, f.Asks.Since, f.Asks.What}
	case f.Asks != nil:
		return Health{StateHuman, f.Asks.Since, f.Asks.What}
	case len(f.Commands) > 0:
		return f.command()
	case f.Turn != nil:
		return Health{StateWorking, f.Turn.Since, f.Turn.What}
	case !f.Ready:
		return Health{StateStarting, f.StartedAt, "it is not ready for work yet"}
	case f.Failed != nil:
		return Health{StateFailed, f.Failed.Since, f.Failed.What}
	case f.HeldUp != nil:
		return Health{StateHeldUp, f.HeldUp.Since, f.HeldUp.What}
	case f.Todo != nil:
		return Health{StatePeer, f.Todo.Since, f.Todo.What}
	}
	return Health{StateIdle, f.Since, cmp.Or(f.Held, f.Said, "waits for work")}
}

// command is Health for a member with a running command: it works, and after some silence, or when
// its turn is over, it waits for the command.
func (f MemberFacts) command() Health {
	c := f.Commands[0]
	heard := c.Since
	if c.Heard.After(heard) {
		heard = c.Heard
	}
	h := Health{StateWorking, c.Since, fmt.Sprintf("runs %s for %s", c.What, f.ago(c.Since))}
	if n := len(f.Commands) - 1; n > 0 {
		h.Why += fmt.Sprintf(", and %d more", n)
	}
	switch quiet := f.Now.Sub(heard); {
	case f.Turn == nil:
		h.State, h.Why = StateBackground, h.Why+", which its turn did not wait for"
	case quiet >= quietAfter:
		h.State, h.Why = StateBackground, h.Why+fmt.Sprintf(", silent for %s; its process %d runs", f.ago(heard), f.PID)
	}
	return h
}

func (f MemberFacts) since() time.Time {
	if f.LastSign.After(f.StartedAt) {
		return f.LastSign
	}
	return f.StartedAt
}

// ago formats an age for people; after a clock was set back there is no age.
func (f MemberFacts) ago(t time.Time) string {
	return max(0, f.Now.Sub(t)).Truncate(time.Second).String()
}
