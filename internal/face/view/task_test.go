package view_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/policy"
	"waggle/protocol"
	"waggle/task"
)

func tasks() *board.TaskList {
	view := func(id task.ID, s task.Status, waits ...task.ID) board.TaskView {
		return board.TaskView{ID: id, Subject: "task " + string(id), Owner: "ann", Status: s, State: board.TaskState(s), BlockedBy: waits, Blocked: len(waits) > 0, WaitsFor: waits}
	}
	failed := view("4", task.Pending)
	failed.Note.Text, failed.State = "failed: exit 1", board.StateFailed
	asked := view("5", task.InProgress)
	asked.Note = operator.Sentence{Text: "ann says by file that it is done", Do: operator.Next{Step: operator.NextConfirmTask, ID: "5"}}
	return &board.TaskList{Team: "api",
		Tasks: []board.TaskView{view("1", task.Completed), view("2", task.Pending, "5"), view("3", task.Pending), failed, asked},
		Forest: []task.Branch{{Task: task.Task{ID: "1"}}, {Task: task.Task{ID: "5"}}, {Task: task.Task{ID: "2"}, Last: []bool{false}},
			{Task: task.Task{ID: "3"}, Last: []bool{false, true}}, {Task: task.Task{ID: "4"}, Last: []bool{true, false}, Cyclic: true}}}
}

func TestTasks(t *testing.T) {
	of := func(protocol.TeamName) page.Spell { return spell }
	golden(t, "tasks", view.Tasks(of, tasks()))
	golden(t, "tasks_empty", view.Tasks(of, &board.TaskList{}))
	samePage(t, "tasks", view.TasksPage(tasks(), spell))
	samePage(t, "task_tree", view.TaskTreePage(tasks(), spell))
	plain := &board.TaskList{Tasks: tasks().Tasks[2:3], Forest: []task.Branch{{Task: task.Task{ID: "3"}}}}
	samePage(t, "task_tree_plain", view.TaskTreePage(plain, spell))
	if got, want := view.TaskCount(tasks()), "1 of 5 completed, 1 in progress, 1 failed, 1 waiting for others"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := view.TaskCount(plain), "0 of 1 completed, 0 in progress"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTask(t *testing.T) {
	d := &board.TaskDetail{TaskView: tasks().Tasks[4], Description: "first\n  second\n\n", ActiveForm: "Building", Blocks: []task.ID{"2"},
		Metadata: map[string]json.RawMessage{"b": json.RawMessage(`{"x":1}`), "a": json.RawMessage(`"words"`)},
		Order:    &board.TaskOrder{Member: "ann", Seq: 7, At: at(1), By: policy.RoleOperator, Sent: true, SHA256: "ff"}}
	golden(t, "task", map[string]any{"task": d})
	golden(t, "task_empty", map[string]any{"task": board.TaskDetail{}})
	samePage(t, "task", view.TaskPage(d, now, spell))
	samePage(t, "task_empty", view.TaskPage(&board.TaskDetail{TaskView: board.TaskView{ID: "1", Status: task.Pending, State: board.StatePending}}, now, spell))
}

func TestTaskResult(t *testing.T) {
	r := &board.TaskResult{Task: tasks().Tasks[1], Changed: true, Ordered: true}
	said := &board.TaskResult{Task: tasks().Tasks[4], Changed: true}
	free := &board.TaskResult{Task: board.TaskView{ID: "9", Status: task.Pending, State: board.StatePending}}
	golden(t, "task_result", r)
	golden(t, "task_results", map[string]any{"results": []*board.TaskResult{said, free}})
	golden(t, "task_results_empty", map[string]any{"results": []*board.TaskResult(nil)})
	golden(t, "task_released", map[string]any{"released": []task.ID(nil)})
	golden(t, "task_removed", map[string]any{"removed": []task.ID{"1", "2"}})
	var p page.Page
	for _, did := range []view.TaskStep{view.TaskAdded, view.TaskAssigned, view.TaskClaimed, view.TaskMoved, view.TaskReleased} {
		p = append(p, view.TaskResultPage(r, did)...)
	}
	p = append(p, view.TaskResultPage(said, view.TaskAssigned)...)
	same := *said
	same.Changed = false
	p = append(append(p, view.TaskResultPage(&same, view.TaskMoved)...), view.TaskResultPage(free, view.TaskMoved)...)
	p = append(append(p, view.TaskLinksPage(r)...), view.TaskLinksPage(free)...)
	p = append(append(p, view.ReleasedPage([]task.ID{"1", "2"})...), view.RemovedPage([]task.ID{"1"})...)
	samePage(t, "task_result", append(p, view.RemovedPage(nil)...))
	if got := view.TaskWaits(r); got != "it waits for 5" {
		t.Error(got)
	}
	if got := view.TaskWaits(said); got != "" {
		t.Error(got)
	}
}

func TestArtifacts(t *testing.T) {
	rows := []board.ArtifactRow{{Member: "ann", Kind: "log", Path: "output.log", Size: 17, Modified: at(0)}, {Member: "bob", Kind: "artifact", Path: "artifacts/x", Size: 3 << 20}}
	golden(t, "artifacts", map[string]any{"artifacts": rows})
	golden(t, "artifacts_empty", map[string]any{"artifacts": []board.ArtifactRow(nil)})
	samePage(t, "artifacts", view.ArtifactsPage(rows, now))
	for n, want := range map[int64]string{1023: "1023 B", 1536: "1.5 KiB", 5 << 30: "5.0 GiB"} {
		if got := view.Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
