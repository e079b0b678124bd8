//go:build unix

package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// shellBox is a sandbox that runs each command as the test says.
type shellBox struct {
	mu      sync.Mutex
	asked   []spawn.Command
	guarded [][]string
	ended   chan struct{}
	fails   error
	argv    []string // what runs; nil: the command as it is
	note    string
	output  string // of which the note is
}

func (b *shellBox) prepare(c spawn.Command, guarded []string) (agent.Prepared, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked, b.guarded = append(b.asked, c), append(b.guarded, guarded)
	argv := c.Argv
	if b.argv != nil {
		argv = b.argv
	}
	return agent.Prepared{Argv: argv, Env: append(c.Env, "INSIDE=1"), End: func() error { b.ended <- struct{}{}; return nil },
		Close: func() (*spawn.Exit, error) { return nil, nil }, Note: b.noted}, b.fails
}

func (b *shellBox) noted(_ spawn.Exit, output string) string {
	b.output = output
	return b.note
}

// nowhere is a program that is not there.
const nowhere = "/no/waggle"

// listenShells serves a prefix for a client in work, whose hook program is nowhere, until the test ends.
func listenShells(t *testing.T, b *shellBox, work string) (*claude.Shells, string) {
	t.Helper()
	b.ended = make(chan struct{}, 4)
	dir, err := os.MkdirTemp("", "wsh")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s, err := claude.ListenShells(agent.Shell{Tmp: "/tmp", Settings: []string{filepath.Join(work, ".claude")}, Prepare: b.prepare}, dir, work, nowhere)
	testenv.Must(t, err)
	t.Cleanup(func() { claude.CloseShells(s) })
	return s, filepath.Join(dir, "x")
}

// A prefix that cannot be served is none: one without its listener could not be closed.
func TestShellsUnserved(t *testing.T) {
	work, dir := t.TempDir(), t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)) // where the socket would be
	s, err := claude.ListenShells(agent.Shell{Settings: []string{filepath.Join(work, ".claude")}}, dir, work, nowhere)
	if s != nil || err == nil {
		t.Errorf("%v, %v", s, err)
	}
}

// A shell command runs as it is prepared, with its exit code; a hook of the private settings runs as it
// is. A command that cannot be prepared does not run.
func TestShells(t *testing.T) {
	work, b := t.TempDir(), &shellBox{}
	t.Chdir(work)
	s, socket := listenShells(t, b, work)
	run := func(command string) (int, error) {
		return claude.Prefixed(t.Context(), socket, command, append(os.Environ(), "SHELL=/bin/sh", claude.SecondVar+"=secret", "MARK=1"))
	}
	if code, err := run(`[ "$INSIDE$MARK" = 11 ] && pwd >here && exit 7`); code != 7 || err != nil {
		t.Errorf("%d %v", code, err)
	}
	if data, err := os.ReadFile("here"); err != nil || strings.TrimSpace(string(data)) != work {
		t.Errorf("it ran in %q, %v", data, err)
	}
	c := b.asked[0]
	if c.Dir != work || !slices.Equal(c.Argv[:2], []string{"/bin/sh", "-c"}) || slices.ContainsFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, claude.SecondVar) }) ||
		!slices.Equal(b.guarded[0], []string{filepath.Join(work, ".mcp.json")}) {
		t.Errorf("asked for %+v, guarded %q", c, b.guarded[0])
	}
	testenv.Must(t, os.WriteFile("stderr", []byte("before\n"), 0o600))
	stderr, err := os.OpenFile("stderr", os.O_APPEND|os.O_WRONLY, 0)
	testenv.Must(t, err)
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	testenv.Must(t, err)
	own, terminal := os.Stdout, os.Stderr // that of the tests may be a file, too
	os.Stdout, os.Stderr, b.note = nothing, stderr, "\n[waggle: no such host]\n"
	_, _ = run("echo mine >&2") // of interest is what it says
	os.Stdout, os.Stderr, b.note, b.asked = own, terminal, "", b.asked[:1]
	if said, err := os.ReadFile("stderr"); err != nil || string(said) != "before\nmine\n\n[waggle: no such host]\n" || b.output != "mine\n\n" {
		t.Errorf("its stderr has %q, %v, and the note is of %q", said, err, b.output)
	}
	hook := denyHook(t, nowhere)
	if code, err := run(hook); code != 2 || err != nil || len(b.asked) != 1 {
		t.Errorf("the hook: %d %v, %d commands were prepared", code, err, len(b.asked))
	}
	if _, _ = run(hook + "; touch past"); len(b.asked) != 2 {
		t.Error("a command that begins as the hook runs outside")
	}
	b.fails = errors.New("no namespaces")
	if code, err := run("touch ran"); code == 0 || err == nil || !strings.Contains(err.Error(), "no namespaces") {
		t.Errorf("%d %v", code, err)
	}
	claude.CloseShells(s)
	if code, err := run("touch ran"); code == 0 || err == nil {
		t.Errorf("%d %v", code, err)
	}
	if _, err := os.Stat("ran"); err == nil {
		t.Error("it ran without a sandbox")
	}
}

