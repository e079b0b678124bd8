//go:build unix

package sessiontest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/internal/test/testenv"
	"waggle/journal"
)

// desk is an account without a client: its sessions are shells that are registered as
// the client registers, and run the hooks.
type desk struct {
	t     *testing.T
	bin   string
	dir   string
	store session.Store
}

// newDesk makes an account. With WAGGLE_TEST=soak its program is the one that users have; the
// test's own, which is larger, else.
func newDesk(t *testing.T) *desk {
	t.Helper()
	testenv.Long(t)
	dir, err := os.MkdirTemp("", "wd") // not t.TempDir, whose removal fails on what a dying hook writes
	testenv.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &desk{t: t, dir: dir, store: session.At(filepath.Join(dir, "state"), time.Now)}
	for _, sub := range []string{"state", "claude/sessions"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	if d.bin, err = exec.LookPath("waggle"); err != nil {
		t.Fatal(err)
	}
	if testenv.Soak() {
		d.bin = filepath.Join(dir, "waggle")
		if out, err := exec.Command("go", "build", "-o", d.bin, "waggle/cmd/waggle").CombinedOutput(); err != nil {
			t.Fatalf("go build: %v: %s", err, out)
		}
	}
	return d
}

func (d *desk) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = d.dir
	cmd.Env = []string{"HOME=" + d.dir, "PATH=" + os.Getenv("PATH"), "CLAUDE_CONFIG_DIR=" + filepath.Join(d.dir, "claude"), "WAGGLE_STATE=" + filepath.Dir(d.store.Dir)}
	return cmd
}

// event returns the input that a client gives to a hook.
func event(id, name, extra string) string {
	return fmt.Sprintf(`{"session_id":%q,"cwd":"/w","hook_event_name":%q%s}`, id, name, extra)
}

// shell is a session: it runs a hook for each line that it is given, with the line as
// input, and lives until its input ends. Its output is the hooks'.
type shell struct {
	id  string
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func (d *desk) shell(id string) *shell {
	d.t.Helper()
	cmd := d.command("sh", "-c", `printf '{"pid":%d,"procStart":"%s","sessionId":"%s","cwd":"/w","name":"%s","status":"waiting"}' $$ "$(cut -d' ' -f22 /proc/$$/stat)" `+id+` `+id+` >claude/sessions/$$.json
while read -r event line; do printf '%s' "$line" | '`+d.bin+`' hook claude "$event"; done`)
	s := &shell{id: id, cmd: cmd}
	var err error
	if s.in, err = cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	testenv.Must(d.t, err)
	s.out = bufio.NewReader(out)
	testenv.Must(d.t, cmd.Start())
	d.t.Cleanup(func() {
		_ = s.in.Close()
		if all, err := d.store.Open(session.ID(id)); err == nil {
			for _, r := range all.Requests() {
				if r.State == session.StateOpen {
					if p, err := os.FindProcess(r.Hook.PID); err == nil {
						_ = p.Signal(os.Interrupt)
					}
				}
			}
		}
		_ = cmd.Wait()
	})
	return s
}

func (s *shell) hook(t *testing.T, name, extra string) {
	t.Helper()
	if _, err := fmt.Fprintf(s.in, "%s %s\n", name, event(s.id, name, extra)); err != nil {
		t.Fatal(err)
	}
}

// open waits for a session's open request.
func (d *desk) open(id string) (r session.Request) {
	d.t.Helper()
	testenv.Eventually(d.t, "session "+id+" asks", func() bool {
		one, err := d.store.Open(session.ID(id))
		testenv.Must(d.t, err)
		rs := one.Requests()
		if len(rs) > 0 {
			r = rs[len(rs)-1]
		}
		return r.State == session.StateOpen
	})
	return r
}

// spread formats the median and the slow end of times.
func spread(times []time.Duration) string {
	slices.Sort(times)
	return fmt.Sprintf("p50 %v, p99 %v, max %v, of %d", times[len(times)/2].Round(10*time.Microsecond), times[len(times)*99/100].Round(10*time.Microsecond),
		times[len(times)-1].Round(10*time.Microsecond), len(times))
}

// load is the load of the machine, over the last 1, 5 and 15 minutes.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:3], " ")
}

