package operatortest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"waggle/agent"
	"waggle/operator"
)

// Is checks the kind of an error, None for none, and that its message holds says.
func Is(t testing.TB, what string, err error, want operator.Kind, says string) {
	t.Helper()
	text := "no error"
	if err != nil {
		text = err.Error()
	}
	if got := operator.KindOf(err); got != want || !strings.Contains(text, says) {
		t.Errorf("%s: %s (%s), want %s with %q", what, text, got, want, says)
	}
}

// Fails checks that there is an error of a kind whose message holds says.
func Fails(t testing.TB, err error, want operator.Kind, says string) {
	t.Helper()
	if got := operator.KindOf(err); err == nil || got != want || !strings.Contains(err.Error(), says) {
		t.Errorf("%v (%s), want %s with %q", err, got, want, says)
	}
}

// Idle is the turn of a member that completes every task at once.
func Idle(context.Context, agent.Host, agent.Work) (agent.Result, error) { return agent.Result{}, nil }

// Busy is the turn of a member that works until free is called, also when it is told to stop; begun tells that it does.
func Busy() (turn Turn, begun <-chan struct{}, free func()) {
	b, f := make(chan struct{}, 10), make(chan struct{})
	return func(ctx context.Context, _ agent.Host, _ agent.Work) (agent.Result, error) {
		b <- struct{}{}
		<-f
		return agent.Result{}, ctx.Err()
	}, b, func() { close(f) }
}

// Heard keeps the notes that an operation reported.
type Heard struct {
	mu    sync.Mutex
	notes []operator.Note
}

// Note is the func of a face.
func (h *Heard) Note(n operator.Note) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, n)
}

// Of counts the notes of a kind whose text has a part.
func (h *Heard) Of(what, part string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, note := range h.notes {
		if note.What == what && strings.Contains(note.Text, part) {
			n++
		}
	}
	return n
}

// All are the notes so far.
func (h *Heard) All() []operator.Note {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]operator.Note(nil), h.notes...)
}
