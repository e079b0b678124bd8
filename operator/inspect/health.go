package inspect

import (
	"fmt"
	"strings"
	"time"

	"waggle/operator"
	"waggle/spawn"
)

// MemberState is how a member is: one word, the same for every face.
type MemberState string

// The states, and what each rests on (docs/members.md).
const (
	StateStarting   MemberState = "starting"           // its process runs or is to come, and it takes no work yet
	StateWorking    MemberState = "working"            // a turn runs
	StateHuman      MemberState = "waiting-human"      // a person has to answer it
	StatePeer       MemberState = "waiting-peer"       // the lead's agent has to answer it, or another's task has to be done first
	StateBackground MemberState = "waiting-background" // a command of it runs and has been silent for a while, or has outlived its turn
	StateIdle       MemberState = "idle"               // it has nothing to do
	StateStalled    MemberState = "stalled"            // its process is there and does not do its part
	StateDead       MemberState = "dead"               // its process is gone
	StateUnknown    MemberState = "unknown"            // what would tell cannot be read, or there is nothing that tells
)

// MemberStates lists them.
func MemberStates() []MemberState {
	return []MemberState{StateStarting, StateWorking, StateHuman, StatePeer, StateBackground, StateIdle, StateStalled, StateDead, StateUnknown}
}

const (
	// quietAfter is how long a command may be silent before its member counts as
	// waiting for it. It never becomes more than that while its process lives.
	quietAfter = time.Minute
	// stallAfter is how old an order must be that a member has not applied, although
	// its process polls every second and fetches what is 2 s old by itself.
	stallAfter = 15 * time.Second
	// stallWatched is for how long such an order must be seen to stay unapplied. Ages
	// are differences of wall clocks, and all of them are large after a laptop's
	// sleep; this is time in which this program, and so the member, could run.
	stallWatched = 2 * time.Second
)

// Health is how a member is, since when, and why it is said so.
type Health struct {
	State MemberState
	Since time.Time // zero: nobody can tell
	Why   string
}

// MemberFacts are what is known of a member at one moment, gathered from the
// journals, the process table, the files and the board. Health is a function of
// them and of nothing else.
type MemberFacts struct {
	Now   time.Time
	Led   bool      // somebody leads the team
	Files bool      // no journal says what it does: waggle does not run it
	Since time.Time // of the state that the leader's journal has it in

	// PID is the process on record, 0 when there is none. Process is the state of exactly that
	// process is, start time and boot included; Unseen says why it is not known.
	PID       int
	Process   spawn.State
	Unseen    string
	StartedAt time.Time // when the process said that it had started
	Inside    bool      // it lives inside of that process, which leads

	Death    *Death    // on record of the newest start
	Ending   string    // why its end is expected, "" when it is not
	LastSign time.Time // of life: its newest record or output

	Broken string // why its journal cannot be read
	Up     bool   // the newest start has opened its journal
	Ready  bool   // and takes work

	Asks     *Waits    // the oldest question that its session waits for
	Commands []Command // that were started and have not ended, oldest first
	Turn     *Waits    // the turn that runs
	Todo     *Waits    // a task of its own that waits for tasks of others
	Held     string    // why it does not begin a task that it has, when nobody else is waited for
	Overdue  *Overdue  // the oldest order that it has not applied

	Resting bool   // it said by file that it is idle, and was given nothing since
	Active  *bool  // as config.json has it, for Files
	Source  string // where Active comes from
	Doubt   string // why what it says is not believed, "" when it is
}

// Death is the end of a process as the leader's journal has it.
type Death struct {
	At     time.Time
	Detail string
	Again  time.Time // when it is started again; zero: not by itself
	GaveUp bool
}

// Waits is something that goes on or is waited for.
type Waits struct {
	What  string
	Since time.Time
	Peer  bool // no person has to do anything
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
	Watched time.Duration // for how long it was seen to stay so
}

// Health tells how the member is. Exactly one state holds: dead before everything,
// and only when the recorded process is certainly gone; unknown before everything
// that a living process might do.
func (f MemberFacts) Health() Health {
	switch {
	case f.gone():
		return f.dead()
	case f.PID != 0 && f.Process == spawn.Stopped:
		return Health{StateStalled, f.since(), fmt.Sprintf("process %d is stopped (SIGSTOP, or a debugger); kill -CONT %d lets it go on", f.PID, f.PID)}
	case f.PID != 0 && f.Process != spawn.Running:
		return Health{StateUnknown, time.Time{}, fmt.Sprintf("process %d cannot be looked at: %s", f.PID, known(f.Unseen))}
	case f.Broken != "":
		return Health{StateUnknown, time.Time{}, "its journal cannot be read: " + f.Broken}
	case f.Files:
		return f.byFiles()
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

// gone reports that there certainly is no process: the one on record does not run,
// or none has ever come up and the leader saw the start fail.
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
		return h
	}
	h.Since, h.Why = f.Death.At, h.Why+operator.Suffix(f.Death.Detail)
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
	return h
}

// byFiles is all that can be said of a member that waggle does not run.
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

// stalled asks for two things that are independent: an old order, and that it was
// seen to stay.
func (f MemberFacts) stalled() bool {
	return f.Overdue != nil && f.Now.Sub(f.Overdue.Since) >= stallAfter && f.Overdue.Watched >= stallWatched
}

// busy is for a member whose process runs and has opened its journal.
func (f MemberFacts) busy() Health {
	switch {
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
	case f.Todo != nil:
		return Health{StatePeer, f.Todo.Since, f.Todo.What}
	}
	if f.Held != "" {
		return Health{StateIdle, f.Since, f.Held}
	}
	return Health{StateIdle, f.Since, "waits for work"}
}

// command is for a member of which a command runs: it works, and from a while of
// silence on, or when its turn is over, it waits for it.
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

// ago is an age for people; a clock that was set back makes it no age at all.
func (f MemberFacts) ago(t time.Time) string {
	return max(0, f.Now.Sub(t)).Truncate(time.Second).String()
}

func known(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return "nobody knows why"
	}
	return s
}
