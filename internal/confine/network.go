package confine

import (
	"context"
	"net"
	"time"

	"waggle/control"
	"waggle/internal/sandbox/proxy"
	"waggle/record"
)

// Decide implements proxy.Decider: the worker's network gate makes a request. When it returns an
// allow, the grants contain it, and the proxy opens only connections with a grant.
func (m *Member) Decide(ctx context.Context, r proxy.Request) (proxy.Decision, error) {
	a, err := m.c.Ask(ctx, net.JoinHostPort(r.Host, r.Port), "a command of "+r.Client+" connects to it")
	if err != nil {
		return proxy.Decision{}, err
	}
	reason := a.Reason
	if !a.Allowed && reason == "" {
		reason = "it was denied by " + a.By
	}
	return proxy.Decision{Allow: a.Allowed, Reason: reason}, nil
}

// Enforce implements worker.Enforcer.
func (m *Member) Enforce(_ context.Context, grants []control.Grant) error {
	m.way.Grant(append(m.presets(), grantsOf(grants)...))
	return nil
}

// nameOf returns the name of a grant in the record of a connection: the id of the request that it
// answers, else its host.
func nameOf(g control.Grant) string {
	if g.Request != "" {
		return string(g.Request)
	}
	return record.HostGrant{Host: g.Host, Port: g.Port}.String()
}

// Record implements proxy.Recorder. It does not record the opening of a connection: the record of
// its end has the bytes of both directions.
func (m *Member) Record(c proxy.Connection) {
	if c.Event == proxy.Opened {
		return
	}
	r := record.Connection{Host: c.Host, Port: c.Port, By: c.By, Event: string(c.Event), Grant: c.Grant, Count: 1,
		Sent: c.Sent, Received: c.Received, Reason: c.Reason, Ended: c.At.UTC().Truncate(time.Millisecond)}
	if c.Address.IsValid() {
		r.Address = c.Address.String()
	}
	m.c.Connected(r)
}
