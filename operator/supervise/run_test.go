package supervise_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

const head = "team: api\nmembers: [{name: ann, agent: puppet, backend: in-process}]\n"

// TestRun: the report of a run by the outcome of its tasks.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file   string
		ro     supervise.RunOptions
		exit   operator.Kind
		reason string
		tasks  map[string]string // status by subject
		why    string            // of one of them
	}{
		"every task is completed": {
			file: head + "tasks:\n- {subject: A, owner: ann, instructions: say hello}\n- {subject: B, owner: ann, instructions: say more, after: [A]}\n",
			exit: 0, reason: "every required task is completed", tasks: map[string]string{"A": "completed", "B": "completed"},
		},
		"a task fails, and what comes after it is not given out": {
			file: head + "tasks:\n- {subject: A, owner: ann, instructions: fail no luck}\n- {subject: B, owner: ann, instructions: say more, after: [A]}\n",
			exit: operator.Failed, reason: `required tasks failed: "A" (ann)`, tasks: map[string]string{"A": "failed", "B": "blocked"}, why: "a task it comes after did not complete",
		},
		"a task that is not required fails": {
			file: head + "tasks:\n- {subject: A, owner: ann, instructions: fail no luck, required: false}\n",
			exit: 0, reason: "every required task is completed", tasks: map[string]string{"A": "failed"}, why: "no luck",
		},
		"a rule allows a call": {
			file: head + "decide: {tool: rules}\npolicy: {allow: ['Bash(echo:*)']}\ntasks:\n- {subject: A, owner: ann, instructions: run echo hello}\n",
			exit: 0, reason: "every required task is completed", tasks: map[string]string{"A": "completed"},
		},
		"a rule denies a call": {
			file: head + "decide: {tool: rules}\npolicy: {deny: ['Bash(rm:*)']}\ntasks:\n- {subject: A, owner: ann, instructions: run rm -rf build}\n",
			exit: operator.Refused, reason: "ann was denied Bash", tasks: map[string]string{"A": "failed"},
		},
		"nobody answers a question": {
			file: head + "tasks:\n- {subject: A, owner: ann, instructions: run make}\n",
			exit: operator.Question, reason: "a request was not answered: ann asked for Bash", tasks: map[string]string{"A": "failed"},
		},
		"a budget is used up": {
			file: head + "budget: {tokens: 100}\ntasks:\n- {subject: A, owner: ann, instructions: spend}\n- {subject: B, owner: ann, instructions: say more}\n",
			exit: operator.UsedUp, reason: "the team's budget of 100 tokens is used up", tasks: map[string]string{"A": "completed", "B": "open"},
		},
		"nobody answers a question, and a budget is used up": {
			file: head + "budget: {tokens: 100}\ntasks:\n- {subject: A, owner: ann, instructions: run make}\n- {subject: B, owner: ann, instructions: spend}\n- {subject: C, owner: ann, instructions: say more}\n",
			exit: operator.UsedUp, reason: "the team's budget of 100 tokens is used up", tasks: map[string]string{"A": "failed", "B": "completed", "C": "open"},
		},
		"an agent panics, and its member goes on": {
			file: head + "tasks:\n- {subject: A, owner: ann, instructions: panic out of luck}\n- {subject: B, owner: ann, instructions: say more}\n",
			exit: operator.Failed, reason: `required tasks failed: "A" (ann)`, tasks: map[string]string{"A": "failed", "B": "completed"}, why: "the agent panicked: out of luck",
		},
		"the time is over": {
			file: head + "tasks:\n- {subject: A, owner: ann, instructions: wait}\n", ro: supervise.RunOptions{Timeout: 300 * time.Millisecond, Grace: time.Millisecond},
			exit: operator.Timeout, reason: "timed out after 300ms", tasks: map[string]string{"A": "open"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, said := fresh(t), &operatortest.Heard{}
			c.ro.Headless, c.ro.Note = true, said.Note
			if c.ro.Timeout > 0 { // the time is over when ann is ready
				over := func() {}
				c.ro.Expire = func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(ctx)
					over = cancel
					return ctx, cancel
				}
				c.ro.Note = func(n operator.Note) {
					said.Note(n)
					if n.What == "ready" {
						over()
					}
				}
			}
			rep, err := supervise.Of(op).Run(t.Context(), parse(t, op, c.file), c.ro)
			testenv.Must(t, err)
			if rep.Kind != c.exit || !strings.Contains(rep.Reason, c.reason) {
				t.Errorf("%s, %s; want %s, %s", rep.Kind, rep.Reason, c.exit, c.reason)
			}
			why := ""
			for _, task := range rep.Tasks {
				if c.tasks[task.Subject] != task.Status {
					t.Errorf("task %s is %s, not %s", task.Subject, task.Status, c.tasks[task.Subject])
				}
				why += task.Why + "\n"
			}
			if len(rep.Tasks) != len(c.tasks) || !strings.Contains(why, c.why) {
				t.Errorf("%d tasks: %s; want %q", len(rep.Tasks), why, c.why)
			}
			if len(rep.Members) != 1 || rep.Members[0].Left == "" || said.Of("started", "") != 1 || said.Of("left", "") != 1 {
				t.Errorf("members %+v, told %+v", rep.Members, said.All())
			}
			if _, err := op.Open(t.Context(), "api", operator.Act); operator.KindOf(err) != operator.NotFound {
				t.Errorf("the team is there after its run: %v", err)
			}
			if fi, err := os.Stat(rep.Members[0].Files); err != nil || !fi.IsDir() {
				t.Errorf("the files of ann: %v", err)
			}
		})
	}
}

