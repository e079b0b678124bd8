package supervise_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// hosted is a backend that runs the workers of any process in this process, until the test ends them.
func hosted(t *testing.T, op operator.Operator) (b spawn.Backend, end func()) {
	all, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	end = func() { cancel(); wg.Wait() }
	t.Cleanup(end)
	return &elsewhere{in: spawn.InProcess(func(ctx context.Context, spec spawn.Spec, out io.Writer) spawn.Exit {
		wg.Add(1)
		defer wg.Done()
		o, _, err := worker.Invoked(spec.Argv)
		if err == nil {
			o.Agent, o.Inside, o.Output, o.Environ, o.Minter = puppet{}, true, out, spec.Env, op.Minter
			err = worker.Join(all, o)
		}
		return spawn.Exit{Code: int(operator.KindOf(err))}
	})}, end
}

// TestSpawnWithPrompt: a member that is started beside the process that leads comes up, and
// its prompt is its first task.
func TestSpawnWithPrompt(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	b, end := hosted(t, op)
	op.Backends = []spawn.Backend{b}
	k := keep(t, op, head, supervise.LeadOptions{})
	said := &operatortest.Heard{}
	sp, err := supervise.Of(op).Spawn(t.Context(), "api", supervise.NewMember{FileMember: teamfile.FileMember{Name: "bob", Agent: "puppet", Backend: "elsewhere", Cwd: t.TempDir()}, Prompt: "say hello\nto all"},
		&supervise.LeadOptions{Note: said.Note, Accept: true})
	testenv.Must(t, err)
	if sp.Team != "api" || sp.Name != "bob" || sp.PID != os.Getpid() || sp.Ready == nil || sp.Task == "" || sp.Backend != "elsewhere" || said.Of("started", "elsewhere") != 1 || said.Of("ready", "") != 1 {
		t.Errorf("%+v, told %+v", sp, said.All())
	}
	testenv.Eventually(t, "its task is done", func() bool {
		list, err := board.Of(op).Tasks(t.Context(), "api", true)
		return err == nil && len(list.Tasks) == 1 && string(list.Tasks[0].ID) == sp.Task && list.Tasks[0].Subject == "say hello" && list.Tasks[0].Status == "completed"
	})
	if k.said.Of("completed", "say hello") != 1 {
		testenv.Eventually(t, "the process that leads tells it", func() bool { return k.said.Of("completed", "say hello") == 1 })
	}
	end()
	k.cancel()
	<-k.ended // it did not start bob, whom nobody ends from outside
}

// TestHeld: no request is decided while the leader's journal is broken, and deciding goes on when the
// journal is whole again. A note reports both.
func TestHeld(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	k := keep(t, op, head, supervise.LeadOptions{})
	path := filepath.Join(k.s.Dir.LeaderJournal(), "00000001.jsonl")
	whole, err := os.ReadFile(path)
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(path, append(bytes.Clone(whole), "nonsense\n"...), 0o600))
	testenv.Eventually(t, "it is held", func() bool { return k.said.Of("trouble", "nothing is decided until its journal is whole again") == 1 })
	testenv.Must(t, os.WriteFile(path, whole, 0o600))
	testenv.Eventually(t, "it goes on", func() bool { return k.said.Of("trouble", "its journal is whole again: deciding goes on") == 1 })
	k.cancel()
	k.over(supervise.LedEnded)
}

// TestAssignAll: the tasks of a file are put on the board and ordered, for a program that
// leads by itself.
func TestAssignAll(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	ann := r.Enlist(s, "ann")
	l, err := process.Of(op).Lead(t.Context(), s)
	testenv.Must(t, err)
	f := parse(t, op, head+"tasks: [{subject: A, owner: ann, instructions: one}, {subject: B, owner: ann, instructions: two, after: [A]}]\n")
	testenv.Must(t, supervise.Of(op).AssignAll(t.Context(), s, f, l))
	testenv.Must(t, l.Close())
	orders := r.State().Lead.Assignments()
	if len(orders) != 2 || orders[0].Commanded.Task.Instructions != "one" || orders[1].Commanded.Task.Instructions != "two" || orders[0].Instance != ann.Instance {
		t.Errorf("%+v", orders)
	}
	list, err := board.Of(op).Tasks(t.Context(), "api", true)
	if err != nil || len(list.Tasks) != 2 || len(list.Tasks[1].BlockedBy) != 1 || list.Tasks[1].BlockedBy[0] != list.Tasks[0].ID {
		t.Errorf("%+v, %v", list, err)
	}
}
