package mcp

import (
	"context"
	"encoding/json"
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
	// Say sends a message to the lead or to a peer, "*" to all.
	Say(ctx context.Context, to, text, summary string) error
	// Progress reports progress to the lead.
	Progress(ctx context.Context, phase, message string) error
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
	Members(ctx context.Context) ([]Member, error)
	Tasks(ctx context.Context) ([]Task, error)
	// Claim takes a task from the board; id "" is the first available one.
	Claim(ctx context.Context, id string) (Task, error)
	// Complete ends a task that the member works on; failed leaves it open.
	Complete(ctx context.Context, id, summary string, failed bool) (Task, error)
	Brief(ctx context.Context) (Brief, error)
}

// Leading is the seat of the lead's agent.
type Leading interface {
	Seat
	// Spawn starts a new member. Its permissions are at most those of the lead.
	Spawn(ctx context.Context, n NewMember) (Member, error)
	// Assign gives a task to a member.
	Assign(ctx context.Context, task, member string) (Task, error)
	// Stop asks a member to end.
	Stop(ctx context.Context, member, reason string) error
	// Requests lists the open requests that the team file's decide gives to the lead.
	Requests(ctx context.Context) ([]Request, error)
	// Answer answers one of them, by the digest that it was shown with.
	Answer(ctx context.Context, a Verdict) (Answered, error)
}

// Request is a member's request that the lead is to answer. Everything in it but ID, Digest, Kind,
// Member and Risk comes from the member and proves nothing.
type Request struct {
	ID        string          `json:"id"`
	Digest    string          `json:"digest" jsonschema:"answer_request repeats it"`
	Kind      string          `json:"kind" jsonschema:"tool, plan, network or question"`
	Member    string          `json:"member"`
	Risk      string          `json:"risk" jsonschema:"low, medium or high; a lead allows nothing of high risk"`
	Tool      string          `json:"tool,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	Host      string          `json:"host,omitempty"`
	Plan      string          `json:"plan,omitempty"`
	Questions []part          `json:"questions,omitempty"`
	Reason    string          `json:"reason,omitempty" jsonschema:"the member's own words"`
}

// Verdict is the lead's answer to a request.
type Verdict struct {
	ID       string   `json:"id"`
	Digest   string   `json:"digest" jsonschema:"of the request as list_requests shows it"`
	Allow    bool     `json:"allow,omitempty" jsonschema:"false denies"`
	Escalate bool     `json:"escalate,omitempty" jsonschema:"leave it to the operator"`
	Reason   string   `json:"reason,omitempty" jsonschema:"for the member"`
	Answers  []string `json:"answers,omitempty" jsonschema:"for a question, with allow: one for each of its parts, an option's number or words"`
}

// Answered is what became of a request.
type Answered struct {
	Decision string `json:"decision" jsonschema:"allow, approve, answer or deny; escalate: the operator decides it; vote: the operator has to allow it, too"`
	Reason   string `json:"reason,omitempty"`
}

// Work is the work and messages for the client.
type Work struct {
	Task     *Task  `json:"task,omitempty" jsonschema:"the task that you work on; end it with complete_task"`
	Messages []Mail `json:"messages" jsonschema:"messages, oldest first; each is delivered once"`
	Ending   bool   `json:"ending,omitempty" jsonschema:"true when the team wants this member to end: finish and stop"`
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

// Task is one task of the board.
type Task struct {
	ID           string   `json:"id"`
	Subject      string   `json:"subject"`
	Instructions string   `json:"instructions,omitempty"`
	Owner        string   `json:"owner,omitempty"`
	Status       string   `json:"status"`
	BlockedBy    []string `json:"blocked_by,omitempty"`
	Cwd          string   `json:"cwd,omitempty"`
	Plan         bool     `json:"plan_required,omitempty" jsonschema:"submit_plan comes before any change"`
}

// NewMember has the settings of a member that the lead's client starts.
type NewMember struct {
	Name   string `json:"name"`
	Prompt string `json:"prompt"`
	Type   string `json:"type,omitempty" jsonschema:"an agent definition"`
}

// Brief is a summary for a member whose model has lost its context.
type Brief struct {
	Text string `json:"text"`
}
