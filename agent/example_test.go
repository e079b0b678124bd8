package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"waggle/agent"
	"waggle/spawn"
)

// rules is a host that allows git and denies everything else. A worker is a real host.
type rules struct{}

func (rules) Tool(ctx context.Context, c agent.Call, run func(context.Context, json.RawMessage) agent.Ran) (agent.Outcome, error) {
	var in struct{ Command string }
	if err := json.Unmarshal(c.Input, &in); err != nil || in.Command != "git status" {
		return agent.Outcome{Decision: agent.Decision{Reason: "only git status", By: "rules"}}, err
	}
	ran := run(ctx, c.Input)
	return agent.Outcome{Decision: agent.Decision{Allowed: true, By: "rules"}, Ran: &ran}, nil
}
func (rules) Ask(context.Context, agent.Call) (agent.Claim, error) { return agent.Claim{}, nil }
func (rules) Question(context.Context, agent.Question) (agent.Answers, error) {
	return agent.Answers{Reason: agent.NoAnswer}, nil
}
func (rules) Plan(context.Context, string) (agent.Decision, error) { return agent.Decision{}, nil }
func (rules) Network(context.Context, string, string) (agent.Decision, error) {
	return agent.Decision{}, nil
}
func (rules) Say(context.Context, string, string, string) error      { return nil }
func (rules) Progress(context.Context, string, string) error         { return nil }
func (rules) Run(context.Context, spawn.Command) (spawn.Exit, error) { return spawn.Exit{}, nil }
func (rules) Output() io.Writer                                      { return os.Stdout }
func (rules) Conversation(context.Context, agent.Conversation) error { return nil }
func (rules) Used(context.Context, agent.Usage) error                { return nil }
func (rules) Steps(context.Context, []agent.DeclaredStep) error      { return nil }
func (rules) Caller() []string                                       { return nil }
func (rules) Environ() []string                                      { return nil }

// careful is an agent that asks before it deletes anything, and goes by the answer.
type careful struct{}

func (careful) Turn(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
	input, err := json.Marshal(map[string]string{"command": w.Task.Instructions})
	if err != nil {
		return agent.Result{}, err
	}
	out, err := h.Tool(ctx, agent.Call{Tool: "Bash", Input: input, Cwd: w.Task.Cwd}, func(context.Context, json.RawMessage) agent.Ran {
		fmt.Println("runs", w.Task.Instructions)
		return agent.Ran{}
	})
	if err != nil || !out.Allowed {
		return agent.Result{Failed: true, Denied: true, Reason: out.Reason}, err
	}
	return agent.Result{Summary: "done"}, nil
}

// A program brings an agent of its own.
func ExampleRegister() {
	agent.Register("careful", func(json.RawMessage) (agent.Agent, error) { return careful{}, nil })

	a, err := agent.New("careful", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range []string{"git status", "git push --force"} {
		res, err := a.Turn(context.Background(), rules{}, agent.Work{Task: &agent.Task{ID: "1", Instructions: task}})
		fmt.Printf("%q %q %v\n", res.Summary, res.Reason, err)
	}
	// Output:
	// runs git status
	// "done" "" <nil>
	// "" "only git status" <nil>
}
