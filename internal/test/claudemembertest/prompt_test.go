//go:build unix

package claudemembertest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// TestPermissionPrompt: a client that asks the tool permission_prompt runs an allowed call once and
// does not run a denied one; it gets the reason.
func TestPermissionPrompt(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("allowed"), claudetest.Mark("denied"), claudetest.Say("that was all")), "")
		strict := map[string]any{"permissions": map[string]any{"defaultMode": "default"}}
		w.settings(strict)
		w.OK("team", "create", "crew")
		t.Cleanup(func() { w.Run("down", "crew", "--force") })
		var doc struct {
			Servers json.RawMessage `json:"mcpServers"`
		}
		testenv.Must(t, json.Unmarshal([]byte(w.OK("team", "add", "ed", "--team", "crew", "--agent", "mcp", "--json")), &doc))
		entry := filepath.Join(w.H.Home, "mcp.json")
		w.H.WriteJSON(entry, map[string]any{"mcpServers": doc.Servers})
		cmd := w.H.Command(w.H.Claude, "-p", "do it all", "--mcp-config", entry, "--strict-mcp-config", "--permission-mode", "default",
			"--permission-prompt-tool", "mcp__waggle__permission_prompt")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		testenv.Must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		w.OK("approve", w.pending("ran >>allowed"), "--team", "crew")
		w.OK("deny", w.pending("ran >>denied"), "--team", "crew", "-m", "not that one")
		if err := <-ended; err != nil || !strings.Contains(out.String(), "that was all") {
			t.Errorf("%v: %s", err, &out)
		}
		w.Ran("allowed", 1)
		w.Ran("denied", 0)
		told := false
		for _, r := range w.M.Requests() {
			for _, b := range r.Results() {
				told = told || b.IsError && strings.Contains(b.Text, "not that one")
			}
		}
		if !told {
			t.Error("the model was not told why")
		}
		if log := w.OK("log", "--team", "crew", "--kind", "started", "--json"); strings.Count(log, `"kind": "started"`) != 1 {
			t.Error(log)
		}
	})
}
