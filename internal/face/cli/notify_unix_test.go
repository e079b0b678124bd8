//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// flags are the windows of the user's session that have a bell flag.
func (u *inTmux) flags() string {
	u.t.Helper()
	return strings.TrimSpace(u.tmux("display-message", "-p", "-t", "mine:", "#{W:#{?window_bell_flag,#{window_index} ,}}"))
}

// flagged waits until these windows have a bell flag.
func (u *inTmux) flagged(want string) {
	u.t.Helper()
	u.until("flags "+want, func() bool { return u.flags() == want }, u.flags)
}

// TestNotifyInTmux: in a tmux of 80x24, whose client shows another window, the person learns that somebody waits: the
// window in which the team was brought up has a flag, the client shows a message, and the desktop a notification.
// Each goes when the request is answered. A screen rings in its own window, a team in the foreground outside of tmux
// on its terminal, and nothing rings after waggle notify off.
func TestNotifyInTmux(t *testing.T) {
	t.Parallel()
	u := newTmux(t, "team: tells\nmembers:\n  - {name: ann, agent: exec, backend: process}\n  - {name: ben, agent: exec, backend: process}\n")
	u.tmux("resize-window", "-t", "mine:0", "-x", "80", "-y", "24")
	u.tmux("set-option", "-u", "-w", "-t", "mine:0", "window-size")
	opts := u.options()
	bin := filepath.Join(u.dir, "bin")
	testenv.Must(t, os.Mkdir(bin, 0o700))
	testenv.Must(t, testenv.Executable(filepath.Join(bin, "notify-send"), []byte("#!/bin/sh\necho \"$@\" >>"+u.dir+"/desktop\necho 7\n")))
	desktop := func() string {
		b, _ := os.ReadFile(filepath.Join(u.dir, "desktop")) // there is none before the first notice
		return string(b)
	}

	// The terminal of the person: a pane of another server, which shows a client of the first.
	far := filepath.Join(u.dir, "far")
	if out, err := tmuxAt(t, far, "-f", os.DevNull, "new-session", "-d", "-x", "80", "-y", "24", "env -u TMUX -u TMUX_PANE tmux -S "+u.socket+" attach -t mine"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = tmuxAt(t, far, "kill-server") })
	u.until("a client", func() bool { return u.tmux("list-clients") != "" })

	u.types("DISPLAY=:9 DBUS_SESSION_BUS_ADDRESS=unix:path=/none PATH=" + bin + ":$PATH waggle up waggle.yaml --detach")
	u.until("up", func() bool {
		out, _ := u.waggle("status", "-v", "--team", "tells")
		return strings.Count(out, "(idle)") == 2
	})
	u.tmux("new-window", "-t", "mine:1", "env ENV= PS1='> ' sh")
	asks := func(owner, what string) {
		t.Helper()
		u.does(0, "task", "add", what, "-i", "touch "+what, "--owner", owner, "--team", "tells")
	}
	allows := func(n int) {
		t.Helper()
		u.until("requests", func() bool {
			out, _ := u.waggle("pending", "--json", "--team", "tells")
			return strings.Count(out, `"handle"`) == n
		})
		for range n {
			if out, code := u.waggle("approve", "perm-", "--team", "tells"); code != 0 && n == 1 {
				t.Fatalf("%d: %s", code, out)
			}
		}
	}
	asks("ann", "one")
	u.flagged("0")
	client := strings.Fields(u.tmux("list-clients", "-F", "#{client_name}"))[0]
	u.until("the client has a message", func() bool { // after the flag
		return strings.Contains(u.tmux("show-messages", "-t", client), "waggle: 1 waits in tells (ann: waggle pending)")
	}, func() string { return u.tmux("show-messages", "-t", client) })
	flag := regexp.MustCompile(`0:\S*!`) // of window 0, in the status line
	u.until("the flag is seen", func() bool { out, _ := tmuxAt(t, far, "capture-pane", "-p"); return flag.MatchString(out) },
		func() string { out, _ := tmuxAt(t, far, "capture-pane", "-p"); return out })
	allows(1)
	u.flagged("")
	u.until("the desktop", func() bool { return strings.Contains(desktop(), "nobody waits in tells") }, desktop)
	if got := desktop(); strings.Count(got, "1 waits in tells") != 1 || strings.Count(got, "\n") != 2 {
		t.Errorf("the desktop was told:\n%s", got)
	}
	if got := u.options(); got != opts {
		t.Errorf("options before:\n%s\nafter:\n%s", opts, got)
	}

	// A screen rings in its own window; the leader, a second later at the earliest, in its.
	u.tmux("new-window", "-t", "mine:2", "waggle top")
	u.until("the screen", func() bool { return strings.Contains(u.tmux("capture-pane", "-p", "-t", "mine:2"), "ann") })
	u.tmux("select-window", "-t", "mine:1")
	asks("ben", "two")
	u.flagged("0 2")
	u.tmux("kill-window", "-t", "mine:2")
	allows(1)
	u.flagged("")

	// Off is off; what was not told is on record as told.
	u.does(0, "notify", "off")
	u.until("the desktop", func() bool { return strings.Count(desktop(), "nobody waits in tells") == 2 }, desktop)
	before := desktop()
	asks("ann", "three")
	u.until("it is passed over", func() bool {
		all, _ := filepath.Glob(filepath.Join(u.state, "teams", "*", "notified.json"))
		b, err := os.ReadFile(strings.Join(all, ""))
		return err == nil && strings.Contains(string(b), "perm-")
	})
	if got := u.flags() + desktop(); got != before {
		t.Errorf("told while it is off: %s", got)
	}
	allows(1)
	u.does(0, "notify", "on")
	u.does(0, "down", "--team", "tells")

	// Outside of tmux, as far as the program knows, the terminal is told.
	writeFile(t, filepath.Join(u.dir, "fore.yaml"), "team: fore\nmembers:\n  - {name: cleo, agent: exec, backend: process}\ntasks:\n  - {subject: asks, owner: cleo, instructions: touch four}\n")
	u.types("cd " + u.dir + "; env -u TMUX -u TMUX_PANE waggle up fore.yaml")
	u.flagged("0")
	if out, code := u.waggle("down", "--team", "fore"); code > 9 {
		t.Fatalf("%d: %s", code, out)
	}
}

