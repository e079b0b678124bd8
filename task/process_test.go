package task_test

import (
	"bytes"
	"context"
	"errors"
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

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/task"
)

// The test binary is run again as a helper process with these variables set.
const (
	envRole = "WAGGLE_TASK_TEST_ROLE"
	envDir  = "WAGGLE_TASK_TEST_DIR"
	envArg  = "WAGGLE_TASK_TEST_ARG"
)

func TestMain(m *testing.M) {
	roles := map[string]func(arg string) error{"claim": helperClaim, "next": helperNext, "log": helperLog, "create": helperCreate, "die": helperDie}
	role := os.Getenv(envRole)
	if role == "" {
		testenv.Overlap(3)
		os.Exit(m.Run())
	}
	if err := roles[role](os.Getenv(envArg)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func helper(ctx context.Context, role, dir, arg string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+role, envDir+"="+dir, envArg+"="+arg)
	return cmd
}

func helperList(o task.Options) (*task.List, error) {
	o.Deadline = 30 * time.Second
	return task.Open(os.Getenv(envDir), "api", o)
}

// helperClaim claims every task in its turn and prints the ids it got.
func helperClaim(me string) error {
	l, err := helperList(task.Options{})
	if err != nil {
		return err
	}
	all, _, err := l.All(context.Background())
	if err != nil {
		return err
	}
	for i, t := range all {
		got, err := l.Claim(context.Background(), t.ID, protocol.MemberName(me))
		var state *task.StateError
		switch {
		case err == nil && got.Owner == me:
			fmt.Println(t.ID)
		case errors.As(err, &state) && (state.Why == task.AlreadyClaimed || state.Why == task.AlreadyResolved):
		default:
			return fmt.Errorf("%s: %+v %w", t.ID, got, err)
		}
		if err == nil && i%2 == 0 {
			if _, err := l.Complete(context.Background(), t.ID, protocol.MemberName(me)); err != nil {
				return err
			}
		}
	}
	return nil
}

// helperCreate creates tasks, each blocked by the first, and prints their ids.
func helperCreate(me string) error {
	l, err := helperList(task.Options{})
	if err != nil {
		return err
	}
	for i := range 6 {
		t, err := l.Create(context.Background(), task.Task{Subject: fmt.Sprint(me, " ", i), BlockedBy: []task.ID{"1"}})
		if err != nil {
			return err
		}
		fmt.Println(t.ID)
	}
	return nil
}

// runAll runs n helpers at once and returns the lines each printed.
func runAll(t *testing.T, n int, role, dir string) [][]string {
	t.Helper()
	lines := make([][]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var out bytes.Buffer
			cmd := helper(t.Context(), role, dir, fmt.Sprint("w", i))
			cmd.Stdout, cmd.Stderr = &out, os.Stderr
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
			lines[i] = strings.Fields(out.String())
		})
	}
	wg.Wait()
	return lines
}