// A command whose worker goes away is ended.
func TestShellsGone(t *testing.T) {
	work, b := t.TempDir(), &shellBox{}
	t.Chdir(work)
	s, socket := listenShells(t, b, work)
	fifo := filepath.Join(work, "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %s", out)
	}
	type end struct {
		code int
		err  error
	}
	done := make(chan end, 1)
	go func() {
		code, err := claude.Prefixed(context.Background(), socket, "echo begun >fifo; exec sleep 600", os.Environ())
		done <- end{code, err}
	}()
	if data, err := os.ReadFile(fifo); err != nil || string(data) != "begun\n" {
		t.Fatalf("%q %v", data, err)
	}
	claude.CloseShells(s)
	if e := <-done; e.code == 0 || e.err == nil {
		t.Errorf("%+v", e)
	}
	<-b.ended
}

// denyHook is the text of the hook that denies, as the client reads it in its private settings.
func denyHook(t *testing.T, program string) string {
	t.Helper()
	data, err := claude.PaneSettings(program, "", claude.OldestInPane)
	testenv.Must(t, err)
	var s struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	testenv.Must(t, json.Unmarshal(data, &s))
	return s.Hooks["PreToolUse"][0].Hooks[0].Command
}

// The prefix fails closed: without its program nothing runs, and a deny-only hook blocks its call.
func TestPrefix(t *testing.T) {
	work := t.TempDir()
	s, _ := listenShells(t, &shellBox{}, work)
	for text, want := range map[string]int{"touch " + work + "/ran": 127, denyHook(t, nowhere): 2} {
		err := exec.Command(s.Prefix(), text).Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != want {
			t.Errorf("%q: %v, want exit %d", text, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "ran")); err == nil {
		t.Error("it ran without a sandbox")
	}
}

// A client is refused its shell commands until it has started something by the prefix.
func TestPrefixIgnored(t *testing.T) {
	s, socket := listenShells(t, &shellBox{}, t.TempDir())
	refused := func() (tools []string) {
		for _, tool := range []string{"Bash", "Monitor", "PowerShell", "Read"} {
			if claude.RefuseShell(s, tool) != "" {
				tools = append(tools, tool)
			}
		}
		return tools
	}
	if got := refused(); !slices.Equal(got, []string{"Bash", "Monitor", "PowerShell"}) {
		t.Errorf("before, these are refused: %q", got)
	}
	if code, err := claude.Prefixed(t.Context(), socket, "true", os.Environ()); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if got := refused(); got != nil {
		t.Errorf("afterwards, these are refused: %q", got)
	}
}

// A task in a directory whose settings the member's commands could have written is refused; elsewhere
// they are protected from then on.
func TestShellSettings(t *testing.T) {
	tree := t.TempDir()
	dirs := map[string]func(dir string) error{
		"plain": func(string) error { return nil },
		"written": func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, ".claude"), 0o755), os.WriteFile(filepath.Join(dir, ".claude", "settings.local.json"), nil, 0o600))
		},
		"linked": func(dir string) error { return os.Symlink(t.TempDir(), filepath.Join(dir, ".claude")) },
	}
	for name, prepare := range dirs {
		dir := filepath.Join(tree, name)
		testenv.Must(t, errors.Join(os.Mkdir(dir, 0o755), prepare(dir)))
		temp := t.TempDir()
		s, err := claude.ListenShells(agent.Shell{Settings: []string{filepath.Join(tree, ".claude")}}, temp, dir, nowhere)
		if (err == nil) != (name == "plain") {
			t.Errorf("%s: %v", name, err)
		}
		claude.CloseShells(s)
	}
}
