package task_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/protocol"
	"waggle/task"
)

// model is what the list should hold, in the plainest form.
type model struct {
	list  *task.List
	dir   string
	tasks map[int]*entry
	next  int
}

type entry struct {
	owner     string
	status    task.Status
	blockedBy []int
	blocks    []int
}

func (m *model) open(n int) bool {
	e, ok := m.tasks[n]
	return ok && e.status != task.Completed
}

func (m *model) blocked(e *entry) bool { return slices.ContainsFunc(e.blockedBy, m.open) }

// waits reports whether a waits for b, directly or through others.
func (m *model) waits(a, b int, seen map[int]bool) bool {
	if a == b {
		return true
	}
	e, ok := m.tasks[a]
	if !ok || seen[a] {
		return false
	}
	seen[a] = true
	return slices.ContainsFunc(e.blockedBy, func(n int) bool { return m.waits(n, b, seen) })
}

func anID(t *rapid.T, m *model, label string) int { return rapid.IntRange(1, m.next).Draw(t, label) }

func aName(t *rapid.T) protocol.MemberName {
	return rapid.SampledFrom([]protocol.MemberName{"w1", "w2", "w3"}).Draw(t, "name")
}

func id(n int) task.ID { return task.ID(strconv.Itoa(n)) }

func why(err error) string {
	var state *task.StateError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &state):
		return state.Why
	case errors.As(err, new(*task.NotFoundError)):
		return task.TaskNotFound
	}
	return "unexpected: " + err.Error()
}

func (m *model) create(t *rapid.T) {
	e := &entry{status: task.Pending}
	want := ""
	for _, b := range slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(1, m.next), 0, 3).Draw(t, "blockers")))) {
		if _, ok := m.tasks[b]; !ok {
			want = task.UnknownBlocker
		}
		e.blockedBy = append(e.blockedBy, b)
	}
	in := task.Task{Subject: rapid.String().Draw(t, "subject")}
	for _, b := range e.blockedBy {
		in.BlockedBy = append(in.BlockedBy, id(b))
	}
	got, err := m.list.Create(context.Background(), in)
	if why(err) != want || err == nil && got.ID != id(m.next) {
		t.Fatalf("create %d after %v: %s %v, want %q", m.next, e.blockedBy, got.ID, err, want)
	}
	if err != nil {
		return
	}
	for _, b := range e.blockedBy {
		m.tasks[b].blocks = append(m.tasks[b].blocks, m.next)
	}
	m.tasks[m.next] = e
	m.next++
}

func (m *model) link(t *rapid.T) {
	n, b := anID(t, m, "task"), anID(t, m, "blocker")
	drop := rapid.Bool().Draw(t, "drop")
	e, ok := m.tasks[n]
	_, known := m.tasks[b]
	has := ok && slices.Contains(e.blockedBy, b)
	want := ""
	switch {
	case !ok:
		want = task.TaskNotFound
	case drop, has:
	case !known:
		want = task.UnknownBlocker
	case m.waits(b, n, map[int]bool{}):
		want = task.Cycle
	}
	_, err := m.list.Update(context.Background(), id(n), func(t *task.Task) error {
		if drop {
			t.BlockedBy = slices.DeleteFunc(t.BlockedBy, func(x task.ID) bool { return x == id(b) })
		} else if !slices.Contains(t.BlockedBy, id(b)) {
			t.BlockedBy = append(t.BlockedBy, id(b))
		}
		return nil
	})
	if why(err) != want {
		t.Fatalf("link %d to %d, drop %v: %v, want %q", n, b, drop, err, want)
	}
	switch {
	case want != "":
	case drop && has:
		e.blockedBy = slices.DeleteFunc(e.blockedBy, func(x int) bool { return x == b })
		if known {
			m.tasks[b].blocks = slices.DeleteFunc(m.tasks[b].blocks, func(x int) bool { return x == n })
		}
	case !drop && !has:
		e.blockedBy = append(e.blockedBy, b)
		m.tasks[b].blocks = append(m.tasks[b].blocks, n)
	}
}

