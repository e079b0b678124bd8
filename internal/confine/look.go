package confine

import (
	"context"

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
	return m.box.Explain(argv, dir, append(m.presets(), grantsOf(grants)...), asks)
}

// Prepare makes a sandbox.Ready for a caller that starts the command in a terminal.
func (m *Member) Prepare(c spawn.Command) (*sandbox.Ready, error) { return m.box.Prepare(c) }

func grantsOf(grants []control.Grant) []proxy.Grant {
	list := make([]proxy.Grant, 0, len(grants))
	for _, g := range grants {
		p := proxy.Grant{ID: nameOf(g), Host: g.Host, Port: g.Port, Deny: g.Deny}
		if g.Until != nil {
			p.Until = *g.Until
		}
		list = append(list, p)
	}
	return list
}
