package agentcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/json/jsonobj"
	"waggle/operator"
	"waggle/protocol"
)

// DriverOf returns the driver for the kind of agent that is checked. An agent that waggle does not
// know gets its acts as the lines of Script, in the instructions of its task.
func DriverOf(op operator.Operator, o Options) (*Driver, error) {
	spec, name := o.Member.Spec, "agent "+o.Member.Agent
	d := &Driver{Environ: op.Environ, Self: op.Self, Unsupported: map[Line]string{},
		Version: func(context.Context) (string, error) { return "", nil },
		Prepare: func([]string) error { return nil },
		Close:   func() error { return nil }}
	switch o.Member.Agent {
	case "script":
		d.Cast = scripted
	case "exec":
		d.Cast = func(_ context.Context, _ protocol.MemberName, acts []Act) (Role, error) { return commanded(spec, acts) }
		d.lacks("agent exec runs a command, and a command has no way to ask in words (docs/guide/adapter.md)", Question, TwoQuestions, FreeText)
		d.lacks("agent exec runs one command for a task (docs/guide/adapter.md)", TwoAsks)
		d.lacks("the plan of agent exec is its command (docs/guide/adapter.md)", NoPlan)
	case agent.KindMCP:
		d.Cast = connecting{op}.cast
		d.lacks("a session of the Model Context Protocol over stdio ends with its process and is never resumed (modelcontextprotocol.io, 2025-06-18, Transports)", Resumed)
	case claude.Kind:
		return d, newClient(op, o, d)
	default:
		if _, err := agent.New(o.Member.Agent, spec); err != nil {
			return nil, err
		}
		name = "this agent"
		d.Cast = func(_ context.Context, _ protocol.MemberName, acts []Act) (Role, error) {
			return Role{Spec: spec, Instructions: Script(acts)}, nil
		}
	}
	d.lacks(name+" has no hooks and no settings of a user: it asks by itself (docs/guide/adapter.md)", HooksOff, HookFails, HookMissing, HookHangs, UserHook)
	return d, nil
}

// lacks says why the agent has no way to do what lines ask for.
func (d *Driver) lacks(source string, lines ...Line) {
	for _, l := range lines {
		d.Unsupported[l] = source
	}
}

// scripted casts a member with agent script: its acts are its steps.
func scripted(_ context.Context, _ protocol.MemberName, acts []Act) (Role, error) {
	spec, err := jsonobj.Marshal(agent.ScriptSpec{Steps: steps(acts)})
	return Role{Spec: spec, Instructions: "play"}, err
}

func steps(acts []Act) (list []agent.Step) {
	for _, a := range acts {
		switch {
		case a.Run != "":
			in := slices.Concat([]byte(`{"command":`), jsonobj.AppendString(nil, a.Run), []byte("}"))
			list = append(list, agent.Step{Tool: &agent.ToolStep{Name: "Bash", Input: in, Reason: "the check says so", Expect: "deny"}})
		case a.Plan != "":
			list = append(list, agent.Step{Plan: &agent.PlanStep{Revisions: []string{a.Plan, a.Plan + " Take it back with rm."}}})
		case a.Empty:
			list = append(list, agent.Step{Plan: &agent.PlanStep{Revisions: []string{""}}})
		case a.Ask != nil:
			list = append(list, agent.Step{Ask: &agent.AskStep{Questions: []agent.AskedPart{a.Ask.part()}, Expect: "none"}})
		case a.Both != nil:
			list = append(list, steps(a.Both)...)
		}
	}
	return list
}

// part is the question as a script has it, and a call of ask_question.
func (a *Asked) part() agent.AskedPart {
	part := agent.AskedPart{Question: a.Text}
	for _, o := range a.Options {
		part.Options = append(part.Options, agent.Option{Label: o})
	}
	return part
}

// commanded casts a member with agent exec: the command of its act is its task, or it has one of its own.
func commanded(spec json.RawMessage, acts []Act) (Role, error) {
	i := slices.IndexFunc(acts, func(a Act) bool { return a.Run != "" })
	if i < 0 {
		return Role{}, fmt.Errorf("agent exec does none of %s", strings.TrimSpace(Script(acts)))
	}
	c, err := agent.ExecCommand(spec, agent.Task{Instructions: acts[i].Run})
	return Role{Spec: spec, Instructions: acts[i].Run, Foreign: c.Text != acts[i].Run}, err
}
