package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/task"
)

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
