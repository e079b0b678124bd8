package control

import (
	"slices"
	"time"

	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Scope is how long network access holds.
type Scope string

// The scopes.
const (
	ScopeOnce    Scope = "once"    // the turn in which it was asked for
	ScopeSession Scope = "session" // as long as the member
	ScopeUntil   Scope = "until"   // until a time
)

// Grant is network access, or its denial, that holds for a worker: what an
// enforcer consumes. A denial outweighs every grant of the same host.
type Grant struct {
	Host    string // a name or an address; *.HOST: the hosts below it
	Port    string // "": every port
	Deny    bool
	Scope   Scope
	Until   *time.Time         // ScopeUntil only
	Request protocol.RequestID // whose answer it is; "" when it was given without one
	Rule    string             // the deny rule that it is of (record.HostDenial); "": it is an answer
}

// HostsDenied are the rules, and the mode, that close hosts to this worker whatever grant opens them.
func (w *Worker) HostsDenied(l *Leader, now time.Time) []record.HostDenial {
	return w.policy(l).HostsDenied(w.Instance, w.mode(l), now)
}

// Grants are the standing answers that hold for this worker at a time, without those that a rule or the mode closes as
// a whole; then a denial for each deny rule about a host; then what was allowed for the turn that runs, and is not
// denied or taken back by now.
func (w *Worker) Grants(l *Leader, now time.Time) []Grant {
	var gs []Grant
	denied := w.HostsDenied(l, now)
	for _, h := range l.Policy.HostsFor(w.Instance, now) {
		closed := func(d record.HostDenial) bool { all, _ := d.Closes(h); return all }
		if !h.Deny && slices.ContainsFunc(denied, closed) {
			continue
		}
		g := Grant{Host: h.Host, Port: h.Port, Deny: h.Deny, Scope: ScopeSession, Until: h.Until}
		if h.Until != nil {
			g.Scope = ScopeUntil
		}
		if h.From != nil {
			g.Request = h.From.ID
		}
		gs = append(gs, g)
	}
	for _, d := range denied {
		if d.Host != "" {
			gs = append(gs, Grant{Host: d.Host, Deny: true, Scope: ScopeSession, Rule: d.Rule})
		}
	}
	if w.turn == nil || w.gone {
		return gs
	}
	for _, c := range w.Calls {
		mine := c.Kind == protocol.KindSandboxPermissionRequest && c.turn == w.turn && c.used && c.allowed()
		spent := slices.ContainsFunc(l.Policy.Spent, func(k record.Key) bool { return k.Instance == w.Instance && k.ID == c.ID })
		if mine && !spent && w.Judge(c.Kind, c.Ask, l, now).Decision != policy.Deny {
			gs = append(gs, Grant{Host: c.Ask.Host, Port: c.Ask.Port, Scope: ScopeOnce, Request: c.ID})
		}
	}
	return gs
}
