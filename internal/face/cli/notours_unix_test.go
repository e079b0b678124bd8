//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// TestStopLeavesOthersAlone: stop and down do not signal a process that is on record as a
// member's and may not be ended: a recycled pid, a process that somebody else started, the
// program that a member lives in, an ancestor of this process, and this process.
func TestStopLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		record func(*testing.T, spawn.Identity) spawn.Identity
		kind   operator.Kind // of the error; None: it is let go
		how    string
		down   bool // ends the team all the same
	}{
		{"recycled", func(_ *testing.T, id spawn.Identity) spawn.Identity { id.Start += "1"; return id }, 0, record.LeftStopped, true},
		{"another boot", func(_ *testing.T, id spawn.Identity) spawn.Identity { id.Boot = "before"; return id }, 0, record.LeftStopped, true},
		{"theirs", func(_ *testing.T, id spawn.Identity) spawn.Identity { id.Theirs = true; return id }, operator.Refused, "", false},
		{"inside", func(_ *testing.T, id spawn.Identity) spawn.Identity {
			return spawn.Identity{PID: id.PID, Start: id.Start, Boot: id.Boot, Inside: true}
		}, operator.Failed, "", false},
		{"ancestor", func(t *testing.T, _ spawn.Identity) spawn.Identity { return identify(t, os.Getppid()) }, operator.Refused, "", false},
		{"ourselves", func(t *testing.T, _ spawn.Identity) spawn.Identity { return identify(t, os.Getpid()) }, operator.Refused, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			op, other := newOperator(t), exec.Command("sleep", "100")
			other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ours may be one that nobody can name here
			testenv.Must(t, other.Start())
			ended := make(chan error, 1)
			go func() { ended <- other.Wait() }()
			t.Cleanup(func() {
				_ = other.Process.Kill()
				<-ended
			})
			r := operatortest.Team(t, op, "sim", record.PolicySet{})
			s := r.State()
			r.Runs(s, r.Enlist(s, "ann"), c.record(t, identify(t, other.Process.Pid)))
			end, err := process.Of(op).Stop(t.Context(), "sim", "ann", process.StopOptions{Force: true})
			if got := operator.KindOf(err); got != c.kind || c.kind == operator.None && (end.How != c.how && end.How != record.LeftDied || end.Step != spawn.RungGone) {
				t.Errorf("stop: %+v, kind %s, %v; want %s, %s", end, got, err, c.kind, c.how)
			}
			_, err = process.Of(op).Down(t.Context(), "sim", process.StopOptions{Grace: 100 * time.Millisecond})
			if (err == nil) != c.down {
				t.Errorf("down: %v", err)
			}
			select {
			case err := <-ended:
				t.Errorf("a process that is not its own was ended: %v", err)
				ended <- err
			default:
			}
			if m := protocol.MemberName("ann"); !c.down {
				testenv.Must(t, s.Journal.Refresh(t.Context()))
				if jm, ok := s.Lead.Member(m); !ok || jm.Left != nil {
					t.Errorf("it has left on record and runs: %+v", jm.Left)
				}
			}
		})
	}
}
