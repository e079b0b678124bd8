//go:build unix

package mailbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

// TestMain runs the test binary as a child process of a test when the environment asks for it.
func TestMain(m *testing.M) {
	if args := os.Getenv("WAGGLE_MAILBOX_CHILD"); args != "" {
		var c child
		if err := json.Unmarshal([]byte(args), &c); err != nil {
			panic(err)
		}
		os.Exit(c.run())
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(testenv.Scale(8, 500))); err != nil {
		panic(err)
	}
	testenv.Overlap(3)
	os.Exit(m.Run())
}

// child is a process that appends messages "sender/n" and acknowledges each on its
// output.
type child struct {
	Dir    string
	Sender string
	Count  int
	Tier   atomicfile.Tier
	Sync   atomicfile.Sync
	What   syscall.Signal // sent to itself at
	Step   string         // this step
	Round  int            // of this message
}

func (c child) run() int {
	n := 0
	o := mailbox.Options{Deadline: 60 * time.Second}.With(c.Tier, c.Sync)
	done := false
	o.Hook = func(step string) {
		if c.What == 0 || done || step != c.Step || n != c.Round {
			return
		}
		done = true
		_ = syscall.Kill(os.Getpid(), c.What)
		if c.What == syscall.SIGKILL {
			select {} // wait for the signal
		}
		time.Sleep(50 * time.Millisecond) // real clock: another thread may take the signal
	}
	b, err := mailbox.Dir{Path: c.Dir}.Open("tester", o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for ; n < c.Count; n++ {
		if err := b.Append(context.Background(), numbered(c.Sender, n)); err != nil {
			fmt.Fprintln(os.Stderr, c.Sender, n, err)
			return 1
		}
		fmt.Println("ack", n)
	}
	return 0
}

func numbered(sender string, n int) protocol.Envelope {
	return protocol.Envelope{From: sender, Text: fmt.Sprintf("%s/%d", sender, n), Timestamp: protocol.FormatTime(time.Now())}
}

func (c child) command() *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	args, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "WAGGLE_MAILBOX_CHILD="+string(args))
	cmd.Stderr = os.Stderr
	return cmd
}

// acks counts the acknowledgements in a process's output.
func acks(out io.Reader) int {
	n := 0
	for s := bufio.NewScanner(out); s.Scan(); {
		if strings.HasPrefix(s.Text(), "ack ") {
			n++
		}
	}
	return n
}

// tally checks a whole mailbox: every sender's messages in order, and how many.
// twice is how many messages are there more than once.
func tally(t testing.TB, path string) (count map[string]int, twice int) {
	t.Helper()
	count = map[string]int{}
	for i, raw := range validArray(t, get(t, path)) {
		e, err := protocol.ParseEnvelope(raw)
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		sender, number, _ := strings.Cut(e.Text, "/")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("entry %d: %q", i, e.Text)
		}
		switch {
		case n == count[sender]:
			count[sender]++
		case n < count[sender]:
			twice++
		default:
			t.Fatalf("%s: message %d comes where %d should", sender, n, count[sender])
		}
	}
	return count, twice
}

// Eight processes append to one mailbox together with two Node writers that use npm's
// proper-lockfile: no message is lost or doubled, and a reader without a lock always reads a whole
// array that only grows.
func TestManyProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			needTier(t, tier)
			dir := t.TempDir()
			path := filepath.Join(dir, "tester.json")
			want := map[string]int{}
			cmds := map[string]*exec.Cmd{}
			for i := range 8 {
				sender := fmt.Sprintf("go%d", i)
				want[sender] = testenv.Scale(30, 500)
				cmds[sender] = child{Dir: dir, Sender: sender, Count: want[sender], Tier: tier}.command()
			}
			if haveNode(t) {
				for i := range 2 {
					sender := fmt.Sprintf("node%d", i)
					want[sender] = testenv.Scale(5, 100)
					cmds[sender] = nodeScript(t, "sender.js", path, sender, strconv.Itoa(want[sender]))
				}
			}
			start := time.Now()
			var writers sync.WaitGroup
			for sender, cmd := range cmds {
				writers.Go(func() {
					out, err := cmd.Output()
					if err != nil {
						t.Errorf("%s: %v after %d", sender, err, strings.Count(string(out), "ack"))
					}
					if _, n, ok := strings.Cut(string(out), "elocked "); ok {
						t.Logf("%s was refused the lock %s times", sender, strings.TrimSpace(n))
					}
				})
			}
			stop := make(chan struct{})
			var reader sync.WaitGroup
			reads := 0
			reader.Go(func() { reads = readAllTheTime(t, path, stop) })
			writers.Wait()
			took := time.Since(start)
			close(stop)
			reader.Wait()
			got, twice := tally(t, path)
			total := 0
			for sender, n := range want {
				total += got[sender]
				if got[sender] != n {
					t.Errorf("%s: %d of %d", sender, got[sender], n)
				}
			}
			if twice != 0 || len(got) != len(want) {
				t.Errorf("%d messages twice, %d senders of %d", twice, len(got), len(want))
			}
			lost := -total
			for _, n := range want {
				lost += n
			}
			testenv.Measured(t, "%d messages of %d processes into one inbox in %v (%.0f/s): %d lost, %d twice; %d lock-free reads, all valid",
				total, len(want), took.Round(time.Millisecond), float64(total)/took.Seconds(), lost, twice, reads)
			leftovers(t, dir)
		})
	}
}