// TestRunReportsCalls: a report names for each call who decided it, and its outcome.
func TestRunReportsCalls(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	f := parse(t, op, head+"decide: {tool: rules}\npolicy: {allow: ['Bash(echo:*)']}\ntasks:\n- {subject: A, owner: ann, instructions: run echo hello}\n")
	rep, err := supervise.Of(op).Run(t.Context(), f, supervise.RunOptions{Headless: true, Note: func(operator.Note) {}})
	testenv.Must(t, err)
	if len(rep.Requests) != 1 {
		t.Fatalf("%+v", rep.Requests)
	}
	q := rep.Requests[0]
	if q.Member != "ann" || q.Tool != "Bash" || string(q.Input) != `{"command":"echo hello"}` || q.Decision != record.DecisionAllow || q.By != "rules" || q.Rule == "" || !q.Started {
		t.Errorf("%+v", q)
	}
	if task := rep.Tasks[0]; task.ExitCode == nil || *task.ExitCode != 0 || task.OutputTail != "it ran\n" {
		t.Errorf("%+v", task)
	}
	if q.At.IsZero() {
		t.Error("a call without a time")
	}
}

// TestRunAsksHere: an attended run shows a question on the terminal, and the answer there decides. The
// files of a run can be kept.
func TestRunAsksHere(t *testing.T) {
	t.Parallel()
	op, said := fresh(t), &operatortest.Heard{}
	asked := 0
	ask := func(_ context.Context, q decide.Request) (decide.Answer, error) {
		asked++
		return decide.Answer{ID: q.ID, Digest: q.Digest, Allow: true, Via: "prompt"}, nil
	}
	f := parse(t, op, head+"tasks:\n- {subject: A, owner: ann, instructions: run make}\n")
	rep, err := supervise.Of(op).Run(t.Context(), f, supervise.RunOptions{Ask: ask, Note: said.Note, Keep: true})
	if err != nil || rep.Kind != 0 || asked != 1 {
		t.Fatalf("%+v, %v, asked %d times", rep, err, asked)
	}
	if said.Of("asked", "Bash") != 1 || said.Of("decided", "allow by operator") != 1 || said.Of("ready", "agent puppet") != 1 || said.Of("completed", `"A"`) != 1 {
		t.Errorf("told %+v", said.All())
	}
	if rep.Requests[0].By != "operator" {
		t.Errorf("%+v", rep.Requests)
	}
	if want := op.Root.TasksDir("api"); filepath.Dir(rep.Members[0].Files) != want {
		t.Errorf("kept in %s, not %s", rep.Members[0].Files, want)
	}
	if _, err := team.Open(op.Root, "api", team.Options{}); err != nil {
		t.Errorf("the team's files are gone: %v", err)
	}
}

// TestRunWaiting: a request waits for the operator, but not while the lead's agent is to answer it.
func TestRunWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		want int
	}{
		"of the operator": {"", 1},
		"of the lead":     {"decide: {tool: leader}\nlead: boss\n", 0},
		"of both":         {"decide: {tool: two}\nlead: boss\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := fresh(t)
			boss := "{name: boss, agent: script, backend: in-process, decide: {answer: allow, after: 1h}}, "
			f := parse(t, op, strings.Replace(head, "{name: ann", boss+"{name: ann", 1)+c.file+"tasks:\n- {subject: A, owner: ann, instructions: run make}\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := -1
			ro := supervise.RunOptions{Grace: time.Millisecond, Note: func(operator.Note) {}, Waiting: func(s *operator.State, all []supervise.Waiting) {
				if pending := s.Lead.Pending(); len(pending) == 1 && got < 0 {
					got = len(all)
					if got == 1 && (all[0].Key != pending[0].Key || all[0].Member != "ann") {
						t.Errorf("%+v waits, want %+v", all[0], pending[0].Key)
					}
					cancel()
				}
			}}
			if _, err := supervise.Of(op).Run(ctx, f, ro); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%d wait, want %d", got, c.want)
			}
		})
	}
}

