package agentcheck

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/operator"
	"waggle/operator/teamfile"
)

// Standing is how an agent stands on this machine, as far as that is known without a turn: its version, its
// login, and what of its work asks the team.
type Standing struct {
	Agent    string   `json:"agent"`
	Program  string   `json:"program"`   // "": waggle itself, or what connects
	Version  string   `json:"version"`   // of the program; "": it has none, or does not say
	LoggedIn *bool    `json:"logged_in"` // nil: it has no account
	Login    string   `json:"login"`     // by what it is logged in
	Gated    []string `json:"gated"`     // what asks the team
	NotGated []string `json:"not_gated"` // what does not
	OK       bool     `json:"ok"`        // it could begin a turn
}

// What is not gated of any agent that runs commands.
const itself = "what an allowed command does itself: the team's sandbox holds that (docs/sandbox.md)"

// Look finds out how an agent stands, for a member that works in its directory, or in o.Dir where it has none.
// It asks no model. The error says what keeps the agent from being used at all.
func Look(ctx context.Context, op operator.Operator, o Options) (*Standing, error) {
	s := &Standing{Agent: o.Member.Agent, OK: true}
	switch s.Agent {
	case claude.Kind:
		return s, s.ofClient(ctx, op, o)
	case "script":
		s.Gated = []string{"each step of its script"}
	case "exec":
		s.Gated = []string{"the command of each task, once, before it runs"}
		s.NotGated = []string{itself, "the tools of a coding agent that is the command: it asks nobody here (docs/guide/adapter.md)"}
	case agent.KindMCP:
		s.Gated = []string{"what its client asks with request_permission, submit_plan and request_network, and permission_prompt"}
		s.NotGated = []string{"the client's own tools: its own settings decide about them (docs/guide/mcp.md)"}
	default:
		if _, err := agent.New(s.Agent, o.Member.Spec); err != nil {
			return nil, err
		}
		s.Gated = []string{"what it asks its host: --full plays it through"}
		s.NotGated = []string{"what it does without asking (docs/guide/adapter.md)"}
	}
	return s, nil
}

// ofClient starts the client of agent claude and asks it.
func (s *Standing) ofClient(ctx context.Context, op operator.Operator, o Options) error {
	spec, err := claude.Read(o.Member.Spec)
	if err != nil {
		return err
	}
	dir := cmp.Or(o.Member.Cwd, o.Dir)
	found, err := claude.Look(ctx, spec, op.Environ, dir, claude.Waits{})
	if err != nil {
		return err
	}
	s.OK = found.Login != ""
	s.Program, s.Version, s.LoggedIn, s.Login = found.Program, found.Version.String(), new(s.OK), found.Login
	if teamfile.InPane(o.Backend) {
		if err := cmp.Or(found.InPane(), claude.Unanswered(op.Environ, dir)); err != nil {
			return err
		}
		s.Gated = []string{"what does more than read, by private ask rules; what the team's rules deny, by a hook before every tool"}
		s.NotGated = []string{itself, "a key in its pane decides the dialog there", "hooks that a plugin brings run in it (docs/guide/claude.md, In a pane)"}
		return nil
	}
	s.Gated = []string{"every tool: the client asks waggle, its host, and blocks a call that gets no answer; it says so"}
	if !found.Confirms() {
		s.Gated = []string{"every tool: the client asks waggle, its host; this version does not say so, and private ask rules hold it as well"}
	}
	s.NotGated = []string{itself, "the start of its MCP servers: they run as you, or in its sandbox"}
	for _, f := range found.Hooks {
		if !f.Managed { // an administrator's run
			s.NotGated = append(s.NotGated, fmt.Sprintf("your hooks in %s do not run in it (%s)", f.Path, strings.Join(f.Events, ", ")))
		}
	}
	return nil
}
