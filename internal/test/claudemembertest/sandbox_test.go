//go:build linux

package claudemembertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// sandboxed replaces the sandbox of the team file, which is off, with a block, and gives the home the
// built program.
func (w *world) sandboxed(block string) {
	w.T.Helper()
	// The test binary may be linked dynamically, and a sandbox's relay must not be.
	program := filepath.Join(w.T.TempDir(), filepath.Base(w.Bin))
	testenv.Must(w.T, testenv.Program(program))
	w.H.Install(program)
	path := filepath.Join(w.H.Work, "team.yaml")
	data, err := os.ReadFile(path)
	testenv.Must(w.T, err)
	w.H.WriteFile(path, strings.Replace(string(data), "sandbox: {mode: off}", block, 1), 0o600)
}

// requireBox skips a test that needs a sandbox.
func requireBox(t *testing.T) {
	t.Helper()
	if os.Getenv("WAGGLE_SANDBOX") == "off" {
		t.Skip("WAGGLE_SANDBOX=off: the suite runs without sandboxes")
	}
	testenv.Require(t, "bwrap")
	testenv.Require(t, "curl")
	testenv.Require(t, "go")
}

// common is a directory that everybody may write, outside of the directories that a sandbox replaces.
func common(t *testing.T) string {
	t.Helper()
	above := "/opt"
	if os.Geteuid() != 0 {
		above = testenv.Home(t)
	}
	dir, err := os.MkdirTemp(above, "waggle-common")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	testenv.Must(t, os.Chmod(dir, 0o777))
	return dir
}

// The whole client runs in its member's sandbox: it works, asks, and reaches its model. An approved
// call that leads out of the sandbox fails, and the client cannot write the files that decide about
// other sessions.
func TestInSandbox(t *testing.T) {
	requireBox(t)
	claudetest.Each(t, func(t *testing.T, version string) {
		outside := common(t)
		w := newWorld(t, version, claudetest.Script(
			claudetest.Bash("echo ran >>inside; cat inside; echo home=$HOME config=$CLAUDE_CONFIG_DIR"),
			claudetest.Bash("echo out >"+outside+"/file"),
			claudetest.Bash("curl -sS --noproxy '*' http://93.184.215.14/"),
			claudetest.Bash("curl -sS https://unlisted.example.com/; curl -sS https://unlisted.example.com/; curl -sS https://unlisted.example.com/"),
			claudetest.Bash("echo {} >$HOME/.claude/settings.json || echo {} >.claude/settings.json"),
			claudetest.Bash("cat $HOME/.claude/history.jsonl $HOME/.claude/teams/crew/config.json $HOME/.local/state/waggle/teams/*/journal/*/*"),
			claudetest.Mark("denied"),
			claudetest.Say("all done")), "")
		w.sandboxed("sandbox: {mode: required}")
		w.H.WriteFile(filepath.Join(w.H.Config, "history.jsonl"), "other words\n", 0o600)
		w.works("try", "try it")
		turn := 0
		next := func(words string) claudetest.Block {
			t.Helper()
			w.OK("approve", w.pending(words), "--team", "crew")
			r := w.Result(turn)
			turn++
			t.Logf("%s: error %v: %s", words, r.IsError, r.Text)
			return r
		}
		if r := next("inside"); r.IsError || !strings.Contains(r.Text, "ran") {
			t.Errorf("inside: %+v", r)
		}
		w.Ran("inside", 1)
		if r := next("/file"); !r.IsError {
			t.Errorf("outside: %+v", r)
		}
		if r := next("noproxy"); !r.IsError {
			t.Errorf("a host past the proxy: %+v", r)
		}
		w.OK("approve", w.pending("unlisted.example.com/"), "--team", "crew")
		w.until("the host is asked for", func() bool {
			return strings.Contains(w.OK("net", "pending", "--team", "crew"), "unlisted.example.com")
		})
		w.OK("net", "deny", "unlisted.example.com", "--team", "crew", "-m", "no such thing")
		w.Result(turn)
		if r := w.M.Await("the turn after it", func(r claudetest.Request) bool { return r.Turns() == turn+1 && len(r.Results()) >= 1 }); !strings.Contains(string(r.Body),
			"waggle: the sandbox does not let this through to unlisted.example.com:443: no such thing") { // which curl does not show
			t.Errorf("of an unlisted host the model is told %s", r.Body)
		}
		turn++
		if r := next("settings.json"); !r.IsError {
			t.Errorf("settings: %+v", r)
		}
		if r := next("history"); strings.Contains(r.Text, "other words") || strings.Contains(r.Text, "leadAgentId") || strings.Contains(r.Text, "epoch") {
			t.Errorf("what is others': %+v", r)
		}
		w.OK("deny", w.pending(">>denied"), "--team", "crew")
		w.completed()
		w.Ran("denied", 0)
		if _, err := os.Stat(filepath.Join(outside, "file")); err == nil {
			t.Error("it wrote outside")
		}
		if out := w.OK("status", "crew"); !strings.Contains(out, "enforced") {
			t.Errorf("status: %s", out)
		}
		if kept, _ := filepath.Glob(filepath.Join(w.H.Config, "projects", "*", "*.jsonl")); len(kept) != 1 {
			t.Errorf("the session is kept as %q", kept)
		}
	})
}

// The client of the agent behind the lead has its tools also in its member's sandbox, where the leader's
// files and sockets are not.
func TestLeadInSandbox(t *testing.T) {
	requireBox(t)
	claudetest.Each(t, func(t *testing.T, version string) {
		leads(t, version, func(w *world) { w.sandboxed("sandbox: {mode: required}") })
	})
}

// The session of a client in a sandbox opens outside of it, and the line before says so.
func TestTakeOutOfSandbox(t *testing.T) {
	requireBox(t)
	claudetest.Each(t, func(t *testing.T, version string) {
		takes(t, version, func(w *world) { w.sandboxed("sandbox: {mode: auto}") }, "outside of the member's sandbox", byCommand)
	})
}