// TestRunIsRefused: files that cannot be run are refused before anything is made.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	for name, c := range map[string]struct {
		file string
		code operator.Kind
		msg  string
	}{
		"no tasks": {head, operator.Usage, "no tasks"},
	} {
		_, err := supervise.Of(op).Run(t.Context(), parse(t, op, c.file), supervise.RunOptions{})
		if operator.KindOf(err) != c.code || !strings.Contains(err.Error(), c.msg) {
			t.Errorf("%s: %v", name, err)
		}
	}
	held, err := op.Claim("up", "api")
	testenv.Must(t, err)
	defer held.Free()
	f := parse(t, op, head+"tasks: [{subject: A, owner: ann, instructions: x}]\n")
	if _, err := supervise.Of(op).Run(t.Context(), f, supervise.RunOptions{}); operator.KindOf(err) != operator.Locked {
		t.Errorf("a name that somebody makes a team of: %v", err)
	}
	if _, err := os.Stat(op.Root.TeamDir("api")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

// TestRunIsCutShort: the events that stop a run before its tasks are over, and the exit code of each.
func TestRunIsCutShort(t *testing.T) {
	t.Parallel()
	waiting := head + "tasks: [{subject: A, owner: ann, instructions: wait}]\n"
	for name, c := range map[string]struct {
		cut    func(t *testing.T, op operator.Operator, cancel context.CancelFunc)
		exit   operator.Kind
		reason string
	}{
		"by an interrupt": {func(_ *testing.T, _ operator.Operator, cancel context.CancelFunc) { cancel() }, operator.Failed, "stopped: context canceled"},
		"by the end of the team": {func(t *testing.T, op operator.Operator, _ context.CancelFunc) {
			if _, err := process.Of(op).Down(t.Context(), "api", process.StopOptions{Grace: time.Millisecond}); err != nil {
				t.Error(err)
			}
		}, operator.Refused, "the operator has ended the team"},
		"by the loss of its directory": {func(t *testing.T, op operator.Operator, _ context.CancelFunc) {
			if err := os.RemoveAll(op.Root.TeamDir("api")); err != nil {
				t.Error(err)
			}
		}, operator.Failed, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := fresh(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			assigned := make(chan bool, 1)
			ended := make(chan bool)
			go func() {
				defer close(ended)
				<-assigned
				c.cut(t, op, cancel)
			}()
			note := func(n operator.Note) {
				if n.What == "ready" {
					assigned <- true
				}
			}
			homeless := time.Hour // the end of a team removes the directory, which must not become the reason
			if c.reason == "is gone" {
				homeless = time.Millisecond
			}
			rep, err := supervise.Of(op).Run(ctx, parse(t, op, waiting), supervise.RunOptions{Headless: true, Note: note, Grace: time.Millisecond, Homeless: homeless})
			<-ended
			if rep == nil || rep.Kind != c.exit || !strings.Contains(rep.Reason, c.reason) {
				t.Fatalf("%+v, %v", rep, err)
			}
		})
	}
}

// TestRunWithLead: an agent that leads gets the outcome of the tasks, and the run waits until the
// agent has taken it.
func TestRunWithLead(t *testing.T) {
	t.Parallel()
	op, said := fresh(t), &operatortest.Heard{}
	f := parse(t, op, "team: api\nlead: boss\nmembers: [{name: boss, agent: puppet, backend: in-process, mode: default}, {name: ann, agent: puppet, backend: in-process}]\n"+
		"tasks: [{subject: A, owner: ann, instructions: say hello}]\n")
	rep, err := supervise.Of(op).Run(t.Context(), f, supervise.RunOptions{Headless: true, Note: said.Note})
	if err != nil || rep.Kind != 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	if len(rep.Members) != 2 || rep.Members[0].Name != "team-lead" {
		t.Errorf("%+v", rep.Members)
	}
	if _, ok := map[string]bool{"handshake": true, "stopped": true}[rep.Members[0].Left]; !ok {
		t.Errorf("the lead: %+v", rep.Members[0])
	}
}

// TestRunWorkerDies: a process that ends before it is ready ends the run, and a note has its last
// words.
func TestRunWorkerDies(t *testing.T) {
	t.Parallel()
	op, said := fresh(t), &operatortest.Heard{}
	op.Backends = []spawn.Backend{&elsewhere{in: spawn.InProcess(func(_ context.Context, _ spawn.Spec, out io.Writer) spawn.Exit {
		fmt.Fprintln(out, "no legs")
		return spawn.Exit{Code: 3}
	})}}
	f := parse(t, op, "team: api\nmembers: [{name: ann, agent: puppet, backend: elsewhere}]\ntasks: [{subject: A, owner: ann, instructions: say hello}]\n")
	rep, err := supervise.Of(op).Run(t.Context(), f, supervise.RunOptions{Headless: true, Note: said.Note})
	if err != nil || rep.Kind != operator.Died || rep.Reason != "worker died: ann" || rep.Members[0].Left != record.LeftDied {
		t.Fatalf("%+v, %v", rep, err)
	}
	if said.Of("left", "died") != 1 {
		t.Errorf("told %+v", said.All())
	}
}
