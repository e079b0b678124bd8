//go:build linux

package confine_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/internal/confine"
	"waggle/internal/sandbox/proxy"
	"waggle/internal/test/testenv"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// resident is the settings of a member whose agent has a program, a script of this text.
func resident(t *testing.T, script string) worker.Confining {
	t.Helper()
	require(t)
	dir := t.TempDir()
	c := worker.Confining{Want: required, Name: "ann", Tree: filepath.Join(dir, "tree"), Own: filepath.Join(dir, "own"), Dir: filepath.Join(dir, "kit"),
		Environ: []string{"PATH=/usr/bin:/bin", "ANTHROPIC_API_KEY=key of the user", "HOME=" + dir}, Now: time.Now}
	program := filepath.Join(dir, "bin", "agent")
	for _, d := range []string{c.Tree, filepath.Dir(program)} {
		testenv.Must(t, os.Mkdir(d, 0o755))
	}
	c.Needs = &agent.Needs{Readable: []string{program}, Variables: []string{"ANTHROPIC_API_KEY"}, Start: []string{program, "--version"},
		Settings: []string{filepath.Join(c.Tree, ".claude")}}
	programIs(t, c, script)
	return c
}

// programIs writes the program.
func programIs(t *testing.T, c worker.Confining, script string) {
	t.Helper()
	testenv.Must(t, testenv.Executable(c.Needs.Start[0], []byte("#!/bin/sh\n"+script)))
}

func confining(t *testing.T, c worker.Confining) (worker.Confinement, error) {
	t.Helper()
	m, err := confine.WithParts(plainKit, proxy.Options{})(t.Context(), c)
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

// onlyOutside is a script that fails in a sandbox.
const onlyOutside = `[ "$WAGGLE_SANDBOX" = 1 ] || exit 0
echo no such library >&2
exit 3
`

// A program that does not start in the sandbox runs outside, and its shell commands inside, without
// the variables that only the program gets.
func TestOutside(t *testing.T) {
	t.Parallel()
	c := resident(t, onlyOutside)
	m, err := confining(t, c)
	testenv.Must(t, err)
	held := m.Held()
	if held.Level != record.HeldEnforced || !held.Shell || !strings.Contains(held.Outside, "exit status 3: no such library") {
		t.Errorf("held %+v", held)
	}
	shell := m.Shell()
	if m.Box() != nil || shell == nil {
		t.Fatalf("box %v, shell %v", m.Box(), shell)
	}
	also := filepath.Join(c.Tree, "also")
	testenv.Must(t, os.Mkdir(also, 0o755))
	outside := filepath.Join(filepath.Dir(c.Tree), "outside")
	out, exit := prepared(t, shell, c, `echo mine >mine; cat mine; echo x >`+outside+`; echo x >.claude/settings.json; echo x >also/x; echo key=$ANTHROPIC_API_KEY; exit 5`, also)
	if exit == nil || exit.Code != 5 || !strings.Contains(out, "mine\n") || !strings.Contains(out, "key=\n") || strings.Count(out, "Read-only file system") != 2 {
		t.Errorf("%v %s", exit, out)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside")
	}
}

// prepared runs a shell command of a program that runs outside.
func prepared(t *testing.T, shell *agent.Shell, c worker.Confining, script string, guarded ...string) (string, *spawn.Exit) {
	t.Helper()
	p, err := shell.Prepare(spawn.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: c.Tree, Env: c.Environ}, guarded)
	testenv.Must(t, err)
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), p.Argv[0], p.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Tree, p.Env, &out, &out
	runErr := cmd.Run()
	exit, err := p.Close()
	if err != nil {
		t.Fatalf("%v %v %s", err, runErr, out.String())
	}
	return out.String(), exit
}

// A program that starts inside runs there, and so does one that does not start anywhere.
func TestNotOutside(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"starts": "exit 0\n", "starts nowhere": "exit 1\n"} {
		c := resident(t, script)
		m, err := confining(t, c)
		testenv.Must(t, err)
		if held := m.Held(); held.Shell || m.Box() == nil || m.Shell() != nil {
			t.Errorf("%s: held %+v, box %v, shell %v", name, held, m.Box(), m.Shell())
		}
	}
}

// A program that the member's commands can change does not run outside: not if it fails to start
// inside, because the commands could cause that, and not in a pane.
func TestOutsideOfItsOwn(t *testing.T) {
	t.Parallel()
	c := resident(t, "")
	c.Needs.Start[0] = filepath.Join(c.Tree, "agent")
	programIs(t, c, onlyOutside)
	m, err := confining(t, c)
	testenv.Must(t, err)
	if m.Held().Shell || m.Box() == nil {
		t.Errorf("held %+v", m.Held())
	}
	c.Outside = "it is shown in a pane"
	if _, err := confining(t, c); err == nil || !strings.Contains(err.Error(), "can change it") {
		t.Errorf("it says %v", err)
	}
}

// The program of a member in a pane is not tried, and runs outside.
func TestOutsideInPane(t *testing.T) {
	t.Parallel()
	c := resident(t, "touch "+t.TempDir()+"/ran; exit 1\n")
	c.Outside = "it is shown in a pane"
	m, err := confining(t, c)
	testenv.Must(t, err)
	if held := m.Held(); !held.Shell || held.Outside != c.Outside || m.Shell() == nil || m.Box() != nil {
		t.Errorf("held %+v, box %v, shell %v", held, m.Box(), m.Shell())
	}
}

// A link at the path of a program's settings is refused: the member's commands could have left it
// there.
func TestLinkedSettings(t *testing.T) {
	t.Parallel()
	c := resident(t, "exit 0\n")
	testenv.Must(t, os.Symlink(t.TempDir(), filepath.Join(c.Tree, ".claude")))
	if _, err := confining(t, c); err == nil || !strings.Contains(err.Error(), ".claude") {
		t.Errorf("it says %v", err)
	}
}

// above is a directory that a sandbox does not replace, as it does /tmp and /var/tmp.
func above(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 {
		return "/opt"
	}
	return testenv.Home(t)
}

// The sessions and logins that a Claude Code client keeps are secret from other members, below the
// home directory and below CLAUDE_CONFIG_DIR.
func TestSessionsAreSecret(t *testing.T) {
	t.Parallel()
	names := strings.Fields(".claude.json .credentials.json sessions/1.json backups/b file-history/f shell-snapshots/s session-env/e projects/p")
	for _, where := range []string{"home", "elsewhere"} {
		c := resident(t, "")
		c.Needs = nil
		home, err := os.MkdirTemp(above(t), "wls")
		testenv.Must(t, err)
		t.Cleanup(func() { os.RemoveAll(home) })
		config := filepath.Join(home, ".claude")
		c.Environ = append(c.Environ, "HOME="+home)
		if where == "elsewhere" {
			config = filepath.Join(home, "config")
			c.Environ = append(c.Environ, "CLAUDE_CONFIG_DIR="+config)
		}
		for _, name := range names {
			path := filepath.Join(config, filepath.FromSlash(name))
			testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			testenv.Must(t, os.WriteFile(path, []byte("words of "+name), 0o600))
		}
		m, err := confining(t, c)
		testenv.Must(t, err)
		var out testenv.Buffer
		if _, err := m.Run(t.Context(), spawn.Command{Argv: []string{"sh", "-c", "cat " + config + "/* " + config + "/.c* " + config + "/*/*"}, Dir: c.Tree, Env: c.Environ, Output: &out}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "words of") {
			t.Errorf("%s: another member reads %s", where, out.String())
		}
	}
}
