//go:build unix

package cli_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/spawn"
)

// The team of these benchmarks.
const (
	manyMembers = 40
	manyRecords = 10_000
)

// shownTop is waggle top, as people get it, on a terminal of 120x60.
type shownTop struct {
	b   *testing.B
	cmd *exec.Cmd
	at  time.Time // when the process was started

	mu   sync.Mutex // guards the fields below
	out  []byte
	told chan struct{} // closed with the next output
	last time.Time     // of the last output
}

// openTop starts waggle top. It ends with the benchmark, or by end.
func openTop(b *testing.B, program string, op operator.Operator) (t *shownTop, end func()) {
	b.Helper()
	t = &shownTop{b: b, cmd: exec.Command(program, "top", "--root", op.Root.Path, "--state", op.Home.Path), told: make(chan struct{})}
	t.cmd.Env = append(slices.Clone(op.Environ), "TERM=xterm-256color", "NO_COLOR=1")
	t.at = time.Now()
	f, err := pty.StartWithSize(t.cmd, &pty.Winsize{Cols: 120, Rows: 60})
	testenv.Must(b, err)
	read := make(chan struct{})
	go func() { // until f is closed
		defer close(read)
		buf := make([]byte, 64<<10)
		for {
			n, err := f.Read(buf)
			t.mu.Lock()
			t.out, t.last = append(t.out, buf[:n]...), time.Now()
			close(t.told)
			t.told = make(chan struct{})
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	end = sync.OnceFunc(func() {
		_ = t.cmd.Process.Kill()
		_ = t.cmd.Wait() // killed
		_ = f.Close()
		<-read
	})
	b.Cleanup(end)
	return t, end
}

// shows waits until the terminal has got a text since the last call, and returns when it had.
func (t *shownTop) shows(text string) time.Time {
	t.b.Helper()
	late := time.After(time.Minute)
	for {
		t.mu.Lock()
		told, last, i := t.told, t.last, strings.Index(string(t.out), text)
		if i >= 0 {
			t.out = t.out[i:]
		}
		t.mu.Unlock()
		if i >= 0 {
			return last
		}
		select {
		case <-told:
		case <-late:
			t.b.Fatalf("%q is not shown: %q", text, t.out)
		}
	}
}

// wrote is how many bytes were written since the last call.
func (t *shownTop) wrote() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.out)
	t.out = nil
	return n
}

func report(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), what+"-p50-ms")
	b.ReportMetric(ms(took[len(took)-1]), what+"-max-ms")
}

// BenchmarkTopStart is the time from the start of the process to its first frame, and to the first rows.
func BenchmarkTopStart(b *testing.B) {
	program, op := shipped(b), operatortest.New(b)
	operatortest.NewCrowd(b, op, "api", manyMembers, manyRecords)
	var first, rows []time.Duration
	for b.Loop() {
		t, end := openTop(b, program, op)
		first = append(first, t.shows("need you").Sub(t.at))
		rows = append(rows, t.shows("m17 ").Sub(t.at))
		end()
	}
	b.ReportMetric(0, "ns/op")
	report(b, "frame", first)
	report(b, "rows", rows)
}

// BenchmarkTopLatency is the time from the record of a question in the leader's journal to its row on the terminal.
func BenchmarkTopLatency(b *testing.B) {
	program, op := shipped(b), operatortest.New(b)
	c := operatortest.NewCrowd(b, op, "api", manyMembers, manyRecords)
	t, _ := openTop(b, program, op)
	t.shows("m17 ")
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		rest(b, 2*time.Second) // a burst before it is over
		command := fmt.Sprintf("make %dth", i)
		q := c.Asks(i%manyMembers, command)
		took = append(took, t.shows(command).Sub(q.Seen))
		if _, err := decide.Of(op).Decide(b.Context(), "api", []decide.Answer{{ID: q.Handle, Digest: string(q.Digest), Reason: "no"}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
	report(b, "shown", took)
}

// BenchmarkTopIdle is what a screen costs on which nothing happens, for half a minute: with the output of a member
// that says nothing, and with a question.
func BenchmarkTopIdle(b *testing.B) {
	program := shipped(b)
	for _, ask := range []bool{false, true} {
		b.Run(map[bool]string{false: "output", true: "ask"}[ask], func(b *testing.B) {
			op := operatortest.New(b)
			c := operatortest.NewCrowd(b, op, "api", manyMembers, manyRecords)
			text := "a line of what it says"
			if ask {
				text = c.Asks(0, "make").Handle
			}
			t, _ := openTop(b, program, op)
			t.shows(text)
			idle(b, t, func() {})
		})
	}
}

// BenchmarkTopUnseen is what it costs that every second a member writes output which is not shown.
func BenchmarkTopUnseen(b *testing.B) {
	program, op := shipped(b), operatortest.New(b)
	c := operatortest.NewCrowd(b, op, "api", manyMembers, manyRecords)
	handle := c.Asks(0, "make").Handle
	t, _ := openTop(b, program, op)
	t.shows(handle)
	idle(b, t, func() { c.Says(3, "more") })
}

// idle measures half a minute, of which each second begins with do.
func idle(b *testing.B, t *shownTop, do func()) {
	rest(b, 10*time.Second) // until the work of the start is over
	id := identify(b, t.cmd.Process.Pid)
	id.Inside = true // the process of the screen alone, without those below it
	use := func() time.Duration {
		used, err := spawn.UsageOf(id)
		testenv.Must(b, err)
		return used[0].CPU
	}
	const seconds = 30
	for b.Loop() {
		t.wrote()
		before := use()
		for range seconds {
			do()
			rest(b, time.Second)
		}
		b.ReportMetric(100*(use()-before).Seconds()/seconds, "%core")
		b.ReportMetric(float64(t.wrote()), "bytes")
	}
	b.ReportMetric(0, "ns/op")
}

// rest lets time pass.
func rest(b *testing.B, d time.Duration) {
	select {
	case <-b.Context().Done():
	case <-time.After(d): // real clock: the screen's
	}
}
