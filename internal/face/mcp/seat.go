package mcp

import (
	"context"
	"time"

	"waggle/agent"
	"waggle/protocol"
)

// Identity is the member of the client.
type Identity struct {
	Team   protocol.TeamName
	Member protocol.MemberName
	Lead   bool // it is the lead's agent
}

// Seat has the operations that a client can call as its member. Its methods may be called
// concurrently.
type Seat interface {
	Identity() Identity
	agent.Voice // a message goes to the lead or to a peer, "*" to all
	// Ask asks the gate about a call that the client runs itself.
	Ask(ctx context.Context, c agent.Call) (agent.Claim, error)
	// Question asks a person in words.
	Question(ctx context.Context, q agent.Question) (agent.Answers, error)
	// Plan requests a decision about a plan.
	Plan(ctx context.Context, plan string) (agent.Decision, error)
	// Network requests a host, "example.com" or "example.com:443".
	Network(ctx context.Context, host, reason string) (agent.Decision, error)
	// Check ends a turn whose mail the client has read, and returns the work and messages that came
	// since. It waits for them until wait is over.
	Check(ctx context.Context, wait time.Duration) (Work, error)
	// Members and Tasks return no nil list.
	Members(ctx context.Context) ([]Member, error)
	Tasks(ctx context.Context) ([]agent.BoardTask, error)
	// Claim takes a task from the board; id "" is the first available one.
	Claim(ctx context.Context, id string) (agent.BoardTask, error)
	// Complete ends a task that the member works on; failed leaves it open.
	Complete(ctx context.Context, id, summary string, failed bool) (agent.BoardTask, error)
	Brief(ctx context.Context) (Brief, error)
}

// Leading is the seat of the lead's agent.
type Leading interface {
	Seat
	// Spawn starts a new member. Its permissions are at most those of the lead.
	Spawn(ctx context.Context, n agent.NewMember) (Member, error)
	// Assign gives a task to a member.
	Assign(ctx context.Context, task, member string) (agent.BoardTask, error)
	// Stop asks a member to end.
	Stop(ctx context.Context, member, reason string) error
	// Requests lists the open requests that the team file's decide gives to the lead.
	Requests(ctx context.Context) ([]agent.Request, error)
	// Answer answers one of them, by the digest that it was shown with.
	Answer(ctx context.Context, a Verdict) (agent.Answered, error)
}

// Verdict is the lead's answer to a request.
type Verdict struct {
	ID string `json:"id"`
	agent.Answer
}

// Work is the work and messages for the client.
type Work struct {
	Task     *agent.BoardTask `json:"task,omitempty" jsonschema:"the task that you work on; end it with complete_task"`
	Messages []Mail           `json:"messages" jsonschema:"messages, oldest first; each is delivered once"`
	Ending   bool             `json:"ending,omitempty" jsonschema:"true when the team wants this member to end: finish and stop"`
}

// Mail is one message.
type Mail struct {
	From    string `json:"from"`
	Summary string `json:"summary,omitempty"`
	Text    string `json:"text"`
}

// Member is one member of the team.
type Member struct {
	Name  string `json:"name"`
	State string `json:"state" jsonschema:"how it is, as waggle status says it"`
	Task  string `json:"task,omitempty" jsonschema:"the id of the task that it works on"`
	You   bool   `json:"you,omitempty"`
}

// Brief is a summary for a member whose model has lost its context.
type Brief struct {
	Text string `json:"text"`
}
