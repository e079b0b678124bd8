//go:build unix

package claudemembertest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
)

// TestPermissionPrompt: a client that asks the tool permission_prompt runs an allowed call once and
// does not run a denied one; it gets the reason.
func TestPermissionPrompt(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(mark("allowed"), mark("denied"), claudetest.Say("that was all")), "")
		strict := map[string]any{"permissions": map[string]any{"defaultMode": "default"}}
		w.h.Settings(strict)
		w.h.WriteJSON(filepath.Join(w.h.Work, ".claude", "settings.json"), strict)
		w.ok("team", "create", "crew")
		t.Cleanup(func() { w.run("down", "crew", "--force") })
		var doc struct {
			Servers json.RawMessage `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(w.ok("team", "add", "ed", "--team", "crew", "--agent", "mcp", "--json")), &doc); err != nil {
			t.Fatal(err)
		}
		entry := filepath.Join(w.h.Home, "mcp.json")
		w.h.WriteJSON(entry, map[string]any{"mcpServers": doc.Servers})
		cmd := w.h.Command(w.h.Claude, "-p", "do it all", "--mcp-config", entry, "--strict-mcp-config", "--permission-mode", "default",
			"--permission-prompt-tool", "mcp__waggle__permission_prompt")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		w.ok("approve", w.pending("ran >>allowed"), "--team", "crew")
		w.ok("deny", w.pending("ran >>denied"), "--team", "crew", "-m", "not that one")
		if err := <-ended; err != nil || !strings.Contains(out.String(), "that was all") {
			t.Errorf("%v: %s", err, &out)
		}
		w.ran("allowed", 1)
		w.ran("denied", 0)
		told := false
		for _, r := range w.m.Requests() {
			for _, b := range r.Results() {
				told = told || b.IsError && strings.Contains(b.Text, "not that one")
			}
		}
		if !told {
			t.Error("the model was not told why")
		}
		if log := w.ok("log", "--team", "crew", "--kind", "started", "--json"); strings.Count(log, `"kind": "started"`) != 1 {
			t.Error(log)
		}
	})
}
