// Package agent is the interface of a worker to its agent, with the agents exec, which runs a
// command for each task, and script, which runs a list of steps. An agent never touches a mailbox,
// a journal or a tool by itself: it asks its Gate, sends through its Voice, and runs processes
// through its Exec.
//
//	a, err := agent.New("exec", spec)
//	res, err := a.Turn(ctx, host, agent.Work{Task: &task})
//
// A program adds an agent of its own with Register, or passes it to the worker that it runs
// (worker.Options.Agent).
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"waggle/policy"
	"waggle/protocol"
	"waggle/spawn"
)

// Agent does one turn of work at a time.
type Agent interface {
	// Turn does the work and returns when the turn is over. An error is the
	// agent's own failure; a command that failed or a call that was denied is a
	// Result. When ctx ends it stops what it started and returns.
	Turn(ctx context.Context, h Host, w Work) (Result, error)
}

// Work is one turn's input: a task, or chat that arrived while idle. A task comes with mail when a
// turn is taken up after a crash: words that the session before was given in it (Listener).
type Work struct {
	Task *Task
	Mail []protocol.Mail
	Cwd  string // where it is done; a task says where itself
	// Conversation is the id of the member's conversation (Account), which a Session goes on with;
	// "": there is none yet.
	Conversation string
	// Lent says that a person has had the conversation since this agent was in it last (Borrowable).
	Lent bool
}

// Task is what an assignment asks for.
type Task struct {
	ID           string
	Subject      string
	Instructions string
	Cwd          string // absolute
	PlanRequired bool
	Timeout      time.Duration // 0: none
	Spent        time.Duration // of Timeout, by earlier processes or parts of this turn
}

// Limit bounds ctx by what is left of the task's timeout.
func (t Task) Limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, t.Timeout-t.Spent, fmt.Errorf("the task's timeout of %s", t.Timeout))
}

// Result is how a turn ended.
type Result struct {
	Summary  string // one line for people
	Failed   bool   // the task is not done
	Denied   bool   // because a call was denied
	Reason   string // why it failed
	ExitCode *int   // of the command that decided it
}

// ErrWithdrawn is the error of a plan, a question or a call (Ask) that its agent took back: its
// request is closed, and a later answer has no effect.
var ErrWithdrawn = errors.New("the request was taken back")

// ElsewhereError is the cause with which an agent ends the context of a call, a plan or a question
// that was answered where waggle does not decide: the request is closed with these words, and not
// answered by them.
type ElsewhereError struct{ How string }

func (e *ElsewhereError) Error() string { return e.How }

// Gate decides what an agent may do. Each call blocks until it is decided.
type Gate interface {
	// Tool asks for one tool call and, when it is allowed, runs it exactly once
	// with the input that was allowed, which may differ from what was asked.
	Tool(ctx context.Context, c Call, run func(ctx context.Context, input json.RawMessage) Ran) (Outcome, error)
	// Ask asks for one tool call that the agent runs itself. When it is allowed, its start is on
	// record before Ask returns: the agent runs it once, with the claim's input, and ends it with
	// Claim.Done. When ctx ends first, and the turn goes on, the call is asked no more.
	Ask(ctx context.Context, c Call) (Claim, error)
	// Question asks a person in words. Without an answer in time there is none: Answers.Given is
	// false and the agent is told NoAnswer. When ctx ends first, and the turn goes on, the question
	// is taken back and the error is ErrWithdrawn.
	Question(ctx context.Context, q Question) (Answers, error)
	// Plan asks for a verdict on a plan. When ctx ends first, and the turn goes on, the plan is
	// taken back and the error is ErrWithdrawn.
	Plan(ctx context.Context, plan string) (Decision, error)
	// Network asks for access to a host, "example.com" or "example.com:443".
	Network(ctx context.Context, host, reason string) (Decision, error)
}

// Call is one tool call.
type Call struct {
	Tool   string
	Input  json.RawMessage // a JSON object
	Cwd    string
	Reason string
	// Files are the files that waggle itself opens for the call, with their resolved paths: the
	// gate records and judges these, and the call touches exactly their Real or fails. A call
	// without Files is judged when it is asked and when it is claimed; between the two its files
	// may change.
	Files []policy.RealPath
	Stdin string   // what the command reads; the input says it too, under "stdin"
	Env   []string // what the agent adds to the environment for it, NAME=VALUE
	// MustAsk says why a person decides where a rule or a mode would allow, in one sentence; "": the rules
	// decide.
	MustAsk string
	// UseID is the agent's own id of the call, for the record; "": the worker makes one.
	UseID string
	// Argv is what is started when the call is allowed as it was asked; none where
	// waggle does not run it.
	Argv []string
}

// Ran is what a tool call did.
type Ran struct {
	ExitCode *int
	Failed   bool
	Tail     string // end of its output, at most TailSize bytes
	Err      string
}