// readAllTheTime reads the file in a loop and fails on half an array and on an array that shrank.
func readAllTheTime(t *testing.T, path string, stop <-chan struct{}) (reads int) {
	size := 0
	for ; ; reads++ {
		select {
		case <-stop:
			return reads
		default:
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		var list []json.RawMessage
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil && len(data) == 0 && reads < 100 {
			continue // Node creates the file in two steps
		}
		if err != nil || len(list) < size {
			t.Errorf("read %d: %d entries after %d: %v", reads, len(list), size, err)
			return reads
		}
		size = len(list)
	}
}

// leftovers fails if anything but the mailbox and its flock is there.
func leftovers(t testing.TB, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	testenv.Must(t, err)
	for _, f := range files {
		if !slices.Contains([]string{"tester.json", ".tester.json.flk"}, f.Name()) {
			t.Errorf("left behind: %s", f.Name())
		}
	}
}

// killed checks a mailbox after its only writer was killed, and sends the next
// message: how long did that take?
func killed(t *testing.T, dir, sender string, acked int) time.Duration {
	t.Helper()
	path := filepath.Join(dir, "tester.json")
	if _, err := os.Stat(path); err == nil {
		validArray(t, get(t, path))
	}
	b := openBox(t, dir, mailbox.Options{})
	start := time.Now()
	testenv.Must(t, b.Append(t.Context(), numbered("next", 0)))
	took := time.Since(start)
	got, twice := tally(t, path)
	if got[sender] < acked || got[sender] > acked+1 || twice > 0 {
		t.Errorf("%d acknowledged, %d there, %d twice", acked, got[sender], twice)
	}
	if got["next"] != 1 {
		t.Error("the next message is not there")
	}
	leftovers(t, dir)
	testenv.Within(t, "the next message", took, 2*time.Second)
	return took
}

// A writer that is killed at any moment leaves a valid file with every acknowledged message, and
// its lock delays no other process.
func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			needTier(t, tier)
			var took []time.Duration
			orphans, total := 0, 0
			for range testenv.Scale(8, 200) {
				dir := t.TempDir()
				cmd := child{Dir: dir, Sender: "go", Count: 1 << 30, Tier: tier, Sync: atomicfile.Sync(rand.N(3))}.command()
				out, err := cmd.StdoutPipe()
				testenv.Must(t, err)
				testenv.Must(t, cmd.Start())
				first := make([]byte, 1)
				_, err = out.Read(first) // it is at work
				testenv.Must(t, err)
				timer := time.AfterFunc(rand.N(20*time.Millisecond), func() { _ = cmd.Process.Kill() })
				acked := acks(io.MultiReader(strings.NewReader(string(first)), out))
				_ = cmd.Wait()
				timer.Stop()
				if _, err := os.Lstat(filepath.Join(dir, "tester.json.lock")); err == nil {
					orphans++
				}
				total += acked
				took = append(took, killed(t, dir, "go", acked))
			}
			slices.Sort(took)
			testenv.Measured(t, "kill -9 of a writer %d times after %d acknowledged messages: 0 invalid, 0 lost; %d orphan locks, next append p50 %v, max %v",
				len(took), total, orphans, took[len(took)/2], took[len(took)-1])
		})
	}
}