// step is Start, Complete and Claim, whose rules differ in a few lines.
func (m *model) step(verb string) func(*rapid.T) {
	return func(t *rapid.T) {
		n, me := anID(t, m, "task"), aName(t)
		e, ok := m.tasks[n]
		want, status := "", task.InProgress
		if verb == "complete" {
			status = task.Completed
		}
		switch {
		case !ok:
			want = task.TaskNotFound
		case e.status == task.Completed:
			if verb != "complete" || e.owner != string(me) {
				want = task.AlreadyResolved
			}
		case e.owner == "" && verb != "claim":
			want = task.NotOwner
		case e.owner != "" && e.owner != string(me):
			want = task.AlreadyClaimed
		case e.status == task.Pending && m.blocked(e):
			want = task.IsBlocked
		}
		call := map[string]func(context.Context, task.ID, protocol.MemberName) (task.Task, error){
			"start": m.list.Start, "complete": m.list.Complete, "claim": m.list.Claim,
		}[verb]
		if _, err := call(context.Background(), id(n), me); why(err) != want {
			t.Fatalf("%s %d by %s: %v, want %q", verb, n, me, err, want)
		}
		if want == "" {
			e.owner, e.status = string(me), status
		}
	}
}

// busy reports whether a member has another task than n in progress, and not n.
func (m *model) busy(me protocol.MemberName, n int) bool {
	if e, ok := m.tasks[n]; ok && e.owner == string(me) && e.status == task.InProgress {
		return false
	}
	for _, e := range m.tasks {
		if e.owner == string(me) && e.status == task.InProgress {
			return true
		}
	}
	return false
}

func (m *model) claimIdle(t *rapid.T) {
	n, me := anID(t, m, "task"), aName(t)
	e, ok := m.tasks[n]
	want := ""
	switch {
	case ok && e.status == task.Completed:
		want = task.AlreadyResolved
	case ok && e.owner != "" && e.owner != string(me):
		want = task.AlreadyClaimed
	case m.busy(me, n):
		want = task.AgentBusy
	case !ok:
		want = task.TaskNotFound
	case e.status == task.Pending && m.blocked(e):
		want = task.IsBlocked
	}
	if _, err := m.list.ClaimIdle(context.Background(), id(n), me); why(err) != want {
		t.Fatalf("claim %d by idle %s: %v, want %q", n, me, err, want)
	}
	if want == "" {
		e.owner, e.status = string(me), task.InProgress
	}
}

func (m *model) claimNext(t *rapid.T) {
	me := aName(t)
	want, next := task.NothingToClaim, 0
	for _, n := range slices.Sorted(maps.Keys(m.tasks)) {
		if e := m.tasks[n]; next == 0 && e.status == task.Pending && e.owner == "" && !m.blocked(e) {
			want, next = "", n
		}
	}
	if m.busy(me, 0) {
		want = task.AgentBusy
	}
	got, err := m.list.ClaimNext(context.Background(), me)
	if why(err) != want || err == nil && got.ID != id(next) {
		t.Fatalf("next for %s: %s %v, want %d %q", me, got.ID, err, next, want)
	}
	if want == "" {
		m.tasks[next].owner, m.tasks[next].status = string(me), task.InProgress
	}
}

func (m *model) assign(t *rapid.T) {
	n, to := anID(t, m, "task"), aName(t)
	e, ok := m.tasks[n]
	want, news := "", false
	switch {
	case !ok:
		want = task.TaskNotFound
	case e.status == task.Completed && e.owner != string(to):
		want = task.AlreadyResolved
	default:
		news = e.owner != string(to)
	}
	_, payload, err := m.list.Assign(context.Background(), id(n), to, protocol.Lead, noon)
	if why(err) != want || (payload != nil) != news {
		t.Fatalf("assign %d to %s: %v %v, want %q %v", n, to, payload, err, want, news)
	}
	if want == "" {
		e.owner = string(to)
	}
}

