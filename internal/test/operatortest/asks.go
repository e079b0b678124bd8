package operatortest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
	"waggle/operator/board"
	"waggle/operator/teamfile"
	"waggle/protocol"
)

// Ask is one question of a member: a call of a tool, a plan, or a host.
type Ask struct {
	Tool, Input, Why string
	Plan             string
	Host             string
}

// Bash is a call of a shell command.
func Bash(command string) Ask {
	in, err := jsonobj.Marshal(map[string]string{"command": command})
	if err != nil { // a map of strings always marshals
		panic(err)
	}
	return Ask{Tool: "Bash", Input: string(in)}
}

// Answered is the outcome of an Ask.
type Answered struct {
	Ask
	agent.Decision
	Ran string // the input that ran; "" when none did
	Err error
}

// Asks adds a member that asks all of this at once (a plan needs a member of its own: a member that
// has proposed one calls no tool) in the turn of its task, which it gets here. The task is completed
// when all was allowed. The answers come in any order.
func (r *Rig) Asks(name protocol.MemberName, asks ...Ask) <-chan Answered {
	r.T.Helper()
	return r.AsksIn(r.T.TempDir(), name, asks...)
}

// Answer waits for the outcome of one question.
func Answer(t testing.TB, answers <-chan Answered) Answered {
	t.Helper()
	select {
	case a := <-answers:
		testenv.Must(t, a.Err)
		return a
	case <-time.After(30 * time.Second):
		t.Fatal("no answer has come")
	}
	panic("not reached")
}

// AsksIn is Asks of a member that works in a directory.
func (r *Rig) AsksIn(dir string, name protocol.MemberName, asks ...Ask) <-chan Answered {
	r.T.Helper()
	answers := make(chan Answered, len(asks))
	r.Member(name, func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		if w.Task == nil {
			return agent.Result{}, nil
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		got := make(chan Answered, len(asks))
		for _, a := range asks {
			wg.Go(func() { got <- a.put(ctx, h, w.Task.Cwd) })
		}
		var res agent.Result
		for range asks {
			a := <-got
			answers <- a
			if res.Failed = res.Failed || !a.Allowed; a.Err != nil {
				return res, a.Err
			}
		}
		return res, nil
	}, func(m *teamfile.FileMember) { m.Cwd = dir })
	r.Task(name, "work of "+string(name))
	return answers
}

// put asks one question; a call that is allowed runs nothing.
func (a Ask) put(ctx context.Context, h agent.Host, cwd string) Answered {
	out := Answered{Ask: a}
	switch {
	case a.Plan != "":
		out.Decision, out.Err = h.Plan(ctx, a.Plan)
	case a.Host != "":
		out.Decision, out.Err = h.Network(ctx, a.Host, a.Why)
	default:
		var done agent.Outcome
		done, out.Err = h.Tool(ctx, agent.Call{Tool: a.Tool, Input: json.RawMessage(a.Input), Cwd: cwd, Reason: a.Why}, func(_ context.Context, in json.RawMessage) agent.Ran {
			out.Ran = string(in)
			return agent.Ran{}
		})
		out.Decision = done.Decision
	}
	return out
}

// Task gives a member something to do and returns the task's id.
func (r *Rig) Task(owner protocol.MemberName, subject string) string {
	r.T.Helper()
	res := testenv.Value(board.Of(r.Op).AddTask(r.T.Context(), r.Name, board.NewTask{Subject: subject, Owner: owner}))(r.T)
	return string(res.Task.ID)
}

// Pending waits until exactly n questions are open and returns them, ordered by member and by their
// texts.
func (r *Rig) Pending(n int) []*control.Request {
	r.T.Helper()
	s := r.Until("all questions are there", func(l *control.Leader) bool { return len(l.Pending()) == n })
	open := slices.Clone(s.Lead.Pending())
	slices.SortFunc(open, func(a, b *control.Request) int {
		return strings.Compare(r.order(s.Lead, a), r.order(s.Lead, b))
	})
	return open
}

func (r *Rig) order(l *control.Leader, q *control.Request) string {
	m, _ := l.ByInstance(q.Instance)
	return string(m.Name) + "\x00" + q.Ask.Tool + q.Ask.Input + q.Ask.Plan + q.Ask.Host
}
