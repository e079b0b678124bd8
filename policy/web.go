package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"waggle/internal/cmdline"
)

// domainPrefix begins the pattern of a WebFetch rule: domain:HOST or domain:*.HOST, in lower case.
const domainPrefix = "domain:"

func hostPatternOf(s string) (string, error) {
	host := strings.ToLower(strings.TrimSpace(s))
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		return a.Unmap().String(), nil
	}
	if strings.Contains(host, ":") || !plainHost(strings.TrimPrefix(host, "*.")) {
		return "", errors.New("not a host name: letters, digits, hyphens and dots; *. in front for the hosts below it")
	}
	return host, nil
}

// ParseHost reads one entry of a list of hosts, such as the team file's
// sandbox.network: a host name or an address, or *.HOST for the hosts below it.
// It answers in lower case, an address in its one spelling, and refuses everything else: a scheme, a port, a path,
// a wildcard elsewhere, names that are not ASCII.
func ParseHost(s string) (string, error) {
	host, err := hostPatternOf(s)
	if err != nil {
		return "", fmt.Errorf("policy: host %q: %w", clip(s), err)
	}
	return host, nil
}

// HostAllowed reports whether a list of hosts covers a host, as names and without
// regard to case: x.org is itself alone, *.x.org is what is below it. An entry
// that ParseHost refuses covers nothing, and a host that is no plain name is never
// covered.
func HostAllowed(list []string, host string) bool {
	host = strings.ToLower(host)
	for _, entry := range list {
		if p, err := hostPatternOf(entry); err == nil && plainHost(host) && allowsHost(p, host) {
			return true
		}
	}
	return false
}

// plainHost accepts a host name in ASCII, or an address in its one spelling.
func plainHost(h string) bool {
	if a, err := netip.ParseAddr(h); err == nil && a.Is6() {
		return a.Zone() == "" && a.Unmap().String() == h
	}
	if h == "" || len(h) > 253 {
		return false
	}
	for _, label := range strings.Split(h, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range label {
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// hostOf reads the host of a URL that every reader reads alike; it is "" for
// one that some client might read otherwise.
func hostOf(raw string) string {
	if _, bad := cmdline.Invisible(raw, ""); bad || strings.ContainsAny(raw, ` \`) {
		return ""
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Opaque != "" || !plainHost(strings.ToLower(u.Hostname())) {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// allowsHost is exact: domain:x.org is x.org alone, domain:*.x.org what is below.
func allowsHost(pattern, host string) bool {
	if below, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, below) && len(host) > len(below)
	}
	return pattern == host
}

// deniesHost reaches the hosts below a denied one, and, for *.x.org, x.org.
func deniesHost(pattern, host string) bool {
	pattern = strings.TrimPrefix(pattern, "*.")
	host = strings.TrimSuffix(host, ".")
	return host == pattern || strings.HasSuffix(host, "."+pattern)
}

// mentionsHost is for a URL that cannot be read: is the host's name in it?
func mentionsHost(pattern, raw string) bool {
	return strings.Contains(strings.ToLower(raw), strings.TrimPrefix(pattern, "*."))
}
