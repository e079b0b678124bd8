package task_test

import (
	"slices"
	"strings"
	"testing"

	"waggle/task"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	const good = `{"id":"3","subject":"s","description":"d","status":"pending","blocks":["4"],"blockedBy":[]}`
	for _, c := range []struct{ what, from, to, want string }{
		{"as it is", "", "", ""},
		{"optional keys", `"s",`, `"s","owner":"w","activeForm":"a","metadata":{"k":1},"mine":2,`, ""},
		{"id", `"3"`, `"5"`, `/id: "5" is not that of the file, "3"`},
		{"no id", `"id":"3",`, "", "/id: is missing"},
		{"status", "pending", "done", `/status: "done" is not pending`},
		{"blocks", `["4"]`, `"4"`, "/blocks: is string, want array"},
		{"a number", `["4"]`, `["4",5]`, "/blocks/1: is number, want string"},
		{"itself", `[]`, `["3"]`, "/blockedBy/0: is the task itself"},
		{"no id in it", `["4"]`, `["x"]`, `/blocks/0: "x" is not a task id`},
		{"owner", `"s",`, `"s","owner":1,`, "/owner: is number, want string"},
		{"twice", `"s",`, `"s","id":"3",`, "/id: occurs more than once"},
		{"torn", `}`, ``, ": byte"},
	} {
		got := task.Validate([]byte(strings.Replace(good, c.from, c.to, 1)), "3")
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0].String(), c.want) {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
}

func TestValidateStatus(t *testing.T) {
	t.Parallel()
	const good = `{"agentId":"a@api","status":"complete","startedAt":"2026-02-16T10:35:00.000Z","lastActiveAt":"2026-02-16T11:30:00.000Z","metrics":{"tokens_used":1,"tasks_completed":3,"avg_response_time":1.5}}`
	for _, c := range []struct{ what, from, to, want string }{
		{"as it is", "", "", ""},
		{"status", "complete", "busy", `/status: "busy" is not running`},
		{"no start", `"startedAt":"2026-02-16T10:35:00.000Z",`, "", "/startedAt: is missing"},
		{"metrics", `"tokens_used":1`, `"tokens_used":"1"`, "/metrics/tokens_used: is string, want number"},
		{"error", `"metrics"`, `"errorMessage":1,"metrics"`, "/errorMessage: is number, want string"},
	} {
		got := task.ValidateStatus([]byte(strings.Replace(good, c.from, c.to, 1)))
		if (len(got) == 0) != (c.want == "") || len(got) > 0 && !strings.HasPrefix(got[0].String(), c.want) {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
	for data, valid := range map[string]bool{"7": true, "7\n": true, "0": true, "": false, "-1": false, "x": false} {
		if got := task.ValidateHigh([]byte(data)); (len(got) == 0) != valid {
			t.Errorf("%q: %v", data, got)
		}
	}
}

func TestCircles(t *testing.T) {
	t.Parallel()
	on := func(id task.ID, by ...task.ID) task.Task {
		return task.Task{ID: id, Status: task.Pending, BlockedBy: by}
	}
	done := on("5", "6")
	done.Status = task.Completed
	got := task.Circles([]task.Task{on("1", "2"), on("2", "3"), on("3", "2", "9"), on("4", "1"), done, on("6", "5"), on("7", "7")})
	if !slices.Equal(got, []task.ID{"2", "3", "7"}) {
		t.Errorf("%v", got)
	}
}
