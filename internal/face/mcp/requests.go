package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"waggle/agent"
)

type permissionArgs struct {
	Tool   string `json:"tool" jsonschema:"the tool that you would run, for example Bash, Write, Edit, WebFetch"`
	Input  raw    `json:"input" jsonschema:"the whole input, for example {\"command\": \"go test ./...\"} or {\"file_path\": \"/a/b\", \"content\": \"...\"}"`
	Reason string `json:"reason,omitempty" jsonschema:"why, in a sentence, for whoever decides"`
	Cwd    string `json:"cwd,omitempty" jsonschema:"the directory in which it runs; default: your own"`
}

type permission struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"decided_by,omitempty" jsonschema:"operator, rules, leader or system"`
	Call    string `json:"call_id,omitempty" jsonschema:"for report_result"`
	Input   raw    `json:"input,omitempty" jsonschema:"what was allowed: run exactly this, once; it may differ from what you asked"`
}

type resultArgs struct {
	Call     string `json:"call_id"`
	Failed   bool   `json:"failed,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Output   string `json:"output,omitempty" jsonschema:"the end of what it printed"`
}

type noted struct {
	Recorded bool `json:"recorded"`
}

type questionArgs struct {
	Questions []agent.RequestPart `json:"questions"`
}

type reply struct {
	Question string   `json:"question"`
	Labels   []string `json:"labels,omitempty" jsonschema:"the options that were chosen"`
	Text     string   `json:"text,omitempty" jsonschema:"words instead of an option"`
}

type answers struct {
	Answered bool    `json:"answered" jsonschema:"false: nobody answered; do not assume"`
	Reason   string  `json:"reason,omitempty"`
	Answers  []reply `json:"answers,omitempty"`
}

type planArgs struct {
	Plan string `json:"plan" jsonschema:"what you would do, step by step, as Markdown"`
}

type hostArgs struct {
	Host   string `json:"host" jsonschema:"example.com or example.com:443"`
	Reason string `json:"reason,omitempty"`
}

type verdict struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	By      string `json:"decided_by,omitempty"`
}

// claims are the allowed calls whose end the client has not reported.
type claims struct {
	mu   sync.Mutex
	open map[string]agent.Claim
}

// maxClaims is the most calls without a result; beyond it, the oldest end as unknown.
const maxClaims = 1000

func (c *claims) keep(id string, claim agent.Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil || len(c.open) >= maxClaims {
		c.open = map[string]agent.Claim{}
	}
	c.open[id] = claim
}

func (c *claims) take(id string) (agent.Claim, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claim, ok := c.open[id]
	delete(c.open, id)
	return claim, ok
}

// addRequests adds the tools that make requests.
func (s *Server) addRequests() {
	open := &claims{}
	add(s.mcp, "request_permission", "Ask before running a tool",
		"Asks whether you may run one tool call, and waits for the answer. When it is allowed, run exactly the input that comes back, once, and report_result. Without an answer it is not allowed: ask again later.",
		hints{}, func(ctx context.Context, a permissionArgs) (permission, error) {
			claim, err := s.seat.Ask(ctx, agent.Call{Tool: a.Tool, Input: json.RawMessage(a.Input), Cwd: a.Cwd, Reason: a.Reason})
			if err != nil {
				return permission{}, err
			}
			p := permission{Allowed: claim.Allowed, Reason: claim.Reason, By: claim.By}
			if claim.Allowed {
				p.Input, p.Call = raw(claim.Input), string(claim.ID)
				open.keep(p.Call, claim)
			}
			return p, nil
		})
	add(s.mcp, "report_result", "Report the end of a permitted call", "Records how a call ended that request_permission allowed. A call without a report ends as unknown.",
		hints{}, func(ctx context.Context, a resultArgs) (noted, error) {
			claim, ok := open.take(a.Call)
			if !ok {
				return noted{}, fmt.Errorf("call %q is not open here: it was never allowed, or its result is on record", a.Call)
			}
			r := agent.Ran{ExitCode: a.ExitCode, Failed: a.Failed || a.ExitCode != nil && *a.ExitCode != 0, Tail: a.Output}
			return noted{true}, claim.Done(ctx, r)
		})
	add(s.mcp, "ask_question", "Ask a person", "Asks a person in words and waits. An answer permits no later call. Without an answer: do not assume one.",
		hints{}, func(ctx context.Context, a questionArgs) (answers, error) { return s.question(ctx, a) })
	add(s.mcp, "submit_plan", "Submit a plan", "Asks for a verdict on your plan, and waits. A rejected plan comes back with words: change it and submit it again.",
		hints{}, func(ctx context.Context, a planArgs) (verdict, error) {
			if a.Plan == "" {
				return verdict{}, errors.New("the plan is empty: write it first")
			}
			ans, err := s.seat.Plan(ctx, a.Plan)
			return verdict(ans), err
		})
	add(s.mcp, "request_network", "Ask for a host", "Asks for network access to one host, and waits.",
		hints{}, func(ctx context.Context, a hostArgs) (verdict, error) {
			ans, err := s.seat.Network(ctx, a.Host, a.Reason)
			return verdict(ans), err
		})
	s.addPrompt(open)
}

func (s *Server) question(ctx context.Context, a questionArgs) (answers, error) {
	q := agent.Question{}
	for _, p := range a.Questions {
		q.Parts = append(q.Parts, agent.Part{Header: p.Header, Text: p.Text, Options: p.Options, Multiple: p.Multiple})
	}
	if len(q.Parts) == 0 {
		return answers{}, errors.New("there is no question")
	}
	got, err := s.seat.Question(ctx, q)
	if err != nil {
		return answers{}, err
	}
	if !got.Given || len(got.Replies) != len(q.Parts) {
		return answers{Reason: agent.NoAnswer}, nil
	}
	out := answers{Answered: true}
	for i, r := range got.Replies {
		out.Answers = append(out.Answers, reply{q.Parts[i].Text, r.Labels, r.Text})
	}
	return out, nil
}
