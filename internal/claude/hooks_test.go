//go:build unix

package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/claude"
	"waggle/internal/test/testenv"
)

// settingsWith writes a settings file with a hook for each event.
func settingsWith(t *testing.T, path, program string, events ...string) {
	t.Helper()
	var hooks []string
	for _, e := range events {
		hooks = append(hooks, `"`+e+`":[{"hooks":[{"type":"command","command":"`+program+` hook claude `+e+`"}]}]`)
	}
	testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"hooks":{`+strings.Join(hooks, ",")+`}}`), 0o600)))
}

// A hook that answers dialogs, of the user or of the directory, keeps a client in a pane from being
// started; hooks of waggle, and those of other events, do not.
func TestUnanswered(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	env := []string{"HOME=" + home}
	user, local := filepath.Join(home, ".claude", "settings.json"), filepath.Join(work, ".claude", "settings.local.json")
	if err := claude.Unanswered(env, work); err != nil {
		t.Errorf("without settings: %v", err)
	}
	settingsWith(t, user, "/bin/waggle", "PermissionRequest", "Elicitation")
	settingsWith(t, local, "/bin/guard", "PreToolUse", "Stop")
	if err := claude.Unanswered(env, work); err != nil {
		t.Errorf("with hooks of waggle, and of other events: %v", err)
	}
	for path, event := range map[string]string{user: "PermissionRequest", local: "Elicitation"} {
		settingsWith(t, path, "/bin/guard", "Stop", event)
		var answered *claude.AnsweredError
		if err := claude.Unanswered(env, work); !errors.As(err, &answered) || *answered != (claude.AnsweredError{Path: path, Event: event}) {
			t.Errorf("with %s in %s: %v", event, path, err)
		}
		testenv.Must(t, os.Remove(path))
	}
}

// A headless client says which hooks do not run, and which files it could not look at.
func TestHooksNotRun(t *testing.T) {
	g := newGate(t, "2.1.330")
	home, work := t.TempDir(), t.TempDir()
	g.env = append(g.env, "HOME="+home)
	users, local, shared := filepath.Join(home, ".claude", "settings.json"), filepath.Join(work, ".claude", "settings.local.json"), filepath.Join(work, ".claude", "settings.json")
	settingsWith(t, users, "/bin/guard", "PreToolUse", "Stop")
	settingsWith(t, shared, "/bin/waggle", "PermissionRequest")
	testenv.Must(t, os.WriteFile(local, []byte(`{"hooks":`), 0o600))
	a, _ := newAgent(t, `{}`, initialized+user("Task 1: go\\n\\ndo it")+turnEnds)
	w := task()
	w.Task.Cwd = work
	if _, err := a.Turn(t.Context(), g, w); err != nil {
		t.Fatal(err)
	}
	out := g.out.String()
	for _, want := range []string{"the hooks of " + users + " do not run in this session (PreToolUse, Stop)", "not named: " + local} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	if strings.Contains(out, shared) {
		t.Errorf("waggle's own hooks are named: %s", out)
	}
}
