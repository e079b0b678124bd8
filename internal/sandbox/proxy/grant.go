package proxy

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"waggle/policy"
)

// Grant allows, or denies, connections to hosts.
type Grant struct {
	ID   string
	Host string // a name, an address, or *.NAME for the hosts below it
	Port string // "": every port
	Deny bool   // refuses without a request; it wins over grants that allow
	Rule string // the rule that denies; "": an answer did
	// Until is when the grant ends; zero: when it is replaced.
	Until time.Time
}

// holds reports whether a grant applies at this time. Without a clock, a grant with an end does not
// apply.
func (g Grant) holds(now time.Time) bool {
	return g.Until.IsZero() || !now.IsZero() && now.Before(g.Until)
}

// covers reports whether the grant applies to a host and port. A denial also applies to the hosts
// below its name.
func (g Grant) covers(host, port string) bool {
	if g.Port != "" && g.Port != port {
		return false
	}
	pattern := strings.ToLower(g.Host)
	if addr, err := netip.ParseAddr(pattern); err == nil {
		return addr.Unmap().String() == host
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false // *.0.0.1 is no pattern of addresses
	}
	if g.Deny {
		name := strings.TrimPrefix(pattern, "*.")
		return host == name || strings.HasSuffix(host, "."+name)
	}
	return policy.HostAllowed([]string{pattern}, host)
}

// denial is why a grant that denies refuses a connection.
func (g Grant) denial() string {
	if g.Rule != "" {
		return "the host is denied by a rule: " + g.Rule
	}
	return "the host is denied"
}

// names reports whether the grant names this very address.
func (g Grant) names(addr netip.AddrPort) bool {
	own, err := netip.ParseAddr(strings.ToLower(g.Host))
	return err == nil && !g.Deny && own.Unmap() == addr.Addr() && g.covers(addr.Addr().String(), portOf(addr))
}

// Grant replaces all grants. A connection that waits for an answer and is now covered continues. An
// open connection that is now denied, or whose grant is gone, is cut.
func (p *Proxy) Grant(grants []Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants = append([]Grant(nil), grants...)
	p.apply()
}

// apply applies the present grants to waiting and open connections. The caller holds p.mu.
func (p *Proxy) apply() {
	close(p.changed)
	p.changed = make(chan struct{})
	now := p.now()
	for c := range p.open {
		g, found := p.lookup(c.req.Host, c.req.Port, now)
		at, barred := p.bars(c.addr, now)
		switch {
		case found && g.Deny:
			c.cut(g.denial())
		case barred && p.upstream(c.req) == nil: // else it is the address of the machine's proxy
			c.cut(at.denial())
		case found:
			c.listed, c.grant = true, g.ID
		case c.listed:
			c.cut("the grant was revoked or has ended, or the mode or a rule closes it")
		}
	}
	for key, q := range p.questions {
		if _, found := p.lookup(key.Host, key.Port, now); found && q.waiting == 0 {
			clear(q.calls)
			p.endIdle(key, q)
		}
	}
	p.wakeAtExpiry(now)
}

// wakeAtExpiry sets a timer that calls apply when the next grant ends. The caller holds p.mu.
func (p *Proxy) wakeAtExpiry(now time.Time) {
	if p.expiry != nil {
		p.expiry.Stop()
		p.expiry = nil
	}
	var next time.Time
	for _, g := range p.grants {
		if g.holds(now) && !g.Until.IsZero() && (next.IsZero() || g.Until.Before(next)) {
			next = g.Until
		}
	}
	if next.IsZero() || p.closed {
		return
	}
	p.expiry = time.AfterFunc(next.Sub(now), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.closed {
			p.apply()
		}
	})
}

// lookup finds the grant for a host, a denial first. The caller holds p.mu.
func (p *Proxy) lookup(host, port string, now time.Time) (Grant, bool) {
	held := slices.DeleteFunc(slices.Clone(p.grants), func(g Grant) bool { return !g.holds(now) })
	return Find(held, host, port)
}

// bars returns the denial of an address that a name was resolved to. The caller holds p.mu.
func (p *Proxy) bars(addr netip.AddrPort, now time.Time) (Grant, bool) {
	g, found := p.lookup(addr.Addr().Unmap().String(), portOf(addr), now)
	return g, found && g.Deny
}

// Find returns the grant that decides about a host and port, a denial before a grant that allows.
// It ignores the ends of grants.
func Find(grants []Grant, host, port string) (Grant, bool) {
	for _, deny := range []bool{true, false} {
		if i := slices.IndexFunc(grants, func(g Grant) bool { return g.Deny == deny && g.covers(host, port) }); i >= 0 {
			return grants[i], true
		}
	}
	return Grant{}, false
}
