//go:build unix

package claudemembertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// exampleWorld is an account whose repository is examples/claude, which a scripted model works on.
func exampleWorld(t *testing.T, version string) *world {
	t.Helper()
	const fix = "sed -i.old 's/sum - n/sum + n/' total.sh && rm total.sh.old && git -c user.name=f -c user.email=f@example.com commit -qam 'total: adds'"
	w := newWorld(t, version, func(r claudetest.Request) claudetest.Turn {
		switch first := r.First(); {
		case strings.Contains(first, "Find the fault"):
			return claudetest.Script(claudetest.Bash("sh test.sh"), claudetest.SendMessage("fixer", "the fault", "total.sh subtracts"), claudetest.Say("total.sh subtracts"))(r)
		case strings.Contains(first, "Fix it"), strings.Contains(first, "total.sh subtracts"):
			if !strings.Contains(r.String(), "Fix it") {
				return claudetest.Say("heard")
			}
			if r.Since("Fix it") == 0 {
				return claudetest.Bash(fix)
			}
			return claudetest.Say("it adds now")
		}
		return claudetest.Say("which task is this")
	}, "")
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "claude", "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		testenv.Must(t, err)
		w.H.WriteFile(filepath.Join(w.H.Work, filepath.Base(path)), string(data), 0o644)
	}
	testenv.Must(t, os.Remove(filepath.Join(w.H.Work, "team.yaml")))
	w.sh(0, "git add -A && git -c user.name=t -c user.email=t@example.com commit -qm 'with a fault' && ! sh test.sh")
	return w
}

// sh runs a shell command in the repository.
func (w *world) sh(code int, command string) {
	w.T.Helper()
	cmd := w.H.Command("sh", "-c", command)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.T.Errorf("%s: exit %d, want %d: %s", command, got, code, out)
	}
}

// played runs the example, answers every request of the one list, and returns who asked and how the
// run ended.
func (w *world) played(verb string) (asked []string, code int) {
	w.T.Helper()
	w.up = w.H.Command(w.Bin, "run", "waggle.yaml", "--headless", "--wait", "2m", "--grace", "5s")
	w.up.Stdout, w.up.Stderr = &w.out, &w.out
	testenv.Must(w.T, w.up.Start())
	up, done := w.up, make(chan error, 1)
	go func() { done <- up.Wait() }()
	w.T.Cleanup(func() {
		if up.ProcessState == nil {
			_ = up.Process.Kill()
			<-done
		}
	})
	for limit := time.After(4 * claudetest.Patience); ; {
		select {
		case <-done:
			return asked, up.ProcessState.ExitCode()
		case <-limit:
			w.T.Fatal("the run does not end")
		case <-time.After(200 * time.Millisecond):
		}
		var doc struct {
			Pending []struct{ Handle, Member string }
		}
		if s := w.Run("pending", "--team", "fix", "--json"); s.Code != 0 || json.Unmarshal([]byte(s.Out), &doc) != nil {
			continue // it is not up yet, or has ended
		}
		for _, r := range doc.Pending {
			if w.Run(verb, r.Handle, "--team", "fix").Code == 0 {
				asked = append(asked, r.Member)
			}
		}
	}
}

// Two Claude members and a command fix a failing test in worktrees of a repository: every request is
// in one list, and with every one of them allowed the branch has the fix.
func TestExample(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := exampleWorld(t, version)
		asked, code := w.played("approve")
		if want := []string{"finder", "fixer", "tester"}; !slices.Equal(asked, want) || code != 0 {
			t.Errorf("asked %q, want %q; exit %d", asked, want, code)
		}
		w.sh(1, "sh test.sh")
		w.sh(0, "git merge -q --ff-only waggle/fix/fixer && sh test.sh")
		w.noProcess()
	})
}

// The same with every request denied: nothing was changed, and the test stays red.
func TestExampleDenied(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := exampleWorld(t, version)
		asked, code := w.played("deny")
		if len(asked) == 0 || code == 0 {
			t.Errorf("asked %q, exit %d", asked, code)
		}
		w.sh(1, "sh test.sh")
		cmd := w.H.Command("git", "log", "--all", "--format=%s")
		out, err := cmd.Output()
		if err != nil || strings.Contains(string(out), "adds") {
			t.Errorf("a denied commit was made: %v: %s", err, out)
		}
		w.noProcess()
	})
}
