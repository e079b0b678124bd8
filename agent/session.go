package agent

import (
	"context"

	"waggle/policy"
	"waggle/spawn"
)

// Session is an Agent with a conversation that goes on from turn to turn, and that a later process
// of the member resumes (Work.Conversation). A turn is interrupted by the end of its ctx.
type Session interface {
	Agent
	// SetMode tells the conversation the member's mode: before each turn when it has changed, and
	// while a turn runs. The gate goes by the mode at once; an error is logged, and the next pass
	// tries again.
	SetMode(ctx context.Context, mode policy.Mode) error
	// Close ends what the conversation runs, after the last turn. Its id stays on record.
	Close(ctx context.Context) error
}

// Borrowable is a Session whose conversation a person can go on with in a client of their own, while
// the member waits.
type Borrowable interface {
	Session
	// Yield ends what uses the conversation, between turns. The next turn goes on with what the person
	// has left (Work.Lent).
	Yield(ctx context.Context) error
	// Opens is the program with which a person opens the conversation: Argv, Dir and Env. The
	// environment is theirs, without what belongs to an agent around them. It starts nothing of the
	// conversation; the error says why there is no such program.
	Opens(ctx context.Context, environ []string, c Conversation) (spawn.Command, error)
}

// Conversation is an agent's conversation as it tells its Host.
type Conversation struct {
	ID    string
	Model string
	// Resumed says that it goes on with the history of an earlier process, so that the agent does
	// not repeat what it did there.
	Resumed bool
	Dir     string // where it was begun, when it belongs to one directory
}

// Usage is what an agent has used since it last said so.
type Usage struct {
	ID                                   string // the agent's own, of the result that says it; the same twice counts once
	Input, Output, CacheRead, CacheWrite int64  // tokens
	CostMicros                           int64  // millionths of a US dollar
	Turns                                int64  // of the model; 0: the client counts none, and a turn of the session is one
	Estimated                            bool   // no client reported it
}

// DeclaredStep is a step of what the agent says that it does in this turn.
type DeclaredStep struct {
	Text  string
	State string // pending, in_progress or completed
}

// Account is where an agent says of itself what people see: none of it decides anything.
type Account interface {
	// Conversation records the conversation, once its id is known. The next process of the member
	// gets its id with its work.
	Conversation(ctx context.Context, c Conversation) error
	Used(ctx context.Context, u Usage) error
	// Steps shows the steps of this turn, all of them each time.
	Steps(ctx context.Context, steps []DeclaredStep) error
}
