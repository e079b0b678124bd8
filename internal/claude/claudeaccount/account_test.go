//go:build unix

package claudeaccount

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/internal/test/testenv"
)

func TestHosts(t *testing.T) {
	own := []agent.HostPort{{Name: "api.anthropic.com", Port: "443"}, {Name: "console.anthropic.com", Port: "443"}, {Name: "platform.claude.com", Port: "443"}}
	for base, want := range map[string][]agent.HostPort{
		"":                       own,
		"http://127.0.0.1:4000":  {{Name: "127.0.0.1", Port: "4000"}},
		"http://LLM.corp/v1":     {{Name: "llm.corp", Port: "80"}},
		"https://llm.corp/":      {{Name: "llm.corp", Port: "443"}},
		"https://[::1]:8443/api": {{Name: "::1", Port: "8443"}},
		"nonsense":               nil,
	} {
		if diff := cmp.Diff(want, Hosts([]string{"ANTHROPIC_BASE_URL=" + base})); diff != "" {
			t.Errorf("%q: %s", base, diff)
		}
	}
}

// write makes a file and the directories above it.
func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
}

func read1(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Must(t, err)
	return string(data)
}

// The client in a sandbox has settings, login and its directory's sessions of the account, a copy of
// .claude.json, and nothing of other sessions.
func TestMove(t *testing.T) {
	home, own := t.TempDir(), t.TempDir()
	acc := Of([]string{"HOME=" + home})
	write(t, acc.Global, `{"a":1}`)
	for _, name := range []string{"settings.json", loginName, "teams/x/config.json", "projects/-other/s.jsonl", "shell-snapshots/s.sh", "sessions/1.json"} {
		write(t, filepath.Join(acc.Config, name), "real "+name)
	}
	dir := filepath.Join(home, "my work")
	write(t, filepath.Join(acc.sessions(dir), "s.jsonl"), "a session")
	config, err := acc.Move(own, dir)
	testenv.Must(t, err)
	write(t, filepath.Join(config, globalName), `{"a":2}`)
	if read1(t, acc.Global) != `{"a":1}` {
		t.Error(".claude.json of the account was written")
	}
	if got := read1(t, filepath.Join(config, "settings.json")); got != "real settings.json" {
		t.Errorf("settings: %q", got)
	}
	if got := read1(t, filepath.Join(config, "projects", filepath.Base(acc.sessions(dir)), "s.jsonl")); got != "a session" {
		t.Errorf("sessions: %q", got)
	}
	for _, name := range []string{"teams", "projects/-other", "shell-snapshots", "sessions"} {
		if _, err := os.Lstat(filepath.Join(config, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	// A link that the client left is not followed by the next start.
	outside := t.TempDir()
	testenv.Must(t, os.RemoveAll(config))
	testenv.Must(t, os.Symlink(outside, config))
	if _, err := acc.Move(own, dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("written through a link: %v %v", left, err)
	}
}

// A login that the client renewed is kept; a file that is no login is not.
func TestRenewed(t *testing.T) {
	home, own := t.TempDir(), t.TempDir()
	acc := Of([]string{"HOME=" + home})
	login := filepath.Join(acc.Config, loginName)
	write(t, login, `{"token":"old"}`)
	config, err := acc.Move(own, home)
	testenv.Must(t, err)
	inside := filepath.Join(config, loginName)
	replace := func(with func()) {
		t.Helper()
		testenv.Must(t, os.Remove(inside))
		with()
	}
	if err := acc.Renewed(own); err != nil || read1(t, login) != `{"token":"old"}` {
		t.Errorf("a link: %v", err)
	}
	replace(func() { write(t, inside, `{"token":"new"}`) })
	if err := acc.Renewed(own); err != nil || read1(t, login) != `{"token":"new"}` {
		t.Errorf("%v: %s", err, read1(t, login))
	}
	replace(func() { write(t, inside, "no JSON") })
	if err := acc.Renewed(own); err == nil || read1(t, login) != `{"token":"new"}` {
		t.Errorf("%v: %s", err, read1(t, login))
	}
	replace(func() {
		testenv.Must(t, os.Symlink("/etc/hostname", inside))
	})
	if err := acc.Renewed(own); err != nil || read1(t, login) != `{"token":"new"}` {
		t.Errorf("%v: %s", err, read1(t, login))
	}
}
