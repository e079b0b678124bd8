package agentcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/protocol"
)

// DriverOf returns the driver for the kind of agent that is checked. An agent that waggle does not
// know gets its acts as the lines of Script, in the instructions of its task.
func DriverOf(op operator.Operator, o Options) (Driver, error) {
	base := plain{"agent " + o.Member.Agent, op.Environ}
	switch o.Member.Agent {
	case "script":
		return scripted{base}, nil
	case "exec":
		return commanded{base, o.Member.Spec}, nil
	case agent.KindMCP:
		return connecting{base, op}, nil
	case claude.Kind:
		return newClient(op, o)
	}
	if _, err := agent.New(o.Member.Agent, o.Member.Spec); err != nil {
		return nil, err
	}
	return told{plain{"this agent", op.Environ}, o.Member.Spec}, nil
}

// plain is what drivers have alike.
type plain struct {
	name    string
	environ []string
}

func (plain) Version(context.Context) (string, error) { return "", nil }
func (p plain) Environ() []string                     { return p.environ }
func (plain) Self(this string) string                 { return this }
func (plain) Prepare([]string) error                  { return nil }
func (plain) Close() error                            { return nil }

// Unsupported implements Driver: an agent that asks by itself alone.
func (p plain) Unsupported(l Line) string {
	switch l {
	case HooksOff, HookFails, HookMissing, HookHangs, UserHook:
		return p.name + " has no hooks and no settings of a user: it asks by itself (docs/guide/adapter.md)"
	}
	return ""
}

// scripted drives agent script: its acts are its steps.
type scripted struct{ plain }

func (scripted) Cast(_ context.Context, _ protocol.MemberName, acts []Act) (Role, error) {
	s, err := steps(acts)
	if err != nil {
		return Role{}, err
	}
	spec, err := jsonobj.Marshal(s)
	return Role{Spec: spec, Instructions: "play"}, err
}

func steps(acts []Act) (s agent.ScriptSpec, err error) {
	for _, a := range acts {
		switch {
		case a.Run != "":
			in, err := jsonobj.Marshal(map[string]string{"command": a.Run})
			if err != nil {
				return s, err
			}
			s.Steps = append(s.Steps, agent.Step{Tool: &agent.ToolStep{Name: "Bash", Input: in, Reason: "the check says so", Expect: "deny"}})
		case a.Plan != "":
			s.Steps = append(s.Steps, agent.Step{Plan: &agent.PlanStep{Revisions: []string{a.Plan, a.Plan + " Take it back with rm."}}})
		case a.Empty:
			s.Steps = append(s.Steps, agent.Step{Plan: &agent.PlanStep{Revisions: []string{""}}})
		case a.Ask != nil:
			s.Steps = append(s.Steps, agent.Step{Ask: &agent.AskStep{Questions: []agent.AskedPart{a.Ask.part()}, Expect: "none"}})
		case a.Both != nil:
			both, err := steps(a.Both)
			if err != nil {
				return s, err
			}
			s.Steps = append(s.Steps, both.Steps...)
		}
	}
	return s, nil
}

// part is the question as a script has it, and a call of ask_question.
func (a *Asked) part() agent.AskedPart {
	part := agent.AskedPart{Question: a.Text}
	for _, o := range a.Options {
		part.Options = append(part.Options, agent.Option{Label: o})
	}
	return part
}

// commanded drives agent exec: the command of its act is its task, or it has one of its own.
type commanded struct {
	plain
	spec json.RawMessage
}

func (d commanded) Unsupported(l Line) string {
	switch l {
	case Question, TwoQuestions, FreeText:
		return "agent exec runs a command, and a command has no way to ask in words (docs/guide/adapter.md)"
	case TwoAsks:
		return "agent exec runs one command for a task (docs/guide/adapter.md)"
	case NoPlan:
		return "the plan of agent exec is its command (docs/guide/adapter.md)"
	}
	return d.plain.Unsupported(l)
}

func (d commanded) Cast(_ context.Context, _ protocol.MemberName, acts []Act) (Role, error) {
	for _, a := range acts {
		if a.Run == "" {
			continue
		}
		c, err := agent.ExecCommand(d.spec, agent.Task{Instructions: a.Run})
		if err != nil {
			return Role{}, err
		}
		return Role{Spec: d.spec, Instructions: a.Run, Foreign: c.Text != a.Run}, nil
	}
	return Role{}, fmt.Errorf("agent exec does none of %s", strings.TrimSpace(Script(acts)))
}

// told drives an agent of another program: its task says what to do.
type told struct {
	plain
	spec json.RawMessage
}

func (d told) Cast(_ context.Context, _ protocol.MemberName, acts []Act) (Role, error) {
	return Role{Spec: d.spec, Instructions: Script(acts)}, nil
}
