//go:build linux

package sandbox_test

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/test/testenv"
)

func TestExplain(t *testing.T) {
	w := newWorld(t)
	grants := []proxy.Grant{{ID: "g1", Host: "*.example.com", Port: "443"}, {ID: "g2", Host: "bad.example.com", Deny: true}}
	lines, err := w.sb.Explain([]string{"cp", "-r", "main.go", w.Home + "/notes.txt", w.Home + "/.ssh/id_ed25519", w.State + "/operator.key", w.Task + "/output.log",
		w.Work + "/new", "https://api.example.com/x", "http://api.example.com/x", "https://bad.example.com", "git@api.example.com:x/y.git", "plain"}, w.Work, grants, true)
	testenv.Must(t, err)
	for subject, verdict := range map[string]string{
		w.Work + "/main.go": "write", w.Home + "/notes.txt": "read", w.Home + "/.ssh/id_ed25519": "forbidden", w.State + "/operator.key": "absent",
		w.Task + "/output.log": "read", w.Work + "/new": "write", "/tmp": "write", "/run": "own", w.Work + "/waggle.yaml": "read",
		"api.example.com:443": "allowed", "api.example.com:80": "asked", "bad.example.com:443": "denied", "api.example.com:22": "asked",
		"*.example.com:443": "allowed", "every other host": "asked",
	} {
		if !slices.ContainsFunc(lines, func(l sandbox.Line) bool { return l.Subject == subject && l.Verdict == verdict && l.Why != "" }) {
			t.Errorf("no line says that %s is %s: %v", subject, verdict, lines)
		}
	}
	// The machine does what Explain says.
	for _, l := range lines {
		if !strings.HasPrefix(l.Subject, w.Base) {
			continue
		}
		readable := w.inside("sh", "-c", "cat '"+l.Subject+"' >/dev/null 2>&1 || ls '"+l.Subject+"'/ >/dev/null 2>&1 && [ -n \"$(ls -A '"+l.Subject+"')\" ]").Exit.Code == 0
		writable := w.inside("sh", "-c", "touch '"+l.Subject+"' 2>/dev/null").Exit.Code == 0
		if want := l.Verdict == "write"; writable != want && l.Verdict != "absent" {
			t.Errorf("%s is said to be %s; writable: %v", l.Subject, l.Verdict, writable)
		}
		if l.Verdict == "forbidden" && readable || l.Verdict == "read" && !readable {
			t.Errorf("%s is said to be %s; readable: %v", l.Subject, l.Verdict, readable)
		}
	}
}

// The sockets of a machine are one line; one that the command names has a line of its own.
func TestExplainSockets(t *testing.T) {
	w := newWorld(t)
	w.sb.Profile.UnixSockets = true
	for _, name := range []string{"a", "b"} {
		l, err := net.Listen("unix", filepath.Join(w.Home, name))
		testenv.Must(t, err)
		defer l.Close()
	}
	lines, err := w.sb.Explain([]string{"nc", "-U", w.Home + "/a"}, w.Work, nil, false)
	testenv.Must(t, err)
	var named, all int
	for _, l := range lines {
		if l.Subject == w.Home+"/b" {
			t.Errorf("a line of its own: %v", l)
		}
		if l.Subject == w.Home+"/a" && l.Verdict == "absent" {
			named++
		}
		if l.Subject == "sockets of programs" && l.Verdict == "absent" {
			all++
		}
	}
	if named != 1 || all != 1 {
		t.Errorf("%d lines about the socket that is named, %d about all: %v", named, all, lines)
	}
}

// A level that holds less is never explained as a level that holds all.
func TestExplainLevels(t *testing.T) {
	w := newWorld(t)
	for level, want := range map[sandbox.Level]string{sandbox.FilesOnly: "network is open", sandbox.Off: "nothing is confined"} {
		w.sb.Level = level
		lines, err := w.sb.Explain([]string{"curl", "http://example.com/"}, w.Work, []proxy.Grant{{ID: "g", Host: "example.com"}}, true)
		testenv.Must(t, err)
		found := false
		for _, l := range lines {
			found = found || strings.Contains(l.Why, want)
			if l.Verdict == "allowed" || l.Verdict == "asked" {
				t.Errorf("%s: %v", level, l)
			}
		}
		if !found {
			t.Errorf("%s does not say %q: %v", level, want, lines)
		}
	}
}
