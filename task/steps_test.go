package task_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/task"
)

type jsonRaw = json.RawMessage

func TestAssign(t *testing.T) {
	t.Parallel()
	l, _ := newList(t)
	create(t, l, task.Task{Subject: "s", Description: "d"})
	got, news, err := l.Assign(t.Context(), "1", "w", protocol.Lead, noon)
	want := &protocol.TaskAssignment{TaskID: "1", Subject: "s", Description: "d", AssignedBy: "team-lead", Timestamp: "2026-11-20T12:00:00.123Z"}
	if diff := cmp.Diff(want, news); err != nil || diff != "" || got.Owner != "w" || got.Status != task.Pending {
		t.Errorf("%+v %v %s", got, err, diff)
	}
	for _, same := range []protocol.MemberName{"w", "W"} {
		if got, news, err := l.Assign(t.Context(), "1", same, "w", noon); err != nil || news != nil || got.Owner != "w" {
			t.Errorf("the same owner: %+v %v %v", got, news, err)
		}
	}
	if _, err := l.Start(t.Context(), "1", "w"); err != nil {
		t.Fatal(err)
	}
	if got, news, err := l.Assign(t.Context(), "1", "v", "w", noon); err != nil || news == nil || got.Owner != "v" || got.Status != task.InProgress {
		t.Errorf("handed over: %+v %v %v", got, news, err)
	}
	if got, news, err := l.Assign(t.Context(), "1", "", "v", noon); err != nil || news != nil || got.Owner != "" || got.Status != task.Pending {
		t.Errorf("given back: %+v %v %v", got, news, err)
	}
	if _, _, err := l.Assign(t.Context(), "1", "../w", protocol.Lead, noon); err == nil {
		t.Error("owner is a path")
	}
	if _, _, err := l.Assign(t.Context(), "1", "w", "../w", noon); err == nil {
		t.Error("by is a path")
	}
	if _, _, err := l.Assign(t.Context(), "2", "w", protocol.Lead, noon); !errors.As(err, new(*task.NotFoundError)) {
		t.Error(err)
	}
	if _, err := l.Update(t.Context(), "1", func(t *task.Task) error { t.Owner, t.Status = "w", task.Completed; return nil }); err != nil {
		t.Fatal(err)
	}
	_, _, err = l.Assign(t.Context(), "1", "v", protocol.Lead, noon)
	refused(t, "completed", err, task.AlreadyResolved)
}

func TestSteps(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	create(t, l, task.Task{BlockedBy: []task.ID{"1"}, Owner: "w"})
	steps := map[string]func(task.ID, protocol.MemberName) (task.Task, error){
		"start":    func(id task.ID, m protocol.MemberName) (task.Task, error) { return l.Start(t.Context(), id, m) },
		"complete": func(id task.ID, m protocol.MemberName) (task.Task, error) { return l.Complete(t.Context(), id, m) },
		"claim":    func(id task.ID, m protocol.MemberName) (task.Task, error) { return l.Claim(t.Context(), id, m) },
	}
	no := func(step string, id task.ID, m protocol.MemberName, why string, tasks ...task.ID) {
		t.Helper()
		_, err := steps[step](id, m)
		refused(t, step+" "+string(id)+" by "+string(m), err, why, tasks...)
		if errors.As(err, new(*task.NotFoundError)) != (why == task.TaskNotFound) {
			t.Errorf("%s %s: not found is also a *NotFoundError: %v", step, id, err)
		}
	}
	yes := func(step string, id task.ID, m protocol.MemberName, owner string, status task.Status) {
		t.Helper()
		got, err := steps[step](id, m)
		if err != nil || got.Owner != owner || got.Status != status {
			t.Errorf("%s %s by %s: %s %s %v", step, id, m, got.Owner, got.Status, err)
		}
		onDisk := get(t, l, id)
		if diff := cmp.Diff(got, onDisk, ignoreKept); diff != "" {
			t.Errorf("%s %s: returned is not what was written: %s", step, id, diff)
		}
	}
	for step := range steps {
		no(step, "9", "w", task.TaskNotFound)
		no(step, "../1", "w", task.TaskNotFound)
		no(step, "2", "w", task.IsBlocked, "1")
		no(step, "2", "v", task.AlreadyClaimed)
	}
	no("start", "1", "w", task.NotOwner)
	no("complete", "1", "w", task.NotOwner)
	yes("claim", "1", "v", "v", task.InProgress)
	yes("claim", "1", "V", "v", task.InProgress)
	yes("start", "1", "v", "v", task.InProgress)
	no("claim", "1", "w", task.AlreadyClaimed)
	no("start", "1", "w", task.AlreadyClaimed)
	no("complete", "1", "w", task.AlreadyClaimed)
	no("start", "2", "w", task.IsBlocked, "1")
	yes("complete", "1", "v", "v", task.Completed)
	before := read(t, filepath.Join(dir, "1.json"))
	yes("complete", "1", "v", "v", task.Completed)
	no("complete", "1", "w", task.AlreadyResolved)
	no("start", "1", "v", task.AlreadyResolved)
	no("claim", "1", "v", task.AlreadyResolved)
	if got := read(t, filepath.Join(dir, "1.json")); got != before {
		t.Errorf("%s", got)
	}
	// Completing frees 2 though its blockedBy stays; one step may be skipped.
	yes("complete", "2", "w", "w", task.Completed)
	if got := get(t, l, "2"); len(got.BlockedBy) != 1 {
		t.Errorf("blockedBy is not pruned: %v", got.BlockedBy)
	}
	write(t, filepath.Join(dir, "3.json"), `{"id":"3","status":"deleted"}`)
	write(t, filepath.Join(dir, "4.json"), `{"id":"4","status":"waiting"}`)
	no("claim", "3", "w", task.TaskNotFound)
	no("claim", "4", "w", task.BadStatus)
	if _, err := l.Claim(t.Context(), "4", "../w"); err == nil {
		t.Error("claimed by a path")
	}
}