// TestAnswerCost: from the decision in the journal to the first byte that the client
// reads.
func TestAnswerCost(t *testing.T) {
	d := newDesk(t)
	s := d.shell("cost")
	var times []time.Duration
	for i := range testenv.Scale(10, 200) {
		s.hook(t, "PermissionRequest", fmt.Sprintf(`,"tool_name":"Bash","tool_input":{"command":"true %d"}`, i))
		r := d.open("cost")
		one, err := d.store.Open("cost")
		testenv.Must(t, err)
		live := session.Looking(nil)
		out, err := one.Decide(t.Context(), journal.Writer{Operator: true, PID: os.Getpid()}, control.Answer{Key: r.Key, Digest: r.Digest, Allow: true, By: "operator", Via: "test"}, live)
		began := time.Now()
		if err != nil || !out.Changed {
			t.Fatalf("%v: %+v", err, out)
		}
		if _, err := s.out.Peek(1); err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Since(began))
		if line, err := s.out.ReadString('\n'); err != nil || !strings.Contains(line, `"allow"`) {
			t.Fatalf("the hook says %q: %v", line, err)
		}
	}
	slices.Sort(times)
	testenv.Within(t, "the median from a decision to the hook's answer", times[len(times)/2], 500*time.Millisecond)
	testenv.Measured(t, "from a decision to the first byte of the hook's answer: %s; load %s", spread(times), load())
}

// TestNothingCost: the whole run of a hook process that has nothing to say, in an account with waggle
// and in one without.
func TestNothingCost(t *testing.T) {
	d := newDesk(t)
	run := func(program string, args ...string) time.Duration {
		cmd := d.command(program, args...)
		cmd.Stdin = strings.NewReader(event("quiet", "PreToolUse", `,"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_1"`))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		began := time.Now()
		if err := cmd.Run(); err != nil || out.Len() > 0 {
			t.Fatalf("%s %q: %v, %q", program, args, err, out.String())
		}
		return time.Since(began)
	}
	n := testenv.Scale(10, 300)
	measure := func(what, program string, args ...string) {
		var times []time.Duration
		for range n {
			times = append(times, run(program, args...))
		}
		testenv.Measured(t, "%s, from start to end of the process: %s; load %s", what, spread(times), load())
	}
	measure("a program that does nothing (true), to compare", "true")
	testenv.Must(t, os.Remove(filepath.Dir(d.store.Dir)))
	measure("a hook without STATE", d.bin, "hook", "claude", "PreToolUse")
	testenv.Must(t, os.MkdirAll(d.store.Dir, 0o700))
	measure("a PreToolUse hook that remembers its call", d.bin, "hook", "claude", "PreToolUse")
}

// TestWaitingCost: hooks of twenty sessions that wait, in processor time and memory.
func TestWaitingCost(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("what a process has used is read from /proc")
	}
	d := newDesk(t)
	n, length := testenv.Scale(3, 20), time.Duration(testenv.Scale(2, 300))*time.Second
	var hooks []int
	for i := range n {
		s := d.shell(fmt.Sprint("wait", i))
		s.hook(t, "PermissionRequest", `,"tool_name":"Bash","tool_input":{"command":"true"}`)
		hooks = append(hooks, d.open(s.id).Hook.PID)
	}
	before := used(t, hooks)
	time.Sleep(length) // real clock: a time in which nothing happens is what is measured
	spent := used(t, hooks) - before
	var rss, private int
	for _, pid := range hooks {
		rss += memory(t, pid, "Rss:")
		private += memory(t, pid, "Private_Clean:") + memory(t, pid, "Private_Dirty:")
	}
	hour := time.Duration(float64(spent) * float64(time.Hour) / float64(length))
	testenv.Measured(t, "%d sessions waiting %v: %v of processor time for all, which is %v in an hour; memory %d MiB resident with shared pages, %d MiB of their own; load %s",
		n, length, spent.Round(time.Millisecond), hour.Round(time.Second/10), rss>>10, private>>10, load())
	testenv.Within(t, "the processor time of a hook that waits for an hour", hour/time.Duration(n), time.Hour/100)
}

// used is the processor time of processes and all their threads.
func used(t *testing.T, pids []int) (sum time.Duration) {
	t.Helper()
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if len(files) == 0 {
			t.Fatalf("process %d has ended", pid)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue // a thread that has ended
			}
			var ns int64
			if _, err := fmt.Sscan(string(b), &ns); err != nil {
				t.Fatal(err)
			}
			sum += time.Duration(ns)
		}
	}
	return sum
}

// memory is a line of a process's memory in KiB.
func memory(t *testing.T, pid int, key string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	testenv.Must(t, err)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == key {
			var kib int
			_, _ = fmt.Sscan(f[1], &kib) // 0 says it
			return kib
		}
	}
	return 0
}
