package claude

import (
	"context"
	"fmt"
	"slices"

	"waggle/agent"
	"waggle/internal/claude/elicitation"
	"waggle/internal/json/jsonobj"
)

// elicits is the subtype of a request with which a tool server of the user asks a person.
const elicits = "elicitation"

// cancelled tells a tool server that nobody has answered its question: never an empty answer.
const cancelled = `{"action":"cancel"}`

// elicit asks a person what a tool server asks, in a form.
func (t *asker) elicit(ctx context.Context, request *jsonobj.Object) Reply {
	content, err := t.filled(ctx, request)
	switch {
	case err != nil:
		fmt.Fprintf(t.h.Output(), "a question of a tool server is not answered: %v\n", err)
	case content != nil:
		return Reply{response: slices.Concat([]byte(`{"action":"accept","content":`), content, []byte(`}`))}
	}
	return Reply{response: []byte(cancelled)}
}

// filled is the form with a person's answer; nil: nobody has answered.
func (t *asker) filled(ctx context.Context, request *jsonobj.Object) ([]byte, error) {
	f, err := formOf(request)
	if err != nil {
		return nil, err
	}
	ans, err := t.h.Question(ctx, f.Question())
	if err != nil || !ans.Given {
		return nil, err
	}
	return f.Content(ans.Replies)
}

// formOf reads the form of a request, or of the event of a hook, which have it under the same names.
func formOf(o *jsonobj.Object) (elicitation.Form, error) {
	return elicitation.Read(o.Text("mcp_server_name"), o.Text("message"), o.Text("mode"), o.Object("requested_schema"))
}

// elicited asks a person what a tool server asks a client in a pane, and returns what the hook prints.
// Nothing is printed when the hook or its turn has ended, and for a form that is not known: the client's
// own dialog follows.
func (p *inPane) elicited(ctx context.Context, s *session, e Event) []byte {
	o, err := jsonobj.Parse(e.Input)
	if err == nil {
		_, err = formOf(o)
	}
	t, d, within := p.dialog(ctx, s, e)
	if t == nil {
		return nil
	}
	defer t.leave(d)
	if err != nil {
		fmt.Fprintf(t.h.Output(), "a question of a tool server is left to the pane: %v\n", err)
		return nil
	}
	defer context.AfterFunc(ctx, func() { d.close(&agent.ElsewhereError{How: paneLeft}) })()
	r := t.elicit(within, o)
	if ctx.Err() != nil {
		return nil
	}
	return slices.Concat([]byte(`{"hookSpecificOutput":{"hookEventName":"`+elicitationAsked+`",`), r.response[1:], []byte("}\n"))
}
