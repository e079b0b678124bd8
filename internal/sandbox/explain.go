package sandbox

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/sandbox/proxy"
)

// Line is the access of a command to one path or host.
type Line struct {
	Subject string // a path, a host, or what the line is about
	Verdict string // read, write, forbidden, absent, own; allowed, denied, asked, refused, open
	Why     string
}

// Explain lists what a command could access, and why: first the paths and hosts that its arguments
// name, then the rules for everything else. dir is its working directory. asks is true when a host
// that no grant covers becomes a request.
func (s Sandbox) Explain(argv []string, dir string, grants []proxy.Grant, asks bool) ([]Line, error) {
	lines := []Line{}
	for _, gap := range s.Level.Gaps() {
		lines = append(lines, Line{Subject: "sandbox: " + string(s.Level), Verdict: "open", Why: gap})
	}
	if s.Level == Off {
		return lines, nil
	}
	p, m, err := Look(s.Profile, s.Level)
	if err != nil {
		return nil, err
	}
	for _, word := range argv[min(1, len(argv)):] {
		if host, port, ok := hostIn(word); ok && s.Level == Enforced {
			lines = append(lines, s.explainHost(host, port, grants, asks))
			continue
		}
		path, ok := pathIn(word, dir)
		if !ok {
			continue
		}
		access, why, err := p.AccessTo(m, path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, Line{path, string(access), why})
	}
	mounts, err := p.mounts(m)
	if err != nil {
		return nil, err
	}
	lines = append(lines, Line{"/", string(Read), "read-only for members"})
	sockets := 0
	for _, mt := range mounts {
		if mt.Access == Absent && slices.Contains(m.Sockets, mt.Path) {
			sockets++
			continue
		}
		lines = append(lines, Line{mt.Path, string(mt.Access), mt.Why})
	}
	if sockets > 0 {
		lines = append(lines, Line{"sockets of programs", string(Absent), fmt.Sprintf("hidden from members, %d now", sockets)})
	}
	if s.Level == Enforced {
		lines = append(lines, s.explainNetwork(grants, asks)...)
	}
	return lines, nil
}

func (s Sandbox) explainNetwork(grants []proxy.Grant, asks bool) []Line {
	lines := []Line{}
	for _, g := range grants {
		verdict, target := "allowed", g.Host
		if no, found := proxy.Find(grants, strings.TrimPrefix(g.Host, "*."), g.Port); found && no.Deny {
			verdict, g.ID, g.Rule = "denied", no.ID, no.Rule
		}
		if g.Port != "" {
			target += ":" + g.Port
		}
		lines = append(lines, Line{target, verdict, by(g)})
	}
	other := Line{"every other host", "refused", "no grant covers it"}
	switch {
	case s.Network == nil:
		other.Why = "this sandbox has no proxy"
	case asks:
		other.Verdict = "asked"
	}
	return append(lines, other)
}

func (s Sandbox) explainHost(host, port string, grants []proxy.Grant, asks bool) Line {
	target := host
	if port != "" {
		target += ":" + port
	}
	if s.Network == nil {
		return Line{target, "refused", "this sandbox has no proxy"}
	}
	g, found := proxy.Find(grants, host, port)
	switch {
	case found && g.Deny:
		return Line{target, "denied", by(g)}
	case found:
		return Line{target, "allowed", "grant " + g.ID + "; its address must be public, or granted by address"}
	case asks:
		return Line{target, "asked", "no grant covers it: the connection is held until somebody answers"}
	}
	return Line{target, "refused", "no grant covers it"}
}

// by is what decides about a host: an answer, or a deny rule.
func by(g proxy.Grant) string {
	if g.Rule != "" {
		return "rule " + g.Rule + ", whatever is granted"
	}
	return "grant " + g.ID
}

// hostIn reads the host that an argument of a command names: a URL, or git's USER@HOST:PATH.
func hostIn(word string) (host, port string, ok bool) {
	if u, err := url.Parse(word); err == nil && u.Host != "" {
		port = u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418"}[u.Scheme]
		}
		return strings.ToLower(u.Hostname()), port, true
	}
	if user, rest, found := strings.Cut(word, "@"); found && user != "" && !strings.ContainsAny(user, "/ ") {
		if h, _, found := strings.Cut(rest, ":"); found && h != "" {
			return strings.ToLower(h), "22", true
		}
	}
	return "", "", false
}

// pathIn reads an argument as a path that exists, or whose directory exists, and resolves its
// links.
func pathIn(word, dir string) (string, bool) {
	if word == "" || strings.HasPrefix(word, "-") {
		return "", false
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, word)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, true
	}
	if !strings.Contains(word, "/") {
		return "", false // not a path
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err == nil
}
