// Package spawntest is the suite that every spawn.Backend passes, and the small
// program it runs: the test binary itself, turned into a process that ends at
// once, waits, ignores signals or has children.
//
//	func TestMain(m *testing.M) {
//		spawntest.Main()
//		os.Exit(m.Run())
//	}
//
//	func TestBackend(t *testing.T) { spawntest.TestBackend(t, mypkg.Backend()) }
package spawntest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// Mode is what the helper program does.
type Mode string

const (
	ModeExit     Mode = "exit"     // CODE: exits at once
	ModeReport   Mode = "report"   // writes a Report to stdout and a word to stderr
	ModeBlock    Mode = "block"    // says ready and waits to be ended
	ModeStubborn Mode = "stubborn" // ignores SIGTERM, says ready and waits
	ModePolite   Mode = "polite"   // exits with 3 on SIGTERM, saying bye
	ModeFlood    Mode = "flood"    // N: writes N bytes
	ModeCat      Mode = "cat"      // copies stdin to stdout
	ModeFollow   Mode = "follow"   // FILE: says ready, then "seen" once FILE exists, and waits
	ModeParent   Mode = "parent"   // MODE[,FLAG...] ARGS: starts a helper below it, see runParent
)

const modeEnv = "WAGGLE_SPAWNTEST"

// lifetime ends a helper that its test has lost. It is longer than every wait of a test, so that no
// test takes this end for the one that it waits for.
const lifetime = 3 * time.Minute

// Report is what ModeReport writes, as JSON.
type Report struct {
	Args, Env []string
	Dir       string
}

// Main is the first call of a TestMain. It returns in the test itself and never
// in a helper.
func Main() {
	if mode := os.Getenv(modeEnv); mode != "" {
		syscall.Exit(run(Mode(mode), os.Args[1:])) // os.Exit of a race build takes a second
	}
}

// Helper returns how to start the helper program.
func Helper(t testing.TB, mode Mode, args ...string) (argv, env []string) {
	t.Helper()
	exe, err := os.Executable()
	testenv.Must(t, err)
	return append([]string{exe}, args...), []string{modeEnv + "=" + string(mode)}
}

// Spec returns a spec that runs the helper in a directory of the test.
func Spec(t testing.TB, mode Mode, args ...string) spawn.Spec {
	t.Helper()
	dir := t.TempDir()
	argv, env := Helper(t, mode, args...)
	return spawn.Spec{Argv: argv, Dir: dir, Env: env, Log: filepath.Join(dir, "output.log"), Title: string(mode)}
}

// Ready waits until n helpers have written "ready" to a log, and returns their
// pids by mode.
func Ready(t testing.TB, log string, n int) map[Mode]int {
	t.Helper()
	var found map[Mode]int
	Await(t, fmt.Sprintf("%d helpers ready in %s", n, log), func() bool {
		b, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		found = ReadyIn(b)
		return len(found) >= n
	})
	return found
}

// ReadyIn returns the pids of the helpers that are ready, by mode.
func ReadyIn(output []byte) map[Mode]int {
	found := map[Mode]int{}
	for line := range bytes.Lines(output) {
		var mode Mode
		var pid int
		if n, _ := fmt.Sscanf(string(line), "ready %s %d\n", &mode, &pid); n == 2 {
			found[mode] = pid
		}
	}
	return found
}

// Await polls until cond holds and fails the test after a minute.
func Await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	testenv.Eventually(t, what, cond)
}

func run(mode Mode, args []string) int {
	switch mode {
	case ModeExit:
		code, err := strconv.Atoi(args[0])
		if err != nil {
			return fail(err)
		}
		return code
	case ModeReport:
		return report(args)
	case ModeBlock:
		return block(mode)
	case ModeStubborn:
		signal.Ignore(syscall.SIGTERM)
		return block(mode)
	case ModePolite:
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Printf("ready %s %d\n", mode, os.Getpid())
		select {
		case <-term:
			fmt.Println("bye")
			return 3
		case <-time.After(lifetime):
			return 1
		}
	case ModeFlood:
		return flood(args[0])
	case ModeCat:
		if _, err := os.Stdin.WriteTo(os.Stdout); err != nil {
			return fail(err)
		}
		return 0
	case ModeFollow:
		return follow(args[0])
	case ModeParent:
		return runParent(args)
	}
	return fail(fmt.Errorf("no mode %q", mode))
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "spawntest:", err)
	return 99
}

func report(args []string) int {
	dir, err := os.Getwd()
	if err != nil {
		return fail(err)
	}
	env := os.Environ()
	slices.Sort(env)
	fmt.Fprintln(os.Stderr, "on stderr")
	if err := json.NewEncoder(os.Stdout).Encode(Report{Args: args, Env: env, Dir: dir}); err != nil {
		return fail(err)
	}
	return 0
}

func block(mode Mode) int {
	fmt.Printf("ready %s %d\n", mode, os.Getpid())
	time.Sleep(lifetime)
	return 1
}

func flood(size string) int {
	n, err := strconv.Atoi(size)
	if err != nil {
		return fail(err)
	}
	chunk := []byte(strings.Repeat("x", 4095) + "\n")
	for n > 0 {
		m, err := os.Stdout.Write(chunk[:min(n, len(chunk))])
		if err != nil {
			return fail(err)
		}
		n -= m
	}
	return 0
}

func follow(file string) int {
	fmt.Printf("ready %s %d\n", ModeFollow, os.Getpid())
	for end := time.Now().Add(lifetime); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			fmt.Println("seen")
			time.Sleep(lifetime)
		} else if !os.IsNotExist(err) {
			return fail(err)
		}
	}
	return 1
}

// runParent starts a helper below it. Its first argument is the mode of the child
// and flags with commas between: setsid (the child leaves the group), silent (it
// has no output), clean (it has no other environment), stay (the parent waits
// too; else it exits with 0), stubborn (and ignores SIGTERM, as the child does
// then).
func runParent(args []string) int {
	mode, flags, _ := strings.Cut(args[0], ",")
	has := func(flag string) bool { return slices.Contains(strings.Split(flags, ","), flag) }
	if has("stubborn") {
		signal.Ignore(syscall.SIGTERM)
	}
	child := exec.Command(os.Args[0], args[1:]...)
	child.Env = append(os.Environ(), modeEnv+"="+mode)
	if has("clean") {
		child.Env = []string{modeEnv + "=" + mode}
	}
	if !has("silent") {
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
	}
	if has("setsid") {
		child.SysProcAttr = newSession()
	}
	if err := child.Start(); err != nil {
		return fail(err)
	}
	if has("silent") {
		fmt.Printf("ready %s %d\n", mode, child.Process.Pid)
	}
	if !has("stay") {
		return 0
	}
	go func() { _ = child.Wait() }()
	return block(ModeParent)
}
