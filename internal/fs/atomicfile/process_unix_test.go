//go:build unix

package atomicfile_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
)

// TestMain runs the test binary as a child process of a test when the environment asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("WAGGLE_ATOMICFILE_CHILD") != "" {
		os.Exit(child(os.Args[len(os.Args)-5:]))
	}
	testenv.Overlap(3)
	os.Exit(m.Run())
}

// child edits path again and again: args are an action, the step and the round of its time, the path
// and the tier.
func child(args []string) int {
	what, step, path := args[0], args[1], args[3]
	round, _ := strconv.Atoi(args[2])
	tier, _ := strconv.Atoi(args[4])
	if what == "lease" {
		return lease(path)
	}
	n := 0
	o := atomicfile.Options{Tier: atomicfile.Tier(tier), Queue: os.Getenv("WAGGLE_ATOMICFILE_QUEUE"), Deadline: 30 * time.Second, Hook: func(s string) {
		if what == "foreign" && s == "checked" {
			if err := unlockedAppend(path, "foreign"); err != nil {
				panic(err)
			}
		}
		if s != step || n != round {
			return
		}
		switch what {
		case "kill", "foreign":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal comes at its leisure
		case "stop":
			n = -1
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			time.Sleep(50 * time.Millisecond) // real clock: another thread may take the signal
		}
	}}
	if what == "stop" {
		o.Stale = stopStale
	}
	for ; n >= 0 && n <= round; n++ {
		if err := appendLine(path, fmt.Sprintf("ours-%d", n), o); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("acked", max(n, 0))
		if n < 0 {
			break
		}
	}
	return 0
}

const stopStale = 300 * time.Millisecond

func command(what, step string, round int, path string, tier atomicfile.Tier) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(exe, what, step, strconv.Itoa(round), path, strconv.Itoa(int(tier)))
	cmd.Env = append(os.Environ(), "WAGGLE_ATOMICFILE_CHILD=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// crash kills a process at a step of an edit.
func crash(t *testing.T, path, step string) {
	t.Helper()
	out, err := command("kill", step, 0, path, atomicfile.TierAuto).Output()
	if err == nil {
		t.Fatalf("the process lived on: %s", out)
	}
}

// A process that is killed at any step loses no acknowledged change, leaves a whole file, and
// delays no other process.
func TestKilledAtEveryStep(t *testing.T) {
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		for _, step := range atomicfile.Steps(tier) {
			killedAt(t, tier, step, "first\n")
			killedAt(t, tier, step, large)
		}
	})
}

func killedAt(t *testing.T, tier atomicfile.Tier, step, want string) {
	p := newFile(t, want)
	out, err := command("kill", step, 2, p, tier).Output()
	if err == nil {
		t.Fatalf("%s: the process lived on: %s", step, out)
	}
	acked := strings.Count(string(out), "acked")
	start := time.Now()
	must(t, appendLine(p, "next", atomicfile.Options{Tier: tier}))
	testenv.Within(t, step+": the next edit", time.Since(start), time.Second)
	clean(t, p)
	got := content(t, p)
	for i := range acked {
		want += fmt.Sprintf("ours-%d\n", i)
	}
	if got != want+"next\n" && got != want+fmt.Sprintf("ours-%d\nnext\n", acked) {
		t.Errorf("%s: %d acknowledged, file %q", step, acked, got[max(0, len(got)-100):])
	}
}

// The record of a dead holder never makes this package break another program's lock.
func TestForeignLockAfterOurCrashIsRespected(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	crash(t, p, "locked")
	must(t, os.Remove(p+".lock"))
	must(t, os.Mkdir(p+".lock", 0o755)) // gets the same inode number on ext4
	before, err := os.Lstat(p + ".lock")
	must(t, err)
	isLocked(t, appendLine(p, "x", atomicfile.Options{Deadline: 50 * time.Millisecond}))
	// Again, now that the waiter has rewritten the record.
	isLocked(t, appendLine(p, "x", atomicfile.Options{Deadline: 50 * time.Millisecond}))
	after, err := os.Lstat(p + ".lock")
	must(t, err)
	if !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
		t.Error("the foreign lock was touched")
	}
}

// A foreign change that fell into the microseconds of a killed exchange is put
// back in its place, or kept beside when the file went on without it.
func TestKilledAroundAForeignChange(t *testing.T) {
	t.Parallel()
	if !canExchange(t) {
		t.Skip("only the exchange tier sees this")
	}
	p := newFile(t, "first\n")
	if out, err := command("foreign", "published", 0, p, atomicfile.TierExchange).Output(); err == nil {
		t.Fatalf("the process lived on: %s", out)
	}
	holds(t, p, "first\nours-0\n")
	must(t, appendLine(p, "next", atomicfile.Options{}))
	holds(t, p, "first\nforeign\nnext\n")
	clean(t, p)

	p = newFile(t, "first\n")
	if out, err := command("foreign", "published", 0, p, atomicfile.TierExchange).Output(); err == nil {
		t.Fatalf("the process lived on: %s", out)
	}
	must(t, unlockedAppend(p, "later"))
	var kept []string
	must(t, appendLine(p, "next", atomicfile.Options{Kept: func(p string) { kept = append(kept, p) }}))
	holds(t, p, "first\nours-0\nlater\nnext\n")
	if len(kept) != 1 || content(t, kept[0]) != "first\nforeign\n" {
		t.Errorf("kept %v", kept)
	}
}

