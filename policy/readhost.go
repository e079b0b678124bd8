package policy

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// schemePorts are the default ports of schemes.
var schemePorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}

// ReadHost parses and normalises the host that an agent names when it asks for the network. It is
// called once: its result is judged, shown, recorded and opened. It takes a host, HOST:PORT, and a
// URL of a scheme that it knows without a path. The name comes back in ASCII and lower case,
// without a final dot; an address in its one spelling; a port as a number without leading zeros, ""
// when there is none. A text that some reader could resolve to another host is an error. toASCII
// converts an international name (IDNA); without it such a name is an error too.
func ReadHost(asked string, toASCII func(string) (string, error)) (host, port string, err error) {
	bad := func(why string) (string, string, error) {
		return "", "", fmt.Errorf("%.80q is no host that can be asked for: %s; write HOST or HOST:PORT", asked, why)
	}
	rest, scheme := asked, ""
	if name, after, ok := strings.Cut(asked, "://"); ok {
		u, err := url.Parse(asked)
		scheme = strings.ToLower(name)
		if err != nil || schemePorts[scheme] == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
			return bad("a URL is one of http, https, ws or wss, and a host alone")
		}
		rest = strings.TrimSuffix(after, "/")
	}
	host, port = rest, ""
	switch {
	case strings.HasPrefix(rest, "["):
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return bad("the bracket is not closed")
		}
		if after := rest[end+1:]; after == "" {
			host = rest[1:end]
		} else if host, port, err = net.SplitHostPort(rest); err != nil || port == "" {
			return bad("what follows the address is no port")
		}
	case strings.Count(rest, ":") == 1:
		host, port, _ = strings.Cut(rest, ":")
		if port == "" {
			return bad("the port is missing")
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' {
			return bad("the port is none")
		}
		port = strconv.FormatUint(n, 10)
	} else {
		port = schemePorts[scheme]
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return bad("an address with a zone is another one on each machine")
		}
		return addr.Unmap().String(), port, nil
	}
	host = strings.TrimSuffix(host, ".")
	if numeric(host) {
		return bad("some programs read it as another address")
	}
	if toASCII != nil && !strings.Contains(host, "_") { // IDNA does not allow these names
		ascii, err := toASCII(host)
		if err != nil {
			return bad("it is no valid international name")
		}
		host = ascii
	}
	if host, err = ParseHost(host); err != nil || strings.HasPrefix(host, "*.") {
		return bad("it is no name of one host")
	}
	return host, port, nil
}

// CutPort divides HOST:PORT; the host may be a pattern. An IPv6 address before a port is in brackets.
func CutPort(text string) (host, port string, has bool) {
	if strings.HasPrefix(text, "[") {
		if host, port, err := net.SplitHostPort(text); err == nil {
			return host, port, true
		}
		if strings.HasSuffix(text, "]") {
			text = text[1 : len(text)-1]
		}
		return text, "", false
	}
	if strings.Count(text, ":") > 1 {
		return text, "", false
	}
	return strings.Cut(text, ":")
}

// numeric reports a name whose last part is a number, in any base: programs resolve 127.1,
// 0x7f000001 or 010.0.0.1 to different addresses.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}
