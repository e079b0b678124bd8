package faulttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/operator/mail"
)

// fault is a way for file operations to fail.
type fault struct {
	name string
	err  error
	ops  []atomicfile.Op
	long time.Duration // all of them fail for so long; 0: one does
}

var making = []atomicfile.Op{atomicfile.OpCreate, atomicfile.OpMkdir, atomicfile.OpWrite, atomicfile.OpSync, atomicfile.OpRename}

var faults = []fault{
	{"full once", syscall.ENOSPC, making, 0},
	{"full for a while", syscall.ENOSPC, making, 700 * time.Millisecond},
	{"broken once", syscall.EIO, append([]atomicfile.Op{atomicfile.OpOpen, atomicfile.OpTruncate}, making...), 0},
	{"no descriptors for a while", syscall.EMFILE, []atomicfile.Op{atomicfile.OpOpen, atomicfile.OpCreate}, 700 * time.Millisecond},
}

// arm makes the n-th operation fail, and reports whether it has.
func (c *crew) arm(f fault, n int) (hit *atomic.Int64) {
	var seen, first atomic.Int64
	hit = &atomic.Int64{}
	fail := func(op atomicfile.Op, _ string) error {
		if !slices.Contains(f.ops, op) {
			return nil
		}
		switch i := seen.Add(1); {
		case i < int64(n):
			return nil
		case i == int64(n):
			first.Store(time.Now().UnixNano())
		case time.Since(time.Unix(0, first.Load())) > f.long: // real clock: the fault is over
			return nil
		}
		hit.Add(1)
		return f.err
	}
	c.armed.Store(&fail)
	return hit
}

// TestEveryOperation makes the n-th file operation of a team at work fail, for each n until none is
// left: a task that is allowed, one that asks, and a message. If a command reported success, its work
// is done once and needs nobody's help; if not, at most once. The leader is the same all the time.
func TestEveryOperation(t *testing.T) {
	testenv.Long(t)
	lanes := testenv.Scale(1, 4)
	var mu sync.Mutex
	step := lanes * testenv.Scale(157, 1)
	offset := 0
	if step > lanes {
		offset = rand.N(step)
	}
	classes, rounds, last := map[string]bool{}, 0, map[string]int{}
	t.Run("", func(t *testing.T) {
		for _, f := range faults {
			for lane := range lanes {
				t.Run(fmt.Sprintf("%s/%d", f.name, lane), func(t *testing.T) {
					t.Parallel()
					c := newCrew(t)
					n, of := c.walk(f, lane+1+offset, step)
					mu.Lock()
					defer mu.Unlock()
					rounds += n
					last[f.name] = max(last[f.name], of)
					c.failed.Range(func(k, _ any) bool {
						classes[k.(string)] = true
						return true
					})
				})
			}
		}
	})
	for _, want := range []string{"journal write", "journal sync", "body write", "body rename", "snapshot write", "snapshot rename",
		"mailbox create", "mailbox write", "mailbox rename", "task create", "task write", "task rename", "journal open", "mailbox open", "task open"} {
		if testenv.Soak() && !classes[want] {
			t.Errorf("never failed: %s", want)
		}
	}
	testenv.Measured(t, "%d rounds with one failure each, of up to %v operations; what failed: %d kinds of file and operation", rounds, last, len(classes))
}

// walk makes the operations from n on fail, every step-th of them.
func (c *crew) walk(f fault, n, step int) (rounds, last int) {
	var jobs []job
	for ; ; n += step {
		c.forget()
		hit := c.arm(f, n)
		j := c.give(fmt.Sprintf("%d", n))
		c.await(fmt.Sprintf("round %d (%s, failed %d times) is over: %+v, ran %v", n, f.name, hit.Load(), j, c.ran()), func() bool { return c.done(j) })
		c.armed.Store(nil)
		rounds++
		jobs = append(jobs, j)
		if hit.Load() == 0 {
			break
		}
	}
	c.check(jobs)
	return rounds, n
}

// check checks the outcome of everything that was given.
func (c *crew) check(jobs []job) {
	t := c.t
	ran := c.ran()
	for _, j := range jobs {
		for id, sure := range map[string]bool{j.id + "-a": j.task != "", j.id + "-b": j.asks != ""} {
			if n := ran[id]; n > 1 || sure && n == 0 {
				t.Errorf("%s ran %d times, taken %v", id, n, sure)
			}
		}
	}
	ms, err := mail.Of(c.op).Messages(t.Context(), c.name, false)
	testenv.Must(t, err)
	said := map[string]int{}
	for _, m := range ms {
		said[m.MsgID]++
	}
	for _, j := range jobs {
		if j.said != "" && said[j.said] != 1 {
			t.Errorf("words %s are on record %d times", j.said, said[j.said])
		}
	}
	v, err := inspect.Of(c.op).Verify(t.Context(), string(c.name))
	testenv.Must(t, err)
	for _, p := range v.Problems {
		t.Errorf("audit: %s", p)
	}
	st, err := inspect.Of(c.op).Status(t.Context(), c.name)
	testenv.Must(t, err)
	if !st.Leader.Led || st.Gone != nil || st.Room != nil || st.Broken != nil || st.Damage != nil {
		t.Errorf("%+v", st)
	}
	for _, m := range st.Members {
		if m.State != "idle" && m.State != "working" || m.Restarts > 0 {
			t.Errorf("%s is %s after %d restarts: %s", m.Name, m.State, m.Restarts, m.Why)
		}
	}
}
