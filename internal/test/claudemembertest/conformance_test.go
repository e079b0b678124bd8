//go:build unix

package claudemembertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
	"waggle/operator/agentcheck"
)

// table is what doctor agent says of a client.
type table struct {
	Agent, Version string
	OK             bool
	Lines          []struct{ Line, Verdict, Detail, Source string }
}

func (w *world) table(code int, args ...string) (doc table) {
	w.T.Helper()
	s := w.Run(append([]string{"doctor", "agent", "claude", "--full", "--json", "--quiet"}, args...)...)
	if err := json.NewDecoder(bytes.NewReader([]byte(s.Out))).Decode(&doc); err != nil || s.Code != code {
		w.T.Fatalf("exit %d, want %d: %v: %s%s", s.Code, code, err, s.Out, s.Err)
	}
	if doc.Agent != "claude" || doc.Version != w.H.Version || len(doc.Lines) != len(agentcheck.Lines()) {
		w.T.Errorf("%+v", doc)
	}
	return doc
}

// conforms tests a client: every line of its table is a yes, but for those that it cannot do.
func conforms(t *testing.T, version, backend string, cannot ...agentcheck.Line) {
	w := newWorld(t, version, claudetest.Script(), "")
	doc := w.table(0, "--backend", backend)
	if !doc.OK {
		t.Error("the table is no yes")
	}
	for _, l := range doc.Lines {
		want := agentcheck.Yes
		if slices.Contains(cannot, agentcheck.Line(l.Line)) {
			want = agentcheck.Unsupported
		}
		if l.Verdict != string(want) {
			t.Errorf("%s: %s, want %s: %s%s", l.Line, l.Verdict, want, l.Detail, l.Source)
		}
	}
	if n := len(w.M.All()); n != 0 {
		t.Errorf("the user's model got %d requests: a check has its own", n)
	}
	w.until("no process is left", func() bool { return len(w.H.Processes()) == 0 && !w.hasTmux() })
}

// hasTmux reports a tmux server of this account's.
func (w *world) hasTmux() bool {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(found, func(path string) bool {
		line, _ := os.ReadFile(path) // it may have ended
		return strings.Contains(string(line), "tmux") && strings.Contains(string(line), w.H.Root)
	})
}

// The conformance table of agent claude: a headless client has no hooks that could break.
func TestConformance(t *testing.T) {
	t.Parallel()
	claudetest.Each(t, func(t *testing.T, version string) {
		conforms(t, version, "process", agentcheck.HookFails, agentcheck.HookMissing, agentcheck.HookHangs)
	})
}

// The table of a client in a pane: with a hook that could answer before the team it is not started.
func TestConformancePane(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "tmux")
	eachInPane(t, func(t *testing.T, version string) { conforms(t, version, "tmux", agentcheck.UserHook) })
}

// For a client that takes no messages of other sessions every line in a pane is unsupported, with the
// reason.
func TestConformancePaneUnsupported(t *testing.T) {
	testenv.Require(t, "tmux")
	w := newWorld(t, claudetest.Explicit, claudetest.Script(), "")
	doc := w.table(1, "--backend", "tmux")
	for _, l := range doc.Lines {
		if l.Verdict != string(agentcheck.Unsupported) || !strings.Contains(l.Source, "2.1.224") || !strings.Contains(l.Source, "docs/guide/claude.md") {
			t.Errorf("%+v", l)
		}
	}
	if doc.OK {
		t.Error("the table is a yes")
	}
}

// How a client stands is known without a turn: its version, by what it is logged in, and what asks.
func TestStanding(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(), "")
		var doc struct {
			Version  string
			LoggedIn bool `json:"logged_in"`
			Login    string
			OK       bool
		}
		testenv.Must(t, json.Unmarshal([]byte(w.OK("doctor", "agent", "claude", "--json")), &doc))
		if doc.Version != version || !doc.LoggedIn || doc.Login != "ANTHROPIC_API_KEY" || !doc.OK {
			t.Errorf("%+v", doc)
		}
		if n := len(w.M.All()); n != 0 {
			t.Errorf("the model got %d requests", n)
		}
		w.noProcess()
	})
}
