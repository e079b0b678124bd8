//go:build unix

package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
)

// inTmux is a user in a tmux of their own.
type inTmux struct {
	t            *testing.T
	dir, socket  string
	root, state  string
	before, opts string
	pane         string // where the person is
}

// paneLook is the format of everything of the server that a user would see.
const paneLook = "#{session_name} #{window_index} #{pane_id} #{pane_width}x#{pane_height} #{pane_dead}"

// newTmux is a user in a tmux of their own, in a directory with a waggle.yaml. It skips what is not the full run.
func newTmux(t *testing.T, file string) *inTmux {
	t.Helper()
	testenv.Long(t)
	testenv.Require(t, "tmux")
	dir := fmt.Sprintf("/tmp/wt%010d", rand.Uint32()) // short: sockets lie in it; of one length, for screens
	err := os.Mkdir(dir, 0o700)
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir); os.RemoveAll(dir + "-trees") })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	u := &inTmux{t: t, pane: "%0", dir: dir, socket: filepath.Join(dir, "t"), root: filepath.Join(dir, "root"), state: filepath.Join(dir, "s")}
	testenv.Must(t, os.Mkdir(u.root, 0o700))
	writeFile(t, filepath.Join(dir, "waggle.yaml"), file)
	bin := filepath.Dir(binary(t))
	cmd := exec.Command(testenv.Require(t, "tmux"), "-f", os.DevNull, "-S", u.socket, "new-session", "-d", "-s", "mine", "-x", "200", "-y", "50", "env", "ENV=", "PS1=> ", "sh")
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMUX") }),
		"TERM=xterm-256color", "SHELL=/bin/sh", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"WAGGLE_ROOT="+u.root, "WAGGLE_STATE="+u.state, "WAGGLE_WORKTREES="+dir+"-trees", "XDG_RUNTIME_DIR=", "WAGGLE_CONFIG=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = tmuxAt(t, u.socket, "kill-server") })
	u.before, u.opts = u.tmux("list-panes", "-a", "-F", paneLook), u.options()
	return u
}

