// Package agentcheck plays one agent through everything that a member does, in a scratch team with
// a scripted peer, and says line by line what worked: the conformance table of an agent.
//
//	table, err := agentcheck.Check(ctx, op, agentcheck.Options{Dir: dir, Member: member})
//
// What counts is what is on record and what lies in the member's directory, never what the agent
// says of itself: a line is a yes only when nothing ran that nobody had decided, and nothing was
// answered that nobody had said. A Driver makes an agent do what the check wants; there is one for
// every agent of waggle, and an agent of another program reads Script.
package agentcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"waggle/internal/claude"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/protocol"
)

// Line is one line of the table.
type Line string

// The lines.
const (
	Start    Line = "start"     // its process comes up and is ready for work
	Receive  Line = "receive"   // it gets its task, and the words that were sent while it worked
	Report   Line = "report"    // the end of its task is on record, with how it went
	Ask      Line = "ask"       // a call waits for its decision, and runs once when it is allowed
	Denied   Line = "be denied" // a denied call does not run, and the member goes on
	Plan     Line = "plan"      // nothing runs before the plan that is owed is approved
	Mode     Line = "mode"      // a mode that is set holds for its next call
	Idle     Line = "idle"      // it says that it has nothing to do
	ShutDown Line = "shut down" // it ends when it is asked to, and leaves no process
	Question Line = "question"  // it asks a person in words, and gets the answer

	MidTurn      Line = "mail in turn"     // words that come while it works wait for the end of the turn
	TwoAsks      Line = "two asks"         // each of two calls of one answer of its model gets its own decision
	TwoQuestions Line = "two questions"    // each of two questions gets its own answer
	FreeText     Line = "free text"        // an answer in words that are no option
	Unanswered   Line = "nobody answers"   // silence denies, and is told as silence
	NoPlan       Line = "empty plan"       // a plan without words is proposed to nobody
	HooksOff     Line = "hooks off"        // the user's settings allow everything and switch hooks off
	HookFails    Line = "hook exit 1"      // its second check fails, under settings that allow everything
	HookMissing  Line = "hook exit 127"    // the program of the second check is not there
	HookHangs    Line = "hook time-out"    // the second check hangs
	UserHook     Line = "user's hook"      // a hook of the user's and the project's settings allows everything
	BrokerDead   Line = "broker dead"      // its worker is killed while it asks
	Resumed      Line = "killed, resumed"  // and started again: the call runs once, when it is allowed
	Suspended    Line = "stopped, goes on" // its processes are stopped while it asks, and go on after the decision
)

// Lines lists the lines in the order of the table.
func Lines() []Line {
	return []Line{Start, Receive, Report, Ask, Denied, Plan, Mode, Idle, ShutDown, Question,
		MidTurn, TwoAsks, TwoQuestions, FreeText, Unanswered, NoPlan, HooksOff, HookFails, HookMissing, HookHangs, UserHook, BrokerDead, Resumed, Suspended}
}

// needed are the lines that no agent may lack.
var needed = map[Line]bool{Start: true, Receive: true, Ask: true, Denied: true, ShutDown: true}

// Verdict is what was found.
type Verdict string

// The verdicts.
const (
	Yes Verdict = "yes"
	No  Verdict = "no"
	// Unsupported: the agent's own protocol cannot express it, as Source says.
	Unsupported Verdict = "unsupported"
)

// Row is a line with what was found.
type Row struct {
	Line    Line    `json:"line"`
	Verdict Verdict `json:"verdict"` // yes, no, unsupported
	Detail  string  `json:"detail"`
	Source  string  `json:"source"` // of Unsupported
}

// Table is what was found of an agent.
type Table struct {
	Agent   string `json:"agent"`   // its kind
	Version string `json:"version"` // of the program behind it; "": it has none, or does not say
	OK      bool   `json:"ok"`      // it has no no, and the agent can do what every agent must
	Rows    []Row  `json:"lines"`
}

// Act is one thing that an agent is to do in a turn. Exactly one field is set.
type Act struct {
	Run string // ask for this shell command; when it is allowed, run it
	// Plan proposes a plan. When it is rejected the agent may propose it again or end its turn.
	Plan string
	Ask  *Asked // ask a person
	// Empty proposes a plan without words, once.
	Empty bool
	// Both are two acts of one answer of the model; an agent that does one thing at a time does the
	// second after the first.
	Both []Act
}

// Asked is a question in words.
type Asked struct {
	Text    string
	Options []string
}

