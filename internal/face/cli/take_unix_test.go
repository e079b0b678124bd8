//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/test/testenv"
)

// takenClient is a client: without a terminal it answers each prompt at once, unless there is a file hold; in a
// terminal it says how it was started, runs the next line that is typed, and ends.
const takenClient = `#!/bin/sh
case "$1" in --version) echo '2.1.332 (Claude Code)'; exit;; esac
case " $* " in *' -p '*) ;; *)
	echo "client $* in $(pwd) as $CLAUDE_CODE_SESSION_ID/$KEPT"
	read -r line
	sh -c "$line"
	echo "heard $line"
	exit;;
esac
echo "$*" >>argv
result='{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s1"}'
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"request_id":"\([^"]*\)".*/\1/p')
	case "$line" in
	*'"subtype":"initialize"'*) echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'","response":{"hooks_applied":true,"hook_on_failure_supported":true}}}';;
	*'"subtype":"mcp_status"'*) echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'","response":{"mcpServers":[]}}}';;
	*'"subtype":"interrupt"'*) echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'"}}'; echo "$result";;
	*'"type":"user"'*)
		echo '{"type":"system","subtype":"init","cwd":"/","session_id":"s1","tools":[],"model":"m1","permissionMode":"default","claude_code_version":"2.1.332"}'
		printf '%s\n' "$line" >>prompts
		test -e hold || echo "$result";;
	esac
done
`

// TestTake: a member's session opens on the terminal, with the person's environment and without that of a session
// around it, and the member goes on in the same session when the client has ended, also by kill -9. Meanwhile status
// says who has it, nobody else gets it, mail waits, and what runs below the client does not act as the operator.
func TestTake(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		testenv.Must(t, testenv.Executable(filepath.Join(dir, name), []byte(text)))
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return ""
		}
		return string(b)
	}
	write("claude", takenClient)
	write("hold", "")
	write("w.yaml", "team: crew\nsandbox: {mode: off}\nmembers: [{name: bob, agent: claude, program: "+filepath.Join(dir, "claude")+"}, {name: eve, agent: exec}]\n"+
		"tasks: [{subject: s, owner: bob, instructions: do it}]\n")
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(dir, "config"))
	t.Setenv("CLAUDE_CODE_SESSION_ID", "around")
	t.Setenv("KEPT", "kept")
	where := []string{"--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state")}
	waggle := func(args ...string) (out string, code int) {
		cmd := exec.Command(binary(t), append(args, where...)...)
		cmd.Dir = dir
		b, _ := cmd.CombinedOutput()
		return string(b), cmd.ProcessState.ExitCode()
	}
	take := func(args ...string) *terminal {
		return onTerminal(t, dir, append([]string{"take"}, args...)...)
	}
	state := func() string { out, _ := waggle("status", "--json"); return out }
	run := onTerminal(t, dir, "run", "w.yaml")
	testenv.Eventually(t, "a session", func() bool { return strings.Contains(state(), `"id": "s1"`) }, run.text, state)

	if out, code := waggle("take", "bob"); code != 2 || !strings.Contains(out, "there is none") {
		t.Errorf("without a terminal: %d\n%s", code, out)
	}
	if out, code := waggle("take", "bob", "--json"); code != 2 || !strings.Contains(out, "has no --json") {
		t.Errorf("with --json: %d\n%s", code, out)
	}
	eve := take("eve")
	if code := eve.exit(); code != 6 || !strings.Contains(eve.text(), "its agent is exec") {
		t.Errorf("an agent without a session: %d\n%s", code, eve.text())
	}

	// A worker that does not look lets nothing go, and nothing is taken.
	var now struct {
		Members []struct {
			Name string `json:"name"`
			PID  int    `json:"pid"`
		} `json:"members"`
	}
	if err := json.Unmarshal([]byte(state()), &now); err != nil || len(now.Members) != 2 || now.Members[0].Name != "bob" {
		t.Fatalf("%v: %+v", err, now)
	}
	signals := func(s syscall.Signal) {
		testenv.Must(t, syscall.Kill(now.Members[0].PID, s))
	}
	signals(syscall.SIGSTOP)
	none := take("bob")
	testenv.Eventually(t, "it is wanted", func() bool {
		out, _ := waggle("log", "--kind", "borrowed")
		return strings.Contains(out, "takes the session of bob")
	}, none.text)
	none.press("\x03")
	if code := none.exit(); code == 0 || strings.Contains(none.text(), "gates and records nothing") {
		t.Errorf("given up: %d\n%s", code, none.text())
	}
	if out, _ := waggle("log", "--kind", "returned"); !strings.Contains(out, "bob has its session back") {
		t.Errorf("given up, and not returned:\n%s", out)
	}
	signals(syscall.SIGCONT)

	one := take("bob", "-q")
	one.wait("waggle gates and records nothing of it")
	one.wait("client --resume s1 in " + dir + " as /kept")
	testenv.Eventually(t, "it is taken", func() bool { return strings.Contains(state(), `"state": "taken"`) }, state)
	two := take("bob")
	if code := two.exit(); code != 8 || !strings.Contains(two.text(), "is taken by process") {
		t.Errorf("a second one: %d\n%s", code, two.text())
	}
	if out, code := waggle("send", "bob", "for later"); code != 0 {
		t.Errorf("send: %d\n%s", code, out)
	}
	if got := strings.Count(read("prompts"), "\n"); got != 1 {
		t.Errorf("%d prompts:\n%s", got, read("prompts"))
	}
	_ = one.cmd.Process.Kill()
	again := func(n int) func() bool { return func() bool { return strings.Count(read("prompts"), "\n") == n } }
	testenv.Eventually(t, "it goes on", again(2), state)

	three := take("bob")
	three.wait("client --resume s1")
	testenv.Must(t, os.Remove(filepath.Join(dir, "hold")))
	three.press(binary(t) + " stop bob " + strings.Join(where, " ") + "; command -v setsid >/dev/null || echo inside >orphan; (setsid " + binary(t) + " stop bob " + strings.Join(where, " ") + " >orphan 2>&1 &); i=0; until grep -q inside orphan || test $i = 200; do i=$((i+1)); sleep 0.1; done; cat orphan; echo b''ye\n")
	three.wait("bye")
	if n := strings.Count(three.text(), "was called from inside member bob"); n < 2 && !strings.Contains(three.text(), "\ninside") {
		t.Errorf("what runs below the client acts as the operator:\n%s", three.text())
	}
	if code := three.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if code := run.exit(); code != 0 {
		t.Errorf("exit %d:\n%s", code, run.text())
	}
	prompts := strings.Split(strings.TrimSpace(read("prompts")), "\n")
	for i, line := range prompts {
		task, given := strings.Contains(line, "do it"), strings.Contains(line, "has given it back")
		if i < 3 && (!task || given != (i > 0)) || i >= 3 && !strings.Contains(line, "for later") {
			t.Errorf("prompt %d: %s", i, line)
		}
	}
	argv := strings.Split(strings.TrimSpace(read("argv")), "\n")
	for i, line := range argv {
		if resumes := strings.Contains(line, "--resume s1"); resumes != (i > 0) {
			t.Errorf("client %d: %s", i, line)
		}
	}
	if len(prompts) < 3 || len(argv) != 3 {
		t.Errorf("%d prompts, %d clients", len(prompts), len(argv))
	}
}
