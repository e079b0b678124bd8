//go:build unix

package process_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/process"
)

// TestResolveBackend: the backend for each word, inside and outside of the multiplexers, with their
// programs and without. auto tries tmux, then iTerm2, and neither for an unattended command. A named
// backend that does not exist here is an error with the next step.
func TestResolveBackend(t *testing.T) {
	t.Parallel()
	const session = "11111111-2222-3333-4444-555555555555"
	tmux := func(width, height int) string {
		return fmt.Sprintf(`case "$*" in *list-panes*) echo '%%0 @0 %[1]d %[2]d 0 %[1]d %[2]d ';; *) echo 1;; esac`, width, height)
	}
	answers := map[string]string{"tmux": tmux(200, 50), "narrow tmux": tmux(120, 50), "low tmux": tmux(200, 20), "it2": `echo '[{"id":"` + session + `"}]'`, "dead tmux": "exit 1", "other tmux": "echo 2",
		"dead it2": "exit 2", "other it2": "echo '[]'"}
	bin := func(programs ...string) string {
		dir := t.TempDir()
		for _, p := range programs {
			name := p[strings.LastIndexByte(p, ' ')+1:]
			testenv.Must(t, testenv.Executable(filepath.Join(dir, name), []byte("#!/bin/sh\n"+answers[p]+"\n")))
		}
		return "PATH=" + dir
	}
	inTmux := []string{"TMUX=/tmp/s,1,0", "TMUX_PANE=%0"}
	inITerm := []string{"ITERM_SESSION_ID=w0t0p0:" + session}
	inBoth := append(inTmux, inITerm...)
	for _, c := range []struct {
		name, word string
		env        []string
		path       string
		alone      bool
		want, hint string
	}{
		{"nothing said", "", inBoth, bin("tmux", "it2"), false, "process", ""},
		{"process", "process", inBoth, bin("tmux", "it2"), false, "process", ""},
		{"auto in both", "auto", inBoth, bin("tmux", "it2"), false, "tmux", ""},
		{"auto in a narrow tmux", "auto", inTmux, bin("narrow tmux"), false, "tmux-window", ""},
		{"auto in a low tmux", "auto", inTmux, bin("low tmux"), false, "tmux-window", ""},
		{"auto in both, alone", "auto", inBoth, bin("tmux", "it2"), true, "process", ""},
		{"auto in both without tmux", "auto", inBoth, bin("it2"), false, "iterm2", ""},
		{"auto in a tmux that has ended", "auto", inTmux, bin("dead tmux"), false, "process", ""},
		{"auto in a tmux that was started again", "auto", inBoth, bin("other tmux", "it2"), false, "iterm2", ""},
		{"auto in an iTerm2 that does not answer", "auto", inITerm, bin("dead it2"), false, "process", ""},
		{"auto in a session that is gone", "auto", inITerm, bin("other it2"), false, "process", ""},
		{"auto in iTerm2", "auto", inITerm, bin("tmux", "it2"), false, "iterm2", ""},
		{"auto in iTerm2, alone", "auto", inITerm, bin("tmux", "it2"), true, "process", ""},
		{"auto in iTerm2 without it2", "auto", inITerm, bin("tmux"), false, "process", ""},
		{"auto in neither", "auto", nil, bin("tmux", "it2"), false, "process", ""},
		{"tmux outside", "tmux", nil, bin("tmux"), true, "tmux", ""},
		{"tmux without it", "tmux", inTmux, bin(), false, "", "install tmux"},
		{"iterm2", "iterm2", inITerm, bin("it2"), true, "iterm2", ""},
		{"iterm2 outside", "iterm2", nil, bin("it2"), false, "", "in a window of iTerm2"},
		{"iterm2 without it2", "iterm2", inITerm, bin(), false, "", "install it2"},
	} {
		got, err := process.ResolveBackend(t.Context(), append(c.env[:len(c.env):len(c.env)], c.path), c.word, !c.alone)
		if c.hint == "" && (err != nil || got != c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
		if c.hint != "" {
			operatortest.Is(t, c.name, err, operator.Failed, "")
			var e *operator.Error
			if !errors.As(err, &e) || !strings.Contains(e.Advice, c.hint) {
				t.Errorf("%s: %v does not hint at %q", c.name, err, c.hint)
			}
		}
	}
	_, err := process.ResolveBackend(t.Context(), nil, "docker", true)
	operatortest.Is(t, "docker", err, operator.Usage, "")
}
