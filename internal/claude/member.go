package claude

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"waggle/agent"
	"waggle/policy"
	"waggle/spawn"
)

// member is what a member has of its client, headless or in a pane: its settings, its place and the client that runs.
type member struct {
	spec   Spec
	starts chan struct{} // turns without work that are wanted

	turning sync.Mutex // held during a turn, and by Close

	mu      sync.Mutex // guards what follows
	place   agent.Place
	tune    Tune
	mode    policy.Mode
	dirs    map[string]string // directory by session id
	running process           // nil: none runs
}

// process is a client that runs: an opened, or in a pane a session.
type process interface {
	using() string // its model; "": not known yet
	ended() bool
	close(ctx context.Context) error
}

// begun is what is known of a client since it was started.
type begun struct {
	dir        string   // its working directory
	plans      string   // where it keeps plans
	rules      ownRules // of its settings, when it started
	shells     *Shells  // nil: its shell commands run as it does
	wasResumed bool     // it resumed an earlier session
	resumed    bool     // its next words are the first since then; of the turns, as limited is
	limited    string   // by what its last turn was cut short; "": it was not
}

// closed reports that a channel is closed.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// want wants a turn without work.
func (m *member) want() {
	select {
	case m.starts <- struct{}{}:
	default: // it is known already
	}
}

// shut ends the running client.
func (m *member) shut(ctx context.Context) error {
	m.mu.Lock()
	c := m.running
	m.running = nil
	m.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.close(ctx)
}

// settled is where a client runs, and with what.
func (m *member) settled(env []string) (place agent.Place, tune Tune, err error) {
	m.mu.Lock()
	place, tune = m.place, m.tune
	m.mu.Unlock()
	if place.Exec == nil {
		place.Exec = direct{}
	}
	if tune.Hook == "" {
		tune.Hook, err = spawn.Self(env)
	}
	return place, tune, err
}

// resume starts a client in dir that resumes a conversation of the directory of, or a new one where that is another
// directory, or the conversation cannot be resumed.
func resume(ctx context.Context, h agent.Host, dir, conversation, of string, start func(conversation string) error) error {
	if of != "" && of != dir {
		conversation = "" // a session belongs to one directory
	}
	err := start(conversation)
	if err != nil && conversation != "" && errors.Is(err, ErrEnded) && ctx.Err() == nil {
		fmt.Fprintf(h.Output(), "session %s cannot be resumed, a new one begins: %v\n", conversation, err)
		err = start("")
	}
	return err
}

// keep records a session when its client has told of its id. kept is the one on record.
func (m *member) keep(t *asker, id, model string, kept *agent.Conversation) {
	c := agent.Conversation{ID: id, Model: model, Resumed: t.wasResumed, Dir: t.dir}
	m.mu.Lock()
	known := c.ID == "" || c == *kept
	if c.ID != "" {
		m.dirs[c.ID] = c.Dir
	}
	m.mu.Unlock()
	if known {
		return
	}
	if err := t.h.Conversation(t.ctx, c); err != nil {
		fmt.Fprintf(t.h.Output(), "session %s is not on record: %v\n", c.ID, err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	*kept = c
}

// words are the user line of a turn with work.
func (b *begun) words(w agent.Work) string {
	words := prompt(w, b.resumed)
	if w.Lent && b.resumed {
		words = afterPerson + "\n\n" + prompt(w, false)
	}
	if b.limited != "" && !b.resumed {
		words = fmt.Sprintf(afterLimit, b.limited) + "\n\n" + words
	}
	b.resumed, b.limited = false, ""
	return words
}

// outcome is how a turn of a client has ended.
type outcome struct {
	last    string  // the model's last words
	failed  string  // why it failed; "": it did not
	trouble string  // the client's word for that; "": it failed otherwise
	status  int     // HTTP status of the model's service when it failed; 0: none
	limit   Limited // the usage limit
}

// result makes the result of a turn of a client.
func (t *asker) result(w agent.Work, o outcome, err error) (agent.Result, error) {
	r := agent.Result{Summary: firstLine(o.last)}
	switch {
	case err != nil && errors.Is(err, ErrEnded) && t.ctx.Err() == nil:
		return agent.Result{Failed: true, Reason: err.Error()}, nil
	case err != nil:
		return inTime(t.ctx, w, agent.Result{}, err)
	case o.failed != "" && (o.limit.Rejected || o.status == 429):
		t.limited = "a usage limit"
		return agent.Result{}, &agent.Limited{Until: o.limit.Until, Reason: o.limit.reason()}
	case o.failed != "" && passes(o.trouble, o.status):
		t.limited = "a failure of the model's service"
		return agent.Result{}, &agent.Limited{Reason: o.failed, Passing: true}
	case o.failed != "":
		r.Failed, r.Reason = true, o.failed
	case t.owes():
		r.Failed, r.Denied, r.Reason = true, true, "it ended without an approved plan"
	}
	return r, nil
}