// TestUnreadableBlockerBlocks: a blocker that cannot be read may be open.
func TestUnreadableBlockerBlocks(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	create(t, l, task.Task{BlockedBy: []task.ID{"1"}})
	write(t, filepath.Join(dir, "1.json"), "{")
	_, err := l.Claim(t.Context(), "2", "w")
	refused(t, "broken", err, task.IsBlocked, "1")
	testenv.Must(t, os.Remove(filepath.Join(dir, "1.json")))
	if _, err := l.Claim(t.Context(), "2", "w"); err != nil {
		t.Errorf("gone is done: %v", err)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	for _, in := range []task.Task{
		{Owner: "w"}, {Owner: "w", Status: task.InProgress}, {Owner: "W", Status: task.InProgress}, {Owner: "w", Status: task.Completed},
		{Owner: "v", Status: task.InProgress}, {},
	} {
		create(t, l, in)
	}
	write(t, filepath.Join(dir, "7.json"), "{")
	got, err := l.ReleaseNoted(t.Context(), "w", nil)
	equal(t, "ids", []task.ID{"1", "2", "3"}, got)
	if !errors.As(err, new(*task.CorruptError)) {
		t.Errorf("what could not be read is reported: %v", err)
	}
	testenv.Must(t, os.Remove(filepath.Join(dir, "7.json")))
	var after []string
	all, _, err := l.All(t.Context())
	for _, x := range all {
		after = append(after, x.Owner+" "+string(x.Status))
	}
	want := []string{" pending", " pending", " pending", "w completed", "v in_progress", " pending"}
	if diff := cmp.Diff(want, after); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// An owner that was is written as "", as the real client does.
	if got := read(t, filepath.Join(dir, "2.json")); !strings.Contains(got, `"owner": ""`) {
		t.Error(got)
	}
	if got, err := l.ReleaseNoted(t.Context(), "w", nil); got != nil || err != nil {
		t.Errorf("again: %v %v", got, err)
	}
}

func TestStateErrorText(t *testing.T) {
	t.Parallel()
	err := &task.StateError{ID: "3", Status: task.Pending, Owner: "bob", Why: task.IsBlocked, Tasks: []task.ID{"1", "x\x1b[2J"}}
	want := `task 3: blocked ("1", "x\x1b[2J"); status "pending", owner "bob"`
	if err.Error() != want {
		t.Errorf("%s, want %s", err, want)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "w1")
	want := task.State{
		AgentID: "w1@api", Status: "complete", StartedAt: protocol.FormatTime(noon), LastActiveAt: protocol.FormatTime(noon), CompletedAt: protocol.FormatTime(noon),
		Metrics: &task.Metrics{TokensUsed: 12500, TasksCompleted: 3, AvgResponseTime: 120.5},
	}
	testenv.Must(t, task.WriteState(dir, want))
	text := `{
  "agentId": "w1@api",
  "status": "complete",
  "startedAt": "2026-11-20T12:00:00.123Z",
  "lastActiveAt": "2026-11-20T12:00:00.123Z",
  "completedAt": "2026-11-20T12:00:00.123Z",
  "metrics": {
    "tokens_used": 12500,
    "tasks_completed": 3,
    "avg_response_time": 120.5
  }
}`
	equal(t, "the file", text, read(t, filepath.Join(dir, "task-status.json")))
	got, err := task.ReadState(dir)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	want = task.State{AgentID: "w1@api", Status: "error", ErrorMessage: "<it> broke"}
	testenv.Must(t, task.WriteState(dir, want))
	if got, err := task.ReadState(dir); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%+v %v", got, err)
	}
	for content, ok := range map[string]bool{
		`{}`: true, `{"Status":"idle","x":1}`: true, `{"status":7}`: false, `{"metrics":[]}`: false, `{"metrics":{"tokens_used":"1"}}`: false, `{`: false, ``: false, `[]`: false,
	} {
		write(t, filepath.Join(dir, "task-status.json"), content)
		got, err := task.ReadState(dir)
		if ok && (err != nil || got != task.State{}) || !ok && !errors.As(err, new(*task.CorruptError)) {
			t.Errorf("%s: %+v %v", content, got, err)
		}
	}
	if err := task.WriteState(filepath.Join(dir, "no", "parent"), want); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory above must be there: %v", err)
	}
	if _, err := task.ReadState(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	testenv.Must(t, os.Remove(filepath.Join(dir, "task-status.json")))
	secret := filepath.Join(dir, "secret")
	write(t, secret, "secret")
	if err := os.Link(secret, filepath.Join(dir, "task-status.json")); err == nil {
		if err := task.WriteState(dir, want); err != nil || read(t, secret) != "secret" {
			t.Errorf("a second name of another file: %v, %q", err, read(t, secret))
		}
		testenv.Must(t, os.Remove(filepath.Join(dir, "task-status.json")))
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "task-status.json")); err == nil {
		if err := task.WriteState(dir, want); !errors.Is(err, task.ErrNotRegular) {
			t.Errorf("a link: %v", err)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ann")
	if _, err := task.Files(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range []string{"artifacts/b.md", "artifacts/a/deep.csv", "output.log", "output.log.1", "task-status.json", "notes.txt", "outputs"} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), name)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Join(secret, "key"), "key")
	if err := errors.Join(os.Symlink(secret, filepath.Join(dir, "artifacts", "link")), os.Symlink(filepath.Join(secret, "key"), filepath.Join(dir, "artifacts", "key"))); err != nil {
		t.Skip(err)
	}
	files, err := task.Files(dir)
	testenv.Must(t, err)
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprint(f.Kind, " ", f.Path, " ", f.Size))
		if f.Modified.IsZero() {
			t.Errorf("%s has no time", f.Path)
		}
	}
	want := "log output.log 10, log output.log.1 12, status task-status.json 16, artifact artifacts/a/deep.csv 20, artifact artifacts/b.md 14"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	for _, f := range files {
		r, err := task.OpenFile(dir, f.Path)
		testenv.Must(t, err)
		b, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(b) != f.Path {
			t.Errorf("%s: %q %v", f.Path, b, err)
		}
	}
	for _, bad := range []string{"", "../secret/key", "artifacts/../../x", "/etc/passwd", "artifacts/link/key", "artifacts/key", "artifacts", "artifacts/none"} {
		if r, err := task.OpenFile(dir, bad); err == nil {
			t.Errorf("%q was opened", bad)
			r.Close()
		}
	}
	// A directory behind a link is refused.
	testenv.Must(t, os.Symlink(dir, dir+"-link"))
	if _, err := task.Files(dir + "-link"); err == nil {
		t.Error("a link was followed")
	}
	if err := task.WriteState(dir+"-link", task.State{Status: task.MemberIdle}); err == nil {
		t.Error("a status was written behind a link")
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	for _, name := range []string{"bob", "ann", "7", "..x", "file"} {
		if name == "file" {
			write(t, filepath.Join(dir, name), "")
			continue
		}
		testenv.Must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	names, err := l.Members()
	if err != nil || fmt.Sprint(names) != "[ann bob]" || l.MemberDir("ann") != filepath.Join(dir, "ann") {
		t.Errorf("%v %v", names, err)
	}
	// Its files are no tasks.
	write(t, filepath.Join(dir, "ann", "9.json"), `{"id":"9"}`)
	if all, problems, err := l.All(t.Context()); err != nil || len(all) != 1 || len(problems) > 0 {
		t.Error(all, problems, err)
	}
}
