//go:build unix

package policy_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// fakeRm leaves a mark when it is called with -r and -f. It is a shell script
// without environment variables: some carriers clear the environment.
const fakeRm = `#!/bin/sh
r= f=
for a; do
	case $a in
	--rec*) r=1 ;;
	--f*) f=1 ;;
	--*) ;;
	-*)
		case $a in *[rR]*) r=1 ;; esac
		case $a in *f*) f=1 ;; esac ;;
	esac
done
[ "$r$f" = 11 ] && echo reached >> 'MARK'
exit 0
`

// scratchFiles is what the texts of testdata/deny.txt find around them.
var scratchFiles = map[string]string{
	"f":            "a line\n",
	"bigf":         strings.Repeat("some line of a file that is larger than a buffer\n", 4000),
	"Makefile":     "all:\n\t@:\nrun:\n\t@$(CMD)\n",
	"c/c.c":        "int main(void) { return 0; }\n",
	"page.1":       ".TH PAGE 1\n.SH NAME\npage \\- a page\n",
	"go.mod":       "module example.com/m\n\ngo 1.22\n",
	"main.go":      "package main\n\nfunc main() {}\n",
	"main_test.go": "package main\n\nimport \"testing\"\n\nfunc TestMain(*testing.T) {}\n",
	"package.json": "{\"name\":\"m\",\"version\":\"1.0.0\"}\n",
}

// optional are programs that a machine may lack; a text that names a missing one
// is not proven there.
var optional = regexp.MustCompile(`\b(python3(\.12)?|perl|mawk|git|make|vim?|ed|ex|less|man|gdb|sqlite3|tclsh(8\.6)?|node|npm|npx|go|gcc|cc|tmux|zip|ssh|scp|sftp` +
	`|flock|script|unshare|strace|watch|start-stop-daemon|run-parts|nsenter|setpriv|prlimit|chrt|taskset|ionice|setarch|linux64|setsid|stdbuf|bwrap|capsh|sg|openssl` +
	`|xxd|jq|dash|busybox|tar|base64|rev|ld-linux-x86-64\.so\.2|bash|logger|column|m4|bc` +
	`|java|jshell|prove|valgrind|perf|debconf|dpkg(-\w+)?|msg\w+|update-alternatives|choom|runuser|su|newgrp|chroot|debugfs|wget|curl|iconv|envsubst|gettext|savelog|ptar|pod2man|ip|psql|lesspipe)\b`)

// privileged are programs that only root may use so.
var privileged = regexp.MustCompile(`\b(su|sg|runuser|newgrp|chroot|nsenter|unshare|setpriv|chrt|bwrap|prlimit|perf|valgrind|strace|gdb|ip|start-stop-daemon)\b`)

// TestDenyCorpusReaches proves that each text of the deny corpus runs rm -rf: with
// a fake rm first on PATH it leaves a mark. Without WAGGLE_TEST=soak a sample of the texts is
// run, and none that takes seconds.
func TestDenyCorpusReaches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	env := scratchEnv(t)
	template := t.TempDir()
	for name, text := range scratchFiles {
		writeFile(t, filepath.Join(template, name), text, 0o644)
	}
	// Else the go command leaves a process that writes below HOME when it has ended.
	writeFile(t, filepath.Join(template, ".config", "go", "telemetry", "mode"), "off", 0o644)
	if _, err := exec.LookPath("git"); err == nil {
		run := exec.Command("sh", "-c", "git init -q && git add f && git commit -qm one && echo two >> f && git commit -qam two")
		run.Dir, run.Env = template, env(template)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var corpus []corpusText
	for _, file := range denyCorpora {
		for _, c := range readCorpus(t, file.file) {
			c.group = file.file + "/" + c.group
			corpus = append(corpus, c)
		}
	}
	slow := regexp.MustCompile(`\b(go|npm|npx|sleep)\b`)
	races := regexp.MustCompile(`[<>]\(`) // a process that bash waits for nowhere: such a text may reach it, and does in one of several runs
	first, step := testenv.Sample(t, 40)
	for i := first; i < len(corpus); i += step {
		c := corpus[i]
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			if slow.MatchString(c.text) && !testenv.Soak() {
				t.Skip("slow: proven by make soak")
			}
			if os.Getuid() != 0 && privileged.MatchString(c.text) {
				t.Skip("proven as root only")
			}
			for _, program := range optional.FindAllString(c.text, -1) {
				if _, err := exec.LookPath(program); err != nil && program != "ld-linux-x86-64.so.2" {
					t.Skip("no " + program)
				}
			}
			tries := 1
			if races.MatchString(c.text) {
				tries = 20
			}
			out := ""
			var err error
			reaches := false
			for ; tries > 0 && !reaches; tries-- {
				dir := t.TempDir()
				work, mark := filepath.Join(dir, "work"), filepath.Join(dir, "mark")
				testenv.Must(t, os.CopyFS(work, os.DirFS(template)))
				writeFile(t, filepath.Join(work, "bin", "rm"), strings.ReplaceAll(fakeRm, "MARK", mark), 0o755)
				if out, err = runScratch(work, env(work), c.text); errors.Is(err, exec.ErrNotFound) {
					t.Skip(err)
				}
				_, missed := os.Stat(mark)
				reaches = missed == nil
			}
			if !reaches {
				t.Errorf("line %d does not reach rm -rf (%v): %s\n%s", c.line, err, c.text, out)
			}
		})
	}
}

// scratchEnv returns the environment of a text below a directory: its own bin first, its own home,
// no variable of the person who runs the test.
func scratchEnv(t *testing.T) func(dir string) []string {
	cache := ""
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		cache = strings.TrimSpace(string(out))
	}
	system := os.Getenv("PATH")
	return func(dir string) []string {
		return []string{
			"PATH=" + filepath.Join(dir, "bin") + ":" + system, "HOME=" + dir, "TERM=xterm", "TMPDIR=" + filepath.Dir(dir), "TMUX_TMPDIR=" + dir,
			"GOCACHE=" + cache, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		}
	}
}

// runScratch runs a text and ends everything in its process group.
func runScratch(dir string, env []string, text string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		if killed := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); killed != nil && !errors.Is(killed, syscall.ESRCH) && !errors.Is(killed, syscall.EPERM) {
			return string(out), killed
		}
		// A process that dies ends the call in which it makes a file first: who removes the directory waits for it.
		testenv.WaitFor(5*time.Second, func() bool { return syscall.Kill(-cmd.Process.Pid, 0) != nil })
	}
	return string(out), err
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	testenv.Must(t, testenv.WriteFile(name, []byte(text), mode))
}
