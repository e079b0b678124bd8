//go:build unix

package seat_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/face/mcp"
	"waggle/internal/face/seat"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/worker"
)

// working is an agent whose turn is a function of the test.
type working func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error)

func (a working) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	return a(ctx, h, w)
}

// newOperator is an operator whose sockets have short paths.
func newOperator(t *testing.T) operator.Operator {
	t.Helper()
	dir, err := os.MkdirTemp("", "wg")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	testenv.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "s"), poll.Minter{Now: time.Now, Rand: rand.Reader})
}

// TestSocketSeat: a process of an agent calls as the member with the socket and the token of
// Host.Caller, in its turn; another token is refused.
func TestSocketSeat(t *testing.T) {
	op := newOperator(t)
	rule, err := policy.ParseRule("Bash(true)")
	testenv.Must(t, err)
	set := record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault, Allow: []policy.Rule{rule}}}
	if _, err := teams.Of(op).Create(t.Context(), "api", "", set); err != nil {
		t.Fatal(err)
	}
	token, err := teams.Of(op).MintToken(t.Context(), "api", teamfile.FileMember{Name: "ann", Agent: "exec", Backend: "join", Cwd: t.TempDir()}, 0)
	testenv.Must(t, err)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	turned := make(chan error, 1)
	ann := working(func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		turned <- inTurn(t, ctx, op, h)
		return agent.Result{Summary: "done"}, nil
	})
	joined, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- teams.Of(op).Work(ctx, token.Token, worker.Options{Agent: ann, Begun: func(protocol.MemberName) { close(joined) }})
	}()
	<-joined
	to, err := protocol.ParseAddress("ann")
	testenv.Must(t, err)
	if sent, err := mail.Of(op).Send(t.Context(), "api", mail.Message{To: to, Text: "begin"}); err != nil || mail.Exit(sent) != nil {
		t.Fatal(sent, err)
	}
	select {
	case err := <-turned:
		if err != nil {
			t.Error(err)
		}
	case err := <-ended:
		t.Fatal(err)
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// inTurn calls the worker as a tool server of the agent would.
func inTurn(t *testing.T, ctx context.Context, op operator.Operator, h agent.Host) error {
	env := map[string]string{}
	for _, kv := range h.Caller() {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	path, token := env[agent.EnvSocket], env[agent.EnvSpawn]
	for _, wrong := range []string{"", token + "x", strings.Repeat("0", len(token))} {
		if err := seat.ServeSocket(ctx, path, wrong, func(context.Context, mcp.Seat) error { return errors.New("it was let in") }); err == nil || strings.Contains(err.Error(), "let in") {
			t.Errorf("with the token %q: %v", wrong, err)
		}
	}
	return seat.ServeSocket(ctx, path, token, func(ctx context.Context, s mcp.Seat) error {
		if id := s.Identity(); id != (mcp.Identity{Team: "api", Member: "ann"}) {
			t.Errorf("%+v", id)
		}
		claim, err := s.Ask(ctx, agent.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"true"}`), UseID: "toolu_1"})
		if err != nil || !claim.Allowed || string(claim.Input) != `{"command":"true"}` {
			t.Errorf("%+v, %v", claim, err)
		}
		code := 0
		if err := claim.Done(ctx, agent.Ran{ExitCode: &code, Tail: "out"}); err != nil {
			t.Error(err)
		}
		if err := claim.Done(ctx, agent.Ran{}); err == nil {
			t.Error("a call ended twice")
		}
		asked := make(chan error, 1)
		go func() { asked <- answer(t, op) }()
		got, err := s.Question(ctx, agent.Question{Parts: []agent.Part{{Text: "Which?", Options: []agent.Option{{Label: "left"}, {Label: "right", Description: "d"}}}, {Text: "Why?"}}})
		if err := errors.Join(err, <-asked); err != nil || !got.Given || len(got.Replies) != 2 || !slices.Equal(got.Replies[0].Labels, []string{"right"}) || got.Replies[1].Text != "because" {
			t.Errorf("%+v, %v", got, err)
		}
		if err := s.Say(ctx, "team-lead", "hi", ""); err != nil {
			t.Error(err)
		}
		if w, err := s.Check(ctx, time.Millisecond); err != nil || len(w.Messages) != 0 || w.Task != nil {
			t.Errorf("%+v, %v", w, err)
		}
		b, err := s.Brief(ctx)
		if err != nil || !strings.Contains(b.Text, "You are ann, a member of team api") {
			t.Errorf("%+v, %v", b, err)
		}
		if ms, err := s.Members(ctx); err != nil || len(ms) != 1 || !ms[0].You {
			t.Errorf("%+v, %v", ms, err)
		}
		if _, err := s.Claim(ctx, "1"); err == nil {
			t.Error("a task was claimed that the agent would not know of")
		}
		if _, err := s.Complete(ctx, "1", "", false); err == nil {
			t.Error("a task was completed that is the agent's")
		}
		return nil
	})
}

// answer answers the one question as a person does.
func answer(t *testing.T, op operator.Operator) error {
	o := decide.Of(op)
	id := ""
	testenv.Eventually(t, "the question is listed", func() bool {
		qs, err := o.Pending(t.Context(), "api", false)
		if err != nil || len(qs) != 1 {
			return false
		}
		id = string(qs[0].ID)
		return true
	})
	done, err := o.Decide(t.Context(), "api", []decide.Answer{{ID: id, Allow: true, Words: []string{"2", "because"}, Via: "answer"}})
	for _, d := range done {
		err = errors.Join(err, d.Err())
	}
	return err
}
