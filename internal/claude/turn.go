package claude

import (
	"fmt"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// turn is one turn of a member: it answers the client's requests with the decisions of the gate.
type turn struct {
	asker
	a *Agent
	o *opened

	used    Tokens // of the answers before the last; guarded by mu, as the others are
	last    counted
	limit   Limited
	trouble string // Said.Error of the last words
}

// counted is the usage of one answer of the model.
type counted struct {
	message string
	tokens  Tokens
}

// said takes what the model says and calls. It and the following are called in the order of the client's output.
func (t *turn) said(s Said) {
	t.mu.Lock()
	if t.last.message != s.Message {
		t.used = t.used.plus(t.last.tokens)
	}
	t.last = counted{s.Message, s.Tokens}
	if !s.Inner {
		t.trouble = s.Error
	}
	t.mu.Unlock()
	if s.Text != "" && !s.Inner {
		fmt.Fprintln(t.h.Output(), s.Text)
	}
	for _, c := range s.Calls {
		if steps := declared(c); steps != nil && !s.Inner {
			_ = t.h.Steps(t.ctx, steps) // only shown to people
		}
		fmt.Fprintln(t.h.Output(), c.words())
	}
}

// says are the fields of a tool's input that say in a few words what it is about, the first that there is.
var says = []string{"command", "file_path", "notebook_path", "pattern", "url", "query", "skill", "to", "subject", "description", "path", "prompt"}

// words name a call for a person: the tool, and what it is about.
func (c Called) words() string {
	line := "[" + clipped(c.Tool) + "]"
	o, err := jsonobj.Parse(c.Input)
	if err != nil {
		return line
	}
	for _, key := range says {
		if about := firstLine(o.Text(key)); about != "" {
			return line + " " + about
		}
	}
	return line
}

// declared are the steps of the model's own list.
func declared(c Called) (steps []agent.DeclaredStep) {
	if c.Tool != "TodoWrite" {
		return nil
	}
	o, err := jsonobj.Parse(c.Input)
	if err != nil {
		return nil
	}
	for _, s := range o.Objects("todos") {
		steps = append(steps, agent.DeclaredStep{Text: s.Text("content"), State: s.Text("status")})
	}
	return steps
}

// ran takes results: each is the end of its call.
func (t *turn) ran(r Ran) {
	for _, one := range r.Results {
		t.finish(one.ID, one.Failed, one.Text)
		switch words := firstLine(one.Text); {
		case one.Failed:
			fmt.Fprintln(t.h.Output(), "    failed: "+words)
		case words != "":
			fmt.Fprintln(t.h.Output(), "    "+words)
		}
	}
}

// inMode takes the client's mode: after its first frame about it, its session id is known.
func (t *turn) inMode(mode string) {
	t.a.keep(&t.asker, t.o.c.Session(), t.o.c.Model(), &t.o.kept)
	t.mu.Lock()
	defer t.mu.Unlock()
	if mode == ModePlan {
		t.planning = true
	}
}

// limits takes a usage limit.
func (t *turn) limits(l Limited) {
	t.mu.Lock()
	t.limit = l
	t.mu.Unlock()
	if l.Rejected {
		fmt.Fprintln(t.h.Output(), l.words())
	}
}
