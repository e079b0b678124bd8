//go:build linux

package live_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/tui"
	"waggle/internal/face/tui/live"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/operator/teams"
	"waggle/record"
	"waggle/spawn"
)

// TestOutputOfAPane: the output of an adopted session is what its pane of tmux shows. One client of the server tells of a
// change, and is gone when another page is shown, when none is, and when the screen ends.
func TestOutputOfAPane(t *testing.T) {
	t.Parallel()
	program := testenv.Require(t, "tmux")
	short, err := os.MkdirTemp("", "wt") // the path of a socket is limited
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	op := operatortest.New(t)
	op.ClaudeDir, op.Environ = t.TempDir(), append(op.Environ, "TERM=screen", "TMUX="+filepath.Join(short, "s")+",1,0", "TMUX_PANE=%0")
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, append([]string{"-S", filepath.Join(short, "s")}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=screen", "HOME=" + short}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tmux("-f", "/dev/null", "new-session", "-d", "-s", "mine", "exec cat")
	defer tmux("kill-server")
	pid, err := strconv.Atoi(tmux("display-message", "-p", "#{pane_pid}"))
	testenv.Must(t, err)
	operatortest.Team(t, op, "api", record.PolicySet{})
	adopt(t, op.ClaudeDir, pid)
	if _, err := teams.Of(op).Adopt(t.Context(), "api", teams.AdoptOptions{PID: pid, As: "ann"}); err != nil {
		t.Fatal(err)
	}

	src := live.Of(op, "api")
	_, output, end := watch(t, src)
	defer end()
	page := tui.Page{Tab: tui.TabOutput, Team: "api", Member: "ann", Lines: 100}
	shows := func(text string) {
		t.Helper()
		for {
			paper, err := src.Page(t.Context(), page)
			testenv.Must(t, err)
			if strings.Contains(strings.Join(paper.Lines, "\n"), text) {
				return
			}
			select {
			case <-output:
			case <-time.After(time.Minute):
				t.Fatalf("%q is not told: %q", text, paper.Lines)
			}
		}
	}
	clients := func(n int) {
		t.Helper()
		testenv.Eventually(t, fmt.Sprint(n, " clients of tmux"), func() bool { return len(strings.Fields(tmux("list-clients", "-F", "#{client_pid}"))) == n })
	}
	shows("")
	clients(1)
	tmux("send-keys", "-t", "mine", "-l", "said")
	shows("said")
	tmux("detach-client", "-s", "mine") // somebody ends it: it is begun again
	tmux("send-keys", "-t", "mine", "-l", " more")
	for {
		if _, err := src.Page(t.Context(), page); err == nil {
			break
		}
	}
	shows("said more")
	clients(1)
	page.Tab = tui.TabLog
	if _, err := src.Page(t.Context(), page); err != nil {
		t.Fatal(err)
	}
	clients(0)
	page.Tab = tui.TabOutput
	shows("said more")
	src.Leave()
	clients(0)
	shows("said more")
	clients(1)
	page.Team, page.Member = decide.SessionTeam, fmt.Sprint(pid) // the same as a session
	shows("said more")
	tmux("send-keys", "-t", "mine", "-l", " and more")
	shows("said more and more")
	clients(1)
	end()
	clients(0)
}

// adopt registers a process as a session of the client.
func adopt(t *testing.T, dir string, pid int) {
	t.Helper()
	id, err := spawn.Identify(pid)
	testenv.Must(t, err)
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "sessions"), 0o700))
	text := fmt.Sprintf(`{"pid":%d,"sessionId":"1a2b3c4d-0000-4000-8000-000000000000","cwd":"/","startedAt":1795193125905,"procStart":%q}`, pid, id.Start)
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "sessions", fmt.Sprint(pid, ".json")), []byte(text), 0o600))
}