func (u *inTmux) tmux(args ...string) string {
	u.t.Helper()
	out, err := exec.Command(testenv.Require(u.t, "tmux"), append([]string{"-S", u.socket}, args...)...).CombinedOutput()
	if err != nil {
		u.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// says waits until a pane has a text, on however many lines.
func (u *inTmux) says(text string) {
	u.t.Helper()
	u.until("it says "+text, func() bool { return strings.Contains(u.tmux("capture-pane", "-p", "-J", "-t", u.pane), text) })
}

// restored checks that there are the panes that there were before waggle.
func (u *inTmux) restored() {
	u.t.Helper()
	if after := u.tmux("list-panes", "-a", "-F", paneLook); after != u.before {
		u.t.Errorf("panes after the end:\n%s\nbefore:\n%s", after, u.before)
	}
}

// options are the options and the environment that the user or another program has set.
func (u *inTmux) options() string {
	u.t.Helper()
	return u.tmux("show-options", "-w", "-t", "mine:") + u.tmux("show-options", "-t", "mine") + u.tmux("show-environment", "-t", "mine")
}

// types writes a line into the first pane, as a user does.
func (u *inTmux) types(line string) { u.key(line, "Enter") }

// key presses keys, by the arguments of tmux.
func (u *inTmux) key(args ...string) { u.tmux(append([]string{"send-keys", "-t", u.pane}, args...)...) }

// until waits until cond holds.
func (u *inTmux) until(what string, cond func() bool, shown ...func() string) {
	u.t.Helper()
	testenv.Eventually(u.t, what, cond, append(shown, func() string { return u.tmux("list-panes", "-a", "-F", paneLook) }, u.screen)...)
}

// panes lists the panes that waggle has made, with titles, colours and whether the process runs.
func (u *inTmux) panes() []string {
	u.t.Helper()
	var list []string
	for _, line := range strings.Split(strings.TrimSpace(u.tmux("list-panes", "-a", "-F", "#{pane_id} #{@waggle-name} #{@waggle-color} #{pane_dead}")), "\n") {
		if f := strings.Fields(line); len(f) == 4 {
			list = append(list, fmt.Sprintf("%s %s %s", f[1], f[2], f[3]))
		}
	}
	return list
}

// waggle runs a command beside, as from another window.
func (u *inTmux) waggle(args ...string) (string, int) {
	u.t.Helper()
	cmd := exec.CommandContext(u.t.Context(), binary(u.t), append([]string{"--root", u.root, "--state", u.state}, args...)...)
	cmd.Dir = u.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TMUX") }), "WAGGLE_WORKTREES="+u.dir+"-trees", "XDG_RUNTIME_DIR=")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		u.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

const fourWorkers = `team: four
sandbox: {mode: off}
policy: {allow: ["Bash(echo:*)"]}
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec}
  - {name: cyd, agent: exec}
  - {name: dan, agent: script, steps: [{say: hello}]}
tasks:
  - {subject: one, owner: ann, instructions: "echo one"}
`

// TestUpInTmux runs a team in a user's own tmux: four panes with titles and colours beside
// the one that leads. stop closes exactly one pane. A pane closed by hand is reported and
// its member comes back. detach leaves the members running. After down the tmux server is
// as it was.
func TestUpInTmux(t *testing.T) {
	t.Parallel()
	u := newTmux(t, fourWorkers)
	u.types("waggle up waggle.yaml")
	u.says("is up: 4 ready")
	if got, want := u.panes(), []string{"ann blue 0", "bob green 0", "cyd yellow 0", "dan magenta 0"}; !slices.Equal(got, want) {
		t.Errorf("panes %q, want %q", got, want)
	}
	if format := u.tmux("show-options", "-w", "-t", "mine:", "pane-border-status") + u.tmux("show-options", "-w", "-t", "mine:", "pane-border-format"); !strings.Contains(format, "top") || !strings.Contains(format, "@waggle-name") {
		t.Errorf("titles are not shown: %s", format)
	}
	u.until("the panes show what their members do", func() bool {
		states := strings.Split(u.tmux("list-panes", "-a", "-F", "#{@waggle-name}: #{@waggle-state}"), "\n")
		return slices.Contains(states, "ann: ready") && !slices.Contains(states, "bob: ")
	})
	u.does(0, "stop", "cyd")
	if got, want := u.panes(), []string{"ann blue 0", "bob green 0", "dan magenta 0"}; !slices.Equal(got, want) {
		t.Errorf("after stop: %q, want %q", got, want)
	}

	var closed string
	for _, line := range strings.Split(u.tmux("list-panes", "-a", "-F", "#{pane_id} #{@waggle-name}"), "\n") {
		if id, name, _ := strings.Cut(line, " "); name == "bob" {
			closed = id
		}
	}
	u.tmux("kill-pane", "-t", closed)
	u.says("bob closed somebody closed its pane")
	u.until("back", func() bool { return slices.Contains(u.panes(), "bob green 0") })

	// One that ends by itself comes back in another pane, and nobody has closed the first.
	was := u.status().Members[0]
	testenv.Must(t, syscall.Kill(was.PID, syscall.SIGINT))
	u.until("ann is back", func() bool {
		m := u.status().Members[0]
		return m.PID != was.PID && m.Ready != nil && len(u.panes()) == 3 && slices.Contains(u.panes(), "ann blue 0")
	})
	if screen := u.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "%0"); strings.Contains(screen, "ann closed") || strings.Count(screen, "somebody closed its pane") != 1 {
		t.Errorf("an end by itself is reported as a closed pane:\n%s", screen)
	}

	u.does(0, "detach")
	u.says("detached: the members go on")
	out, code := u.waggle("status", "--json")
	var st view.StatusDocument
	if err := testenv.Decode([]byte(out), &st); err != nil || code != 0 || !st.Leader.Led {
		t.Errorf("after detach: %d %v\n%s", code, err, out)
	}
	if got := u.panes(); len(got) != 3 {
		t.Errorf("after detach: %q", got)
	}
	u.does(0, "down")
	u.restored()
	if after := u.options(); after != u.opts {
		t.Errorf("options after down:\n%s\nbefore:\n%s", after, u.opts)
	}
}

// TestAttachInTmux: attach shows a member in a pane of the same tmux, in the size of that pane, without
// passing keys, so that Ctrl-C ends nothing; it says how to type and how to leave. With --type the pane
// itself is chosen.
func TestAttachInTmux(t *testing.T) {
	t.Parallel()
	u := newTmux(t, fourWorkers)
	u.types("waggle up waggle.yaml --detach")
	u.until("up", func() bool { return strings.Count(u.screen(), "waits for work") == 4 })
	ann := u.status().Members[0]
	size := func() string { // of the member's own terminal, which the pane shows
		out, err := exec.Command("sh", "-c", fmt.Sprintf("stty size < /proc/%d/fd/0", ann.PID)).CombinedOutput()
		if err != nil {
			t.Skipf("%v: %s", err, out)
		}
		return string(out)
	}
	before := size()
	u.tmux("new-window", "-d", "-t", "mine", "-n", "look", "-c", u.dir, "env", "ENV=", "PS1=> ", "sh")
	in := func(keys ...string) { u.tmux(append([]string{"send-keys", "-t", "mine:look"}, keys...)...) }
	screen := func() string { return u.tmux("capture-pane", "-p", "-J", "-t", "mine:look") }
	in("waggle attach ann", "Enter")
	u.until("it looks", func() bool {
		return strings.Contains(screen(), "attached to ann; Ctrl-] leaves it; your keys do not reach it")
	}, screen)
	in("C-c")
	u.until("it says how", func() bool { return strings.Contains(screen(), "waggle attach ann --type passes them") }, screen)
	if now := size(); now != before {
		t.Errorf("the look has made it %s, and its pane is %s", now, before)
	}
	in("C-c", "C-]")
	u.until("it is left", func() bool { return strings.Contains(screen(), "left ann, which goes on") }, screen)
	if now := u.status().Members[0]; now.PID != ann.PID || size() != before {
		t.Errorf("%+v, %s; before %+v, %s", now, size(), ann, before)
	}
	in("waggle attach ann --type", "Enter")
	u.until("the pane is chosen", func() bool {
		return strings.Contains(u.tmux("list-panes", "-a", "-F", "#{window_active}#{pane_active} #{@waggle-name}"), "11 ann")
	})
	u.does(0, "down")
}

// status is the team's, asked beside.
func (u *inTmux) status() (st view.StatusDocument) {
	u.t.Helper()
	out, code := u.waggle("status", "--json")
	if err := testenv.Decode([]byte(out), &st); err != nil || code != 0 {
		u.t.Fatalf("status: %d, %v\n%s", code, err, out)
	}
	return st
}

// TestInterruptTwice: Ctrl-C asks the members to end, a second one does not wait.
func TestInterruptTwice(t *testing.T) {
	t.Parallel()
	u := newTmux(t, strings.Replace(fourWorkers, `"echo one"`, `"touch a; sleep 600"`, 1))
	u.types("waggle up waggle.yaml --grace 10m")
	u.says("allow it?")
	u.key("C-c")
	u.says("are asked to end, for up to 10m0s")
	u.key("C-c")
	u.says("team four has ended")
	u.restored()
}

// TestWindowsInTmux: backend tmux-window gives each member a window of its own.
func TestWindowsInTmux(t *testing.T) {
	t.Parallel()
	u := newTmux(t, "team: win\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec, backend: tmux-window}, {name: bob, agent: exec, backend: tmux-window}]\n")
	u.types("waggle up waggle.yaml")
	u.says("is up: 2 ready")
	if got, want := u.tmux("list-windows", "-a", "-F", "#{window_name} #{window_panes}"), "ann 1\nbob 1\n"; !strings.HasSuffix(got, want) {
		t.Errorf("windows %q, want %q at the end", got, want)
	}
	u.does(0, "down")
	u.restored()
}
