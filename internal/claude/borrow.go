package claude

import (
	"context"
	"errors"

	"waggle/agent"
	"waggle/spawn"
)

// errInPane: a client in a pane is a person's already.
var errInPane = errors.New("its client is in its pane")

// Yield implements agent.Borrowable.
func (a *Agent) Yield(ctx context.Context) error {
	if a.pane != nil {
		return errInPane
	}
	return a.Close(ctx)
}

// afterPerson begins the words of the first turn after that.
const afterPerson = "The person you work for has had this session, and has given it back: what was said and done in it meanwhile is theirs. " +
	"Go on from there, and do not repeat what is done. What you are given now, or were given last:"

// noBackground keeps the client from going on in the background (/bg), where nothing would say that it has
// the session, and its model would be nobody's.
const noBackground = "CLAUDE_CODE_DISABLE_AGENT_VIEW=1"

// Opens implements agent.Borrowable: the settings, the permission mode and the hooks are the person's own.
func (a *Agent) Opens(ctx context.Context, environ []string, c agent.Conversation) (spawn.Command, error) {
	if a.pane != nil {
		return spawn.Command{}, errInPane
	}
	found, err := Find(ctx, a.spec.Program, environ)
	if err != nil {
		return spawn.Command{}, err
	}
	start := Start{Program: found.Program, Model: a.spec.Model, Prompt: a.spec.Prompt, Tools: a.spec.offered(), Resume: c.ID, Args: a.spec.Args}
	return spawn.Command{Argv: start.interactive(), Dir: c.Dir, Env: append(inTerminal(unparented(environ)), noBackground)}, nil
}