// A process that is stopped at any step for longer than the stale time loses no change of another
// program and none of its own.
func TestStoppedAtEveryStep(t *testing.T) {
	t.Parallel()
	if !canExchange(t) {
		t.Skip("only the exchange tier sees this")
	}
	for _, step := range atomicfile.Steps(atomicfile.TierExchange) {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newFile(t, "first\n")
			cmd := command("stop", step, 0, p, atomicfile.TierExchange)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			waitStopped(t, cmd)
			must(t, foreignAppend(p, "foreign", stopStale))
			// A second process of this package writes too: the stopped process must not block it.
			must(t, appendLine(p, "neighbour", atomicfile.Options{Stale: stopStale}))
			must(t, cmd.Process.Signal(syscall.SIGCONT))
			line, _ := bufio.NewReader(out).ReadString('\n')
			if err := cmd.Wait(); err != nil || !strings.HasPrefix(line, "acked") {
				t.Errorf("the stopped process: %v %q", err, line)
			}
			got := content(t, p)
			for _, want := range []string{"first", "foreign", "neighbour", "ours-"} {
				if strings.Count(got, want) != 1 {
					t.Errorf("%q: %d times in %q", want, strings.Count(got, want), got)
				}
			}
			// The next process removes all temporary files.
			must(t, appendLine(p, "last", atomicfile.Options{Stale: stopStale}))
			clean(t, p)
		})
	}
}

func waitStopped(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("not stopped: %v %v", err, ws)
	}
}

// lease holds a flock, starts a child of its own that outlives it, and waits.
func lease(path string) int {
	_, held, err := atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease})
	if err != nil || !held {
		fmt.Println("error", held, err)
		return 1
	}
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(sleeper.Process.Pid)
	_ = sleeper.Wait()
	return 0
}

func TestLeaseEndsWithItsProcessNotItsChildren(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "lease")
	cmd := command("lease", "", 0, p, 0)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	grandchild, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(line)
	}
	defer syscall.Kill(grandchild, syscall.SIGKILL)
	if _, held, err := atomicfile.TryFlock(p, atomicfile.Options{}); held || err != nil {
		t.Fatalf("held %v, err %v", held, err)
	}
	_, err = atomicfile.Flock(t.Context(), p, atomicfile.Options{Deadline: 30 * time.Millisecond})
	if l := isLocked(t, err); l.Holder != "another process" && l.Holder != fmt.Sprintf("pid %d", cmd.Process.Pid) {
		t.Errorf("holder %q", l.Holder)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	must(t, syscall.Kill(grandchild, 0))
	release := mustTry(t, p, atomicfile.Options{})
	must(t, release())
}

// The error names the process that holds the lock.
func TestLockedNamesTheHolder(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	cmd := command("stop", "locked", 0, p, atomicfile.TierAuto)
	must(t, cmd.Start())
	waitStopped(t, cmd)
	defer func() {
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}()
	l := isLocked(t, appendLine(p, "x", atomicfile.Options{Deadline: 50 * time.Millisecond}))
	if l.Holder != fmt.Sprintf("pid %d (waggle)", cmd.Process.Pid) || l.Age <= 0 {
		t.Errorf("%+v", l)
	}
}

// large is longer than the content that an edit copies whole.
var large = strings.Repeat("a line that was there before\n", 4000)

// TestReadersSeeWholeFiles: a process that reads without a lock, at once, slowly, or with the file open for long, never
// reads content that was not published.
func TestReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	p := newFile(t, large)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	reads, bad := make([]int, 4), make([]int, 4)
	for i := range reads {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				data, err := readInPieces(p, []int{0, 4096, 64 << 10, 1 << 20}[i])
				reads[i]++
				if err != nil || !wholeLines(data) {
					bad[i]++
				}
			}
		})
	}
	edits := testenv.Scale(120, 20_000)
	for i := range edits {
		must(t, appendLine(p, fmt.Sprint("n", i), atomicfile.Options{}))
	}
	close(stop)
	wg.Wait()
	for i, n := range bad {
		if n > 0 {
			t.Errorf("reader %d: %d of %d reads were not whole", i, n, reads[i])
		}
	}
	if got := content(t, p); !wholeLines([]byte(got)) || strings.Count(got, "\nn") != edits {
		t.Errorf("%d of %d lines", strings.Count(got, "\nn"), edits)
	}
	testenv.Measured(t, "%d edits of a large file beside readers without a lock: %d reads, all of them whole", edits, reads[0]+reads[1]+reads[2]+reads[3])
}

func readInPieces(path string, piece int) ([]byte, error) {
	if piece == 0 {
		return os.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []byte
	for buf := make([]byte, piece); ; {
		n, err := f.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			return all, nil
		}
	}
}

// wholeLines reports whether data is large with lines n0, n1, … behind it.
func wholeLines(data []byte) bool {
	rest, ok := strings.CutPrefix(string(data), large)
	n := 0
	for line := range strings.Lines(rest) {
		ok = ok && line == fmt.Sprintf("n%d\n", n)
		n++
	}
	return ok
}