// Driver makes agents of one kind do acts.
type Driver struct {
	Environ []string // of the members' processes
	Self    string   // the program of waggle that its members run: this one, or a copy of its own
	// Unsupported says where it is written that the agent's own protocol has no way to do what a line
	// asks for.
	Unsupported map[Line]string
	// Version names the program behind the agent, "" for none. An error means that it cannot run
	// here.
	Version func(ctx context.Context) (string, error)
	// Cast prepares a member that does these acts, one after the other, in every turn with a task. A
	// denial does not keep it from the next.
	Cast func(ctx context.Context, name protocol.MemberName, acts []Act) (Role, error)
	// Prepare is told before the first member starts in which directories members will work.
	Prepare func(dirs []string) error
	Close   func() error
}

// Role is how a member does its acts.
type Role struct {
	Spec         json.RawMessage // the member's settings
	Instructions string          // of its task
	// Heard returns all that the agent was told so far, as far as its driver knows; nil: it does not.
	// What the member writes to its output counts as heard then.
	Heard func() string
	// Connect runs the client of a member that waggle does not start, and returns when ctx ends or
	// the member does; nil: waggle starts the member.
	Connect func(ctx context.Context, team protocol.TeamName) error
	// Foreign: the command is not the one of the act, so that what it leaves cannot be looked at.
	Foreign bool
	// Break makes the agent's second check fail as HookFails, HookMissing and HookHangs say, or adds the
	// hook of UserHook to the settings of the member that works in cwd, until mend; nil: it has none.
	Break func(l Line, cwd string) (mend func() error, err error)
}

// Script writes acts as lines for an agent that has nothing else to go by: "run COMMAND", "plan
// WORDS", "ask QUESTION | OPTION | OPTION". A plan without WORDS is one without words; a line "both"
// stands before two that belong together.
func Script(acts []Act) string {
	var s strings.Builder
	for _, a := range acts {
		switch {
		case a.Run != "":
			fmt.Fprintf(&s, "run %s\n", a.Run)
		case a.Plan != "":
			fmt.Fprintf(&s, "plan %s\n", a.Plan)
		case a.Empty:
			s.WriteString("plan\n")
		case a.Ask != nil:
			fmt.Fprintf(&s, "ask %s\n", strings.Join(append([]string{a.Ask.Text}, a.Ask.Options...), " | "))
		case a.Both != nil:
			s.WriteString("both\n" + Script(a.Both))
		}
	}
	return s.String()
}

// Options say what is checked.
type Options struct {
	// Dir is a directory of the check's own, where the members work. The operator's Root and Home
	// must lie in it, or in another one that is thrown away.
	Dir string
	// Member is the member that is checked: its Agent, and its settings as a team file has them.
	Member teamfile.FileMember
	// Backend is how members are started; "": as processes of their own. A program that has
	// registered an agent of its own says operator.BackendInProcess.
	Backend string
	// Patience is how long one thing may take; 0 means a minute.
	Patience time.Duration
	// Tell gets each row as soon as it is known; nil: nobody does.
	Tell func(Row)
}

// Check plays a member's agent through every line. The error is that of the check itself; what the
// agent does wrong is in the table.
func Check(ctx context.Context, op operator.Operator, o Options) (_ *Table, err error) {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if o.Backend == "" {
		o.Backend = operator.BackendProcess
	}
	d, err := DriverOf(op, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	version, err := d.Version(ctx)
	if unusable := (*claude.UnsupportedError)(nil); errors.As(err, &unusable) {
		c := &checker{o: o, rows: map[Line]Row{}}
		for _, l := range Lines() {
			c.say(Row{Line: l, Verdict: Unsupported, Source: unusable.Error() + " (docs/guide/claude.md, In a pane)"})
		}
		return c.table(version), nil
	}
	if err != nil {
		return nil, err
	}
	op.Self, op.Environ, op.Ceiling, op.RunDir = d.Self, d.Environ, nil, "" // what is played is this package's, in a directory of its own
	c := &checker{op: op, o: o, d: d, rows: map[Line]Row{}}
	err = c.all(ctx)
	return c.table(version), err
}

// table is what was found so far.
func (c *checker) table(version string) *Table {
	t := &Table{Agent: c.o.Member.Agent, Version: version, OK: true}
	for _, l := range Lines() {
		if r, ok := c.rows[l]; ok {
			t.Rows = append(t.Rows, r)
			t.OK = t.OK && r.Verdict != No && !(r.Verdict == Unsupported && needed[l])
		}
	}
	return t
}