// TestNoDoubleClaim: processes claim the same tasks in the same order; each task
// gets one owner (32 claimants, 100 tasks).
func TestNoDoubleClaim(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	claimants, tasks := testenv.Scale(8, 32), testenv.Scale(40, 100)
	for range tasks {
		create(t, l, task.Task{})
	}
	owner := map[string]string{}
	began, double := time.Now(), 0
	for i, got := range runAll(t, claimants, "claim", dir) {
		for _, id := range got {
			if owner[id] != "" {
				double++
				t.Errorf("task %s was claimed by %s and w%d", id, owner[id], i)
			}
			owner[id] = fmt.Sprint("w", i)
		}
	}
	if len(owner) != tasks {
		t.Errorf("%d of %d claimed", len(owner), tasks)
	}
	testenv.Measured(t, "%d claimants, %d tasks: %d claimed, %d twice, in %s", claimants, tasks, len(owner), double, time.Since(began).Round(time.Millisecond))
	all, problems, err := l.All(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for _, x := range all {
		if x.Owner != owner[string(x.ID)] {
			t.Errorf("task %s is %s's on disk, %s was told it has it", x.ID, x.Owner, owner[string(x.ID)])
		}
	}
}

// helperNext claims the next task until none is left and prints each.
func helperNext(me string) error {
	l, err := helperList(task.Options{})
	if err != nil {
		return err
	}
	for {
		got, err := l.ClaimNext(context.Background(), protocol.MemberName(me))
		var state *task.StateError
		switch {
		case errors.As(err, &state) && state.Why == task.NothingToClaim:
			return nil
		case err != nil:
			return err
		}
		fmt.Println(got.ID)
		if again, err := l.ClaimIdle(context.Background(), "1", protocol.MemberName(me)); err == nil && again.ID != got.ID {
			return fmt.Errorf("%s has %s and got %s", me, got.ID, again.ID)
		}
		if _, err := l.Complete(context.Background(), got.ID, protocol.MemberName(me)); err != nil {
			return err
		}
	}
}

// TestIdleMembersClaim: members that claim the next task until none is left do each task once, a
// chain of dependencies in order.
func TestIdleMembersClaim(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	const tasks = 20
	create(t, l, task.Task{})
	for i := 2; i <= tasks; i++ {
		blocked := task.Task{}
		if i%3 == 0 {
			blocked.BlockedBy = []task.ID{task.ID(strconv.Itoa(i - 1))}
		}
		create(t, l, blocked)
	}
	did := map[string]int{}
	for _, got := range runAll(t, 5, "next", dir) {
		for _, id := range got {
			did[id]++
		}
	}
	all, _, err := l.All(t.Context())
	testenv.Must(t, err)
	for _, x := range all {
		// A member may stop while the last tasks still wait for another's.
		if did[string(x.ID)] > 1 || (did[string(x.ID)] == 1) != (x.Status == task.Completed) {
			t.Errorf("task %s was done %d times and is %s", x.ID, did[string(x.ID)], x.Status)
		}
	}
	if len(did) < tasks-5 {
		t.Errorf("%d of %d done", len(did), tasks)
	}
}

// TestNoIDTwice: processes create at once, beside an outsider that writes files
// without any lock.
func TestNoIDTwice(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	foreign := map[string]bool{}
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Error(err)
				return
			}
			highest := 0
			for _, e := range entries {
				n, _ := strconv.Atoi(strings.TrimSuffix(e.Name(), ".json"))
				highest = max(highest, n)
			}
			id := strconv.Itoa(highest + 2)
			f, err := os.OpenFile(filepath.Join(dir, id+".json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				continue
			}
			foreign[id] = true
			_, err = f.WriteString(`{"id":"` + id + `","subject":"outsider","status":"pending","blocks":[],"blockedBy":[]}`)
			if err := errors.Join(err, f.Close()); err != nil {
				t.Error(err)
			}
		}
	})
	given := map[string]bool{}
	for _, got := range runAll(t, 6, "create", dir) {
		for _, id := range got {
			if given[id] {
				t.Errorf("id %s was given twice", id)
			}
			given[id] = true
		}
	}
	close(stop)
	wg.Wait()
	all, problems, err := l.All(t.Context())
	if err != nil || len(problems) > 0 || len(given) != 36 {
		t.Fatal(len(given), err, problems)
	}
	for _, x := range all[1:] {
		if given[string(x.ID)] == foreign[string(x.ID)] || foreign[string(x.ID)] != (x.Subject == "outsider") {
			t.Errorf("task %s: %q, ours %v, outsider's %v", x.ID, x.Subject, given[string(x.ID)], foreign[string(x.ID)])
		}
	}
	if len(all) != 1+len(given)+len(foreign) {
		t.Errorf("%d tasks of %d and %d", len(all), len(given), len(foreign))
	}
	if got := get(t, l, "1"); len(got.Blocks) != 36 {
		t.Errorf("task 1 blocks %d of 36", len(got.Blocks))
	}
	t.Logf("%d ids given beside %d of an outsider", len(given), len(foreign))
}

// killSelf ends this process at once.
func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGKILL)
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// helperDie kills itself at the n-th step of creating a task.
func helperDie(arg string) error {
	step, err := strconv.Atoi(arg)
	if err != nil {
		return err
	}
	l, err := helperList(task.Options{Hook: func(name string) {
		if step--; step < 0 {
			fmt.Println(name)
			killSelf()
		}
	}})
	if err == nil {
		_, err = l.Create(context.Background(), task.Task{Subject: "killed", Blocks: []task.ID{"2"}, BlockedBy: []task.ID{"1"}})
	}
	return err
}

// TestKilledWhileCreating kills a creator at its steps, at every second one
// unless there is time for all: every file stays whole, ids go on, and the next
// create works at once.
func TestKilledWhileCreating(t *testing.T) {
	testenv.Long(t)
	stride := testenv.Scale(2, 1)
	steps := int(testenv.Seed(t) % uint64(stride))
	for ; ; steps += stride {
		l, dir := newList(t)
		create(t, l, task.Task{})
		create(t, l, task.Task{})
		out, err := helper(t.Context(), "die", dir, strconv.Itoa(steps)).Output()
		if err == nil {
			break
		}
		at := fmt.Sprint(steps, " ", strings.TrimSpace(string(out)))
		if len(out) == 0 {
			t.Fatalf("%s: the helper failed before it: %v", at, err)
		}
		all, problems, err := l.All(t.Context())
		if err != nil || len(problems) > 0 || len(all) < 2 || len(all) > 3 {
			t.Errorf("%s: %v %q %v", at, all, problems, err)
		}
		if len(all) == 3 && (all[2].ID != "3" || all[2].Subject != "killed" || len(task.Blocked(all[2], all)) != 1) {
			t.Errorf("%s: %+v", at, all[2])
		}
		if len(all) == 2 && (len(task.Blocked(all[0], all)) > 0 || len(task.Blocked(all[1], all)) > 0) {
			t.Errorf("%s: blocked by what is not there: %+v", at, all)
		}
		began := time.Now()
		next := create(t, l, task.Task{BlockedBy: []task.ID{"1"}})
		testenv.Within(t, at+": the next create", time.Since(began), 3*time.Second)
		if next.ID != "3" && next.ID != "4" || len(all) == 3 && next.ID != "4" {
			t.Errorf("%s: next id %s", at, next.ID)
		}
	}
	if steps < 40 {
		t.Errorf("only %d steps: this test shows little", steps)
	}
	t.Logf("killed at every step of %d, by %d", steps, stride)
}