// TailSize is how much of a command's output is kept in the record.
const TailSize = 4 << 10

// Decision is what was decided of a call.
type Decision struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"` // the words of the one who decided
	By      string `json:"by"`     // operator, rules, leader, system
}

// Outcome is the answer and, when the call ran, what it did.
type Outcome struct {
	Decision
	Ran *Ran
}

// Voice sends words to the lead and to peers.
type Voice interface {
	Say(ctx context.Context, to, text, summary string) error
	Progress(ctx context.Context, phase, message string) error
}

// Exec runs a process that the gate allowed; a sandbox implements it too.
type Exec interface {
	Run(ctx context.Context, c spawn.Command) (spawn.Exit, error)
}

// Host is what a worker gives its agent.
type Host interface {
	Gate
	Voice
	Exec
	Account
	// Output is the member's output.log.
	Output() io.Writer
	// Environ is the environment for commands.
	Environ() []string
	// Caller is what a process of this member needs in its environment to call its worker
	// (EnvSocket, EnvSpawn): a hook or a tool server asks, and says, as this member. None where no
	// socket is served. It is for processes that the agent starts itself, not for commands.
	Caller() []string
}

// The variables of the environment with which a process calls its member's worker: the path of the
// member's socket, and the token that lets a process ask there as the member.
const (
	EnvSocket = "WAGGLE_SOCKET"
	EnvSpawn  = "WAGGLE_SPAWN_TOKEN"
)

// Modeled is an Agent that has a model.
type Modeled interface {
	Agent
	// Model names the model that is in use.
	Model() string
}

// Listener is an Agent that takes words while one of its turns runs.
type Listener interface {
	// Hear is given messages right before the agent's next tool call is asked, from the goroutine
	// that asks. It returns before anything of the call happens; an error is logged and delays
	// nothing.
	Hear(ctx context.Context, mails []protocol.Mail) error
}

// Hears reports whether agents of a kind are Listeners.
func Hears(kind string) bool { return kind == "script" || kind == KindMCP }

// GoesOn reports whether an agent goes on with a task when it gets it again, with more words: its
// conversation has what it did before.
func GoesOn(a Agent, kind string) bool {
	_, ok := a.(Session)
	return ok || kind == KindMCP
}

// SaysSo reports whether agents of a kind say by themselves when a task is done. Of exec and script the
// exit statuses of their commands say it.
func SaysSo(kind string) bool { return kind != "exec" && kind != "script" }

// decodeSpec reads settings by exact field name.
func decodeSpec(spec json.RawMessage, into any) error {
	if len(spec) == 0 {
		return nil
	}
	return json.Unmarshal(spec, into)
}

// Limited is the error of a turn that was cut short by the agent's account, whose usage limit is reached, or
// by its service, which is overloaded or out of reach. The turn is not over: the member is limited until that
// time, and then gives the agent the same work again, with its conversation.
type Limited struct {
	Until  time.Time // zero: not known; the member tries again after a while
	Reason string    // the agent's words, one line
	// Passing: it is the service, which may be back at any time. Without Until the member tries again
	// soon, and each time in a row later.
	Passing bool
}

func (e *Limited) Error() string {
	s := cmp.Or(e.Reason, "a usage limit is reached")
	if !e.Until.IsZero() {
		s += ", until " + e.Until.UTC().Format(time.RFC3339)
	}
	return s
}

// Refuser is a Host that says what its rules deny, without asking anybody and without a record: a
// second line for an agent that runs its calls itself. What it does not refuse is not allowed by
// that.
type Refuser interface {
	// Refuses says why a call may not run now; "" when no rule, no mode, no plan that is owed and no
	// shutdown is against it.
	Refuses(ctx context.Context, c Call) (reason string)
}

// Starter is an Agent that begins turns by itself: a client that is not waiting for work wants to
// ask, or a person types into it.
type Starter interface {
	Agent
	// Starts sends when the agent wants a turn without work. As soon as the member is idle, Turn is
	// called with a Work that has neither a task nor mail; a turn with work that begins first serves
	// as well. The worker receives from it for as long as it runs.
	Starts() <-chan struct{}
}

// Displayed is an Agent whose program a person can watch and type into, where the member's process
// has a pane.
type Displayed interface {
	Agent
	// Display gives it the member's pane, before anything else.
	Display(d Display)
}

// Display is a member's pane. One program at a time runs on it.
type Display interface {
	// Run runs a program by an Exec, with a terminal of its own that the pane shows, and returns as
	// the Exec does.
	Run(ctx context.Context, by Exec, c spawn.Command) (spawn.Exit, error)
	// Shown is the text on the screen, and how much the program has written so far.
	Shown() (lines []string, wrote int64)
}

// Waiter is a Host that shows that a person has to do something in the member's pane.
type Waiter interface {
	// Waits says what the pane waits for, "" that it waits no more. It decides nothing.
	Waits(ctx context.Context, why string) error
}
