package confine

import (
	"context"
	"strings"

	"waggle/control"
	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/sandbox/relay"
	"waggle/spawn"
	"waggle/worker"
)

// Open makes one sandbox, as With does, for `waggle sandbox test, explain and run`.
func Open(ctx context.Context, program string, c worker.Confining) (*Member, error) {
	return open(ctx, settings{kit: func(dir string) (sandbox.Kit, error) { return sandbox.NewKit(dir, program) }}, c)
}

// Points are the points of the last self-test.
func (m *Member) Points() []relay.Point { return m.points }

// Explain lists what a command could access in the sandbox, and why. asks is true when a host that
// no grant covers becomes a request.
func (m *Member) Explain(argv []string, dir string, grants []control.Grant, asks bool) ([]sandbox.Line, error) {
	box, err := m.boxOf(spawn.Command{Dir: dir})
	if err != nil {
		return nil, err
	}
	lines, err := box.Explain(argv, dir, append(m.presets(), grantsOf(grants)...), asks)
	if err != nil || m.box.Level == sandbox.Off {
		return lines, err
	}
	for _, name := range m.box.Profile.Kept(m.c.Environ) {
		if !strings.HasPrefix(name, "WAGGLE_") { // no variables: lets it in
			lines = append(lines, sandbox.Line{Subject: "$" + name, Verdict: string(sandbox.Absent), Why: "it looks like a secret; variables: [" + name + "] lets it in"})
		}
	}
	return lines, nil
}

// Prepare makes a sandbox.Ready for a caller that starts the command in a terminal.
func (m *Member) Prepare(c spawn.Command) (*sandbox.Ready, error) {
	if err := m.reserve(); err != nil {
		return nil, err
	}
	box, err := m.boxOf(c)
	if err != nil {
		return nil, err
	}
	return box.Prepare(c)
}

func grantsOf(grants []control.Grant) []proxy.Grant {
	list := make([]proxy.Grant, 0, len(grants))
	for _, g := range grants {
		p := proxy.Grant{ID: nameOf(g), Host: g.Host, Port: g.Port, Deny: g.Deny, Rule: g.Rule}
		if g.Until != nil {
			p.Until = *g.Until
		}
		list = append(list, p)
	}
	return list
}