// A writer is killed while others write: they lose no message either.
func TestKilledAmongOthers(t *testing.T) {
	t.Parallel()
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			needTier(t, tier)
			dir := t.TempDir()
			want := map[string]int{}
			var others sync.WaitGroup
			for i := range 3 {
				sender := fmt.Sprintf("go%d", i)
				want[sender] = testenv.Scale(30, 600)
				cmd := child{Dir: dir, Sender: sender, Count: want[sender], Tier: tier}.command()
				others.Go(func() {
					if err := cmd.Run(); err != nil {
						t.Errorf("%s: %v", sender, err)
					}
				})
			}
			if haveNode(t) {
				want["node"] = testenv.Scale(5, 100)
				cmd := nodeScript(t, "sender.js", filepath.Join(dir, "tester.json"), "node", strconv.Itoa(want["node"]))
				others.Go(func() {
					if _, err := cmd.Output(); err != nil {
						t.Errorf("node: %v", err)
					}
				})
			}
			acked := map[string]int{}
			for i := range testenv.Scale(5, 60) {
				victim := fmt.Sprintf("victim%d", i)
				cmd := child{Dir: dir, Sender: victim, Count: 1 << 30, Tier: tier}.command()
				out, err := cmd.StdoutPipe()
				testenv.Must(t, err)
				testenv.Must(t, cmd.Start())
				timer := time.AfterFunc(20*time.Millisecond+rand.N(40*time.Millisecond), func() { _ = cmd.Process.Kill() })
				acked[victim] = acks(out)
				_ = cmd.Wait()
				timer.Stop()
			}
			others.Wait()
			got, twice := tally(t, filepath.Join(dir, "tester.json"))
			for sender, n := range want {
				if got[sender] != n {
					t.Errorf("%s: %d of %d", sender, got[sender], n)
				}
			}
			total := 0
			for victim, n := range acked {
				if got[victim] < n || got[victim] > n+1 {
					t.Errorf("%s: %d acknowledged, %d there", victim, n, got[victim])
				}
				total += n
			}
			if twice > 0 {
				t.Errorf("%d twice", twice)
			}
			testenv.Must(t, openBox(t, dir, mailbox.Options{}).Append(t.Context(), numbered("next", 0)))
			leftovers(t, dir)
			testenv.Measured(t, "%d writers killed after %d acknowledged messages among %d that were not: 0 lost, 0 twice", len(acked), total, len(want))
		})
	}
}

// The same at every step there is.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	steps := []string{
		"queued", "flocked", "announced", "lock-made", "locked", "read", "temp-created", "temp-written",
		"synced", "checked", "published", "compared", "unlinked", "unlocking", "lock-removed", "unlocked",
	}
	var worst time.Duration
	n := 0
	for _, tier := range tiers {
		needTier(t, tier)
		for _, step := range steps {
			if tier == atomicfile.TierRename && (step == "compared" || step == "unlinked") {
				continue
			}
			for _, round := range []int{0, 3} {
				if round == 0 && (step == "compared" || step == "unlinked") {
					continue // a first message displaces no file
				}
				dir := t.TempDir()
				cmd := child{Dir: dir, Sender: "go", Count: 10, Tier: tier, What: syscall.SIGKILL, Step: step, Round: round}.command()
				out, err := cmd.Output()
				if err == nil {
					t.Fatalf("%v %s: lived on", tier, step)
				}
				worst = max(worst, killed(t, dir, "go", acks(strings.NewReader(string(out)))))
				n++
			}
		}
	}
	testenv.Measured(t, "kill -9 at each step of an append, %d kills: 0 invalid, 0 lost; next append max %v", n, worst)
}

// A writer is stopped at each step for longer than the stale time while Node takes over its lock
// and writes: no message of either is lost (trust §6).
func TestStoppedWriterLosesNothing(t *testing.T) {
	t.Parallel()
	requireTool(t, "node")
	needTier(t, atomicfile.TierExchange)
	steps := []string{"lock-made", "synced", "checked", "published"}
	stale := 2000 // the least that proper-lockfile takes
	if testenv.Scale(0, 1) > 0 {
		steps = []string{
			"flocked", "announced", "lock-made", "locked", "read", "temp-created", "temp-written",
			"synced", "checked", "published", "compared", "unlinked", "unlocking", "lock-removed",
		}
		stale = 10_000
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "tester.json")
			testenv.Must(t, openBox(t, dir, mailbox.Options{}).Append(t.Context(), numbered("first", 0)))
			cmd := child{Dir: dir, Sender: "go", Count: 3, Tier: atomicfile.TierExchange, What: syscall.SIGSTOP, Step: step, Round: 1}.command()
			out, err := cmd.StdoutPipe()
			testenv.Must(t, err)
			testenv.Must(t, cmd.Start())
			// Read before Wait, which closes the pipe.
			acked := make(chan int, 1)
			go func() { acked <- acks(out) }()
			var ws syscall.WaitStatus
			_, err = syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil)
			if err != nil || !ws.Stopped() {
				t.Fatalf("not stopped: %v", err)
			}
			const each = 5
			if _, err := nodeScript(t, "sender.js", path, "node", strconv.Itoa(each), strconv.Itoa(stale)).Output(); err != nil {
				t.Errorf("node: %v", err)
			}
			// Node writes again while the writer continues.
			second := nodeScript(t, "sender.js", path, "node-b", strconv.Itoa(each), strconv.Itoa(stale))
			testenv.Must(t, second.Start())
			testenv.Must(t, cmd.Process.Signal(syscall.SIGCONT))
			if err := second.Wait(); err != nil {
				t.Errorf("node: %v", err)
			}
			n := <-acked
			if err := cmd.Wait(); err != nil || n != 3 {
				t.Errorf("the stopped writer: %d acknowledged, %v", n, err)
			}
			got, twice := tally(t, path)
			if got["first"] != 1 || got["go"] != 3 || got["node"] != each || got["node-b"] != each || twice != 0 {
				t.Errorf("got %v, %d twice", got, twice)
			}
		})
	}
}