func (m *model) pause(t *rapid.T) {
	n, me := anID(t, m, "task"), aName(t)
	e, ok := m.tasks[n]
	want := ""
	switch {
	case !ok:
		want = task.TaskNotFound
	case e.status == task.Completed:
		want = task.AlreadyResolved
	case e.owner == "":
		want = task.NotOwner
	case e.owner != string(me):
		want = task.AlreadyClaimed
	}
	if _, err := m.list.Pause(context.Background(), id(n), me); why(err) != want {
		t.Fatalf("pause %d by %s: %v, want %q", n, me, err, want)
	}
	if want == "" {
		e.status = task.Pending
	}
}

func (m *model) release(t *rapid.T) {
	who := aName(t)
	var want []task.ID
	for _, n := range slices.Sorted(maps.Keys(m.tasks)) {
		if e := m.tasks[n]; e.owner == string(who) && e.status != task.Completed {
			e.owner, e.status = "", task.Pending
			want = append(want, id(n))
		}
	}
	note := task.NewReleased(who, "died", noon)
	if rapid.Bool().Draw(t, "silent") {
		note = nil
	}
	if got, err := m.list.ReleaseNoted(context.Background(), who, note); err != nil || !slices.Equal(got, want) {
		t.Fatalf("release %s: %v %v, want %v", who, got, err, want)
	}
}

func (m *model) remove(t *rapid.T) {
	n := anID(t, m, "task")
	_, ok := m.tasks[n]
	want := ""
	if !ok {
		want = task.TaskNotFound
	}
	if err := m.list.Delete(context.Background(), id(n)); why(err) != want {
		t.Fatalf("delete %d: %v, want %q", n, err, want)
	}
	delete(m.tasks, n)
	for _, e := range m.tasks {
		e.blocks = slices.DeleteFunc(e.blocks, func(x int) bool { return x == n })
	}
}

