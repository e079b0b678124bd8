package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"waggle/policy"
)

// parseTarget reads a host and port as a client wrote them. Every spelling of one host gives the
// same result.
func parseTarget(host, port string) (string, string, error) {
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
		return "", "", fmt.Errorf("port %q is none", port)
	}
	host = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(host), "["), "]")
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", "", fmt.Errorf("%q names an interface of this machine", host)
		}
		return addr.Unmap().String(), port, nil
	}
	host, err = policy.ParseHost(strings.TrimSuffix(host, "."))
	if err != nil || strings.HasPrefix(host, "*") {
		return "", "", fmt.Errorf("%q is no host name", host)
	}
	return host, port, nil
}

// ranges are the networks without public hosts.
var ranges = func() map[netip.Prefix]string {
	m := map[netip.Prefix]string{}
	for what, list := range map[string]string{
		"this machine":           "0.0.0.0/8 127.0.0.0/8 ::/128 ::1/128",
		"a link-local network":   "169.254.0.0/16 fe80::/10",
		"a private network":      "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10",
		"not the public network": "192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 100::/64 2001:db8::/32 ff00::/8",
	} {
		for _, p := range strings.Fields(list) {
			m[netip.MustParsePrefix(p)] = what
		}
	}
	return m
}()

// embedding are the networks whose addresses contain an IPv4 address, with its first byte.
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"):   12,
	netip.MustParsePrefix("64:ff9b:1::/48"): 12,
	netip.MustParsePrefix("2002::/16"):      2,
	netip.MustParsePrefix("::/96"):          12,
}

// notPublic names the kind of an address outside the public network; "" for a public address.
func notPublic(addr netip.Addr, own []netip.Addr) string {
	addr = addr.Unmap()
	for p, what := range ranges {
		if p.Contains(addr) {
			return what
		}
	}
	for _, o := range own {
		if o.Unmap().WithZone("") == addr {
			return "this machine"
		}
	}
	if addr.Is6() {
		bytes := addr.As16()
		if bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0 && bytes[3] == 0 {
			return "a tunnel" // Teredo: two addresses of it are IPv4 ones
		}
		for p, at := range embedding {
			if p.Contains(addr) {
				if what := notPublic(netip.AddrFrom4([4]byte(bytes[at:at+4])), own); what != "" {
					return what
				}
			}
		}
	}
	return ""
}

// refuses returns why the proxy may not dial an address for a permit; "" if it may.
func (p *Proxy) refuses(addr netip.AddrPort, pm permit) string {
	what := notPublic(addr.Addr(), p.o.Own())
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if g, barred := p.bars(addr, now); barred {
		return fmt.Sprintf("%s is at %s: %s", pm.req.Host, addr.Addr(), g.denial())
	}
	if what == "" || pm.req.Host == addr.Addr().String() {
		return "" // the request named this address, so that the grant covers it
	}
	for _, g := range p.grants {
		if g.holds(now) && g.names(addr) {
			return ""
		}
	}
	return fmt.Sprintf("%s is at %s, which is %s; only a grant of that address opens it", pm.req.Host, addr.Addr(), what)
}

func portOf(a netip.AddrPort) string { return strconv.Itoa(int(a.Port())) }

// connectTime is the time limit for the connection to one address.
const connectTime = 15 * time.Second

func dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime}
	return d.DialContext(ctx, "tcp", addr.String())
}

func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func ownAddresses() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil // the ranges above cover the other addresses
	}
	var own []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr())
		}
	}
	return own
}

// lookUp returns the addresses of a host, which may be one itself.
func (p *Proxy) lookUp(ctx context.Context, host, port string) (list []netip.AddrPort, err error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{}
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, literal)
	} else if addrs, err = p.o.Resolve(ctx, host); err != nil {
		return nil, err
	}
	for _, a := range addrs {
		list = append(list, netip.AddrPortFrom(a.Unmap(), uint16(n)))
	}
	return list, nil
}

// connect resolves the host of a permit, checks each address and dials the first that
// answers, or asks the machine's own proxy where the host is reached by it.
func (p *Proxy) connect(ctx context.Context, pm permit) (net.Conn, netip.AddrPort, error) {
	if up := p.upstream(pm.req); up != nil {
		return p.through(ctx, up, pm)
	}
	addrs, err := p.lookUp(ctx, pm.req.Host, pm.req.Port)
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("look up %s: %w", pm.req.Host, err)
	}
	if len(addrs) == 0 {
		return nil, netip.AddrPort{}, fmt.Errorf("%s has no address", pm.req.Host)
	}
	return p.dialFirst(ctx, addrs, func(addr netip.AddrPort) string { return p.refuses(addr, pm) })
}

// dialFirst dials the first address that is not refused and answers.
func (p *Proxy) dialFirst(ctx context.Context, addrs []netip.AddrPort, refused func(netip.AddrPort) string) (net.Conn, netip.AddrPort, error) {
	errs := []error{}
	for _, addr := range addrs {
		if why := refused(addr); why != "" {
			errs = append(errs, &refusal{why})
			continue
		}
		c, err := p.o.Dial(ctx, addr)
		if err == nil {
			return c, addr, nil
		}
		errs = append(errs, err)
	}
	return nil, netip.AddrPort{}, errors.Join(errs...)
}