// TestNotifySessionInTmux: the hook of a session rings in the session's own pane while it is out of sight, once for two
// requests, and takes the flag back when both are answered.
func TestNotifySessionInTmux(t *testing.T) {
	t.Parallel()
	u := newTmux(t, "")
	for _, dir := range []string{"claude/sessions", "s", "api"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(u.dir, dir), 0o700))
	}
	const session = `printf '{"pid":%d,"procStart":"%s","sessionId":"sess-a","cwd":"/w","name":"api","version":"2.1.329","kind":"interactive","status":"busy"}' $$ $(cut -d' ' -f22 /proc/$$/stat) >claude/sessions/$$.json
for one in one two; do
	printf '{"session_id":"sess-a","cwd":"/w/api","permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"touch '$one'"}}' |
		waggle hook claude PermissionRequest &
done
wait
echo "session "over
`
	writeFile(t, filepath.Join(u.dir, "session.sh"), session)
	waggle := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"--root", u.root, "--state", u.state}, args...)...)
		cmd.Env = append(os.Environ(), "CLAUDE_CONFIG_DIR="+u.dir+"/claude")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	open := func() (ids []string) {
		var d struct{ Pending []struct{ ID string } }
		out, _ := waggle("pending", "--json") // before the first request there is nothing to list
		_ = json.Unmarshal([]byte(out), &d)
		for _, q := range d.Pending {
			ids = append(ids, q.ID)
		}
		return ids
	}
	ask := func() {
		t.Helper()
		u.types("clear; CLAUDE_CONFIG_DIR=" + u.dir + "/claude sh session.sh")
		u.until("two requests", func() bool { return len(open()) == 2 })
	}
	over := func() {
		t.Helper()
		for _, id := range open() {
			if out, err := waggle("approve", id); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		u.until("the session is over", func() bool { return strings.Contains(u.tmux("capture-pane", "-p", "-t", "%0"), "session over") })
	}
	u.tmux("new-window", "-t", "mine:1", "env ENV= PS1='> ' sh")
	u.tmux("set-hook", "-g", "alert-bell", "run-shell 'echo #{window_index} >>"+u.dir+"/rang'")
	ask()
	u.flagged("0")
	over()
	u.flagged("")
	rang, err := os.ReadFile(filepath.Join(u.dir, "rang"))
	if err != nil || string(rang) != "0\n" {
		t.Errorf("for two requests it rang in %q, %v", rang, err)
	}
}