func (m *model) check(t *rapid.T) {
	all, problems, err := m.list.All(context.Background())
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var got, want []string
	for _, x := range all {
		blocks := slices.Sorted(slices.Values(x.Blocks))
		if r, ok := x.Released(); ok && (x.Owner != "" || r.Why != "died" || r.At == "") {
			t.Fatalf("task %s says it was given back: %+v", x.ID, r)
		}
		if open, err := m.list.Blockers(context.Background(), x.ID); err != nil || !slices.Equal(open, task.Blocked(x, all)) {
			t.Fatalf("task %s waits for %v %v", x.ID, open, err)
		}
		got = append(got, fmt.Sprint(x.ID, x.Owner, x.Status, x.BlockedBy, blocks, len(task.Blocked(x, all)) > 0))
	}
	for _, n := range slices.Sorted(maps.Keys(m.tasks)) {
		e := m.tasks[n]
		blocks := []task.ID{}
		for _, x := range e.blocks {
			blocks = append(blocks, id(x))
		}
		slices.Sort(blocks)
		want = append(want, fmt.Sprint(id(n), e.owner, e.status, e.blockedBy, blocks, m.blocked(e)))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("on disk\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestModel walks at random through every operation and compares with a model
// after each.
func TestModel(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	walks := 0
	rapid.Check(t, func(t *rapid.T) {
		walks++
		m := &model{dir: filepath.Join(base, strconv.Itoa(walks)), tasks: map[int]*entry{}, next: 1}
		testenv.Must(t, os.Mkdir(m.dir, 0o700))
		var err error
		if m.list, err = task.Open(m.dir, "api", task.Options{}); err != nil {
			t.Fatal(err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "link": m.link, "link again": m.link, "assign": m.assign, "release": m.release, "delete": m.remove,
			"start": m.step("start"), "complete": m.step("complete"), "claim": m.step("claim"),
			"claim when idle": m.claimIdle, "claim next": m.claimNext, "pause": m.pause, "": m.check,
		})
	})
}

// TestGoroutinesUpdateOneTask: no update is lost, with and without links.
func TestGoroutinesUpdateOneTask(t *testing.T) {
	t.Parallel()
	l, _ := newList(t)
	const writers = 12
	for range writers + 1 {
		create(t, l, task.Task{})
	}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := l.Update(context.Background(), "1", func(t *task.Task) error {
				t.Description += "x"
				if i%2 == 0 {
					t.BlockedBy = append(t.BlockedBy, id(i+2))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := get(t, l, "1")
	if got.Description != strings.Repeat("x", writers) || len(got.BlockedBy) != writers/2 {
		t.Errorf("%q %v", got.Description, got.BlockedBy)
	}
	for _, b := range got.BlockedBy {
		if !slices.Equal(get(t, l, b).Blocks, []task.ID{"1"}) {
			t.Errorf("task %s blocks %v", b, get(t, l, b).Blocks)
		}
	}
}

// TestGoroutinesCannotMakeACycle: of the links of a ring one is refused.
func TestGoroutinesCannotMakeACycle(t *testing.T) {
	t.Parallel()
	l, _ := newList(t)
	const ring = 6
	for range ring {
		create(t, l, task.Task{})
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	refusals := 0
	for i := range ring {
		wg.Go(func() {
			_, err := l.Update(context.Background(), id(i+1), func(t *task.Task) error {
				t.BlockedBy = append(t.BlockedBy, id((i+1)%ring+1))
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			switch why(err) {
			case "":
			case task.Cycle:
				refusals++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if refusals != 1 {
		t.Errorf("%d links of a ring were refused", refusals)
	}
}

// shape writes a forest as indented ids.
func shape(all []task.Task) string {
	var b strings.Builder
	for _, br := range task.Forest(all) {
		fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", len(br.Last)), br.Task.ID)
		if len(br.Waits) > 0 {
			fmt.Fprintf(&b, " waits %v", br.Waits)
		}
		if br.Cyclic {
			b.WriteString(" circle")
		}
		if len(br.Missing) > 0 {
			fmt.Fprintf(&b, " gone %v", br.Missing)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestForest(t *testing.T) {
	t.Parallel()
	all := []task.Task{
		{ID: "1", Status: task.Completed}, {ID: "2", BlockedBy: []task.ID{"1"}}, {ID: "3", BlockedBy: []task.ID{"1"}},
		{ID: "4", BlockedBy: []task.ID{"2", "3", "9"}}, {ID: "5", Status: task.Deleted}, {ID: "6"},
		{ID: "7", BlockedBy: []task.ID{"8"}}, {ID: "8", BlockedBy: []task.ID{"7", "7"}}, {ID: "10", BlockedBy: []task.ID{"8"}},
		{ID: "11", BlockedBy: []task.ID{"11"}},
	}
	want := `1
 2
 3
  4 waits [2 3] gone [9]
6
11 waits [11]
7 waits [8] circle
 8 waits [7]
  10 waits [8]
`
	if got := shape(all); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestForestHoldsEverything: each task is in the forest once, whatever the files contain.
func TestForestHoldsEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "tasks")
		var all []task.Task
		for i := range n {
			x := task.Task{ID: id(i + 1), Status: task.Pending}
			for _, b := range rapid.SliceOfN(rapid.IntRange(1, n+2), 0, 3).Draw(t, "blockers") {
				x.BlockedBy = append(x.BlockedBy, id(b))
			}
			all = append(all, x)
		}
		seen := map[task.ID]bool{}
		depth := -1
		for _, b := range task.Forest(all) {
			if seen[b.Task.ID] || len(b.Last) > depth+1 || !slices.Equal(b.Waits, task.Blocked(b.Task, all)) {
				t.Fatalf("%+v after depth %d, seen %v", b, depth, seen[b.Task.ID])
			}
			seen[b.Task.ID], depth = true, len(b.Last)
		}
		if len(seen) != n {
			t.Fatalf("%d of %d tasks", len(seen), n)
		}
	})
}
