package cli_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/claude"
	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
)

// In a member's session the hook asks the member's worker and blocks the call when it cannot; it
// never prints an allow, and the hooks of the user's settings say nothing and keep no session.
func TestHookOfMember(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the second line is a Unix socket")
	}
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	testenv.Must(t, os.Mkdir(state, 0o700))
	second, err := claude.Listen(dir, func(_ context.Context, e claude.Event) string {
		if e.Tool == "Bash" {
			return "not that"
		}
		return ""
	}, nil)
	testenv.Must(t, err)
	hook := func(event, tool string) (int, string) {
		t.Helper()
		in := `{"session_id":"5b4ee3f0-0000-4000-8000-000000000000","hook_event_name":"` + event + `","cwd":"/w","tool_name":"` + tool + `","tool_input":{},"tool_use_id":"t"}`
		var out bytes.Buffer
		a := &app.App{In: strings.NewReader(in), Out: &out, Err: &bytes.Buffer{}, Now: time.Now, Rand: rand.Reader,
			Environ: []string{"HOME=" + dir, "WAGGLE_STATE=" + state, claude.SecondVar + "=" + second.Path()}}
		code := cli.Run(t.Context(), a, []string{"hook", "claude", event})
		return code, out.String()
	}
	if code, out := hook("PreToolUse", "Read"); code != 0 || out != "" {
		t.Errorf("exit %d, %q", code, out)
	}
	if code, out := hook("PreToolUse", "Bash"); code != 0 || !strings.Contains(out, `"permissionDecision":"deny"`) || !strings.Contains(out, "not that") {
		t.Errorf("exit %d, %q", code, out)
	}
	for _, event := range []string{"PermissionRequest", "SessionStart", "Stop", "PostToolUse"} {
		if code, out := hook(event, "Bash"); code != 0 || out != "" {
			t.Errorf("%s: exit %d, %q", event, code, out)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(state, "sessions")); len(left) > 0 {
		t.Errorf("the member is kept as a session too: %v", left)
	}
	testenv.Must(t, second.Close())
	if code, out := hook("PreToolUse", "Read"); code != 2 || out != "" {
		t.Errorf("without a worker: exit %d, %q", code, out)
	}
}
