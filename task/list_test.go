package task_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/task"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123e6, time.UTC)

// equal compares what should be with what is.
func equal(t testing.TB, what string, want, got any, o ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, o...); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func open(t *testing.T, dir string, o task.Options) *task.List {
	t.Helper()
	l, err := task.Open(dir, "api", o)
	testenv.Must(t, err)
	return l
}

func newList(t *testing.T) (*task.List, string) {
	t.Helper()
	dir := t.TempDir()
	return open(t, dir, task.Options{}), dir
}

func create(t *testing.T, l *task.List, in task.Task) task.Task {
	t.Helper()
	out, err := l.Create(t.Context(), in)
	testenv.Must(t, err)
	return out
}

func get(t *testing.T, l *task.List, id task.ID) task.Task {
	t.Helper()
	out, err := l.Get(t.Context(), id)
	testenv.Must(t, err)
	return out
}

func write(t *testing.T, path, content string) {
	t.Helper()
	testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.Must(t, err)
	return string(data)
}

// files lists dir without the locks' own files.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	testenv.Must(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".flk") {
			names = append(names, e.Name())
		}
	}
	return names
}

func ids(tasks []task.Task) []task.ID {
	var out []task.ID
	for _, t := range tasks {
		out = append(out, t.ID)
	}
	return out
}

// refused checks that err is a *StateError for this reason.
func refused(t *testing.T, what string, err error, why string, tasks ...task.ID) {
	t.Helper()
	if state, ok := errors.AsType[*task.StateError](err); !ok || state.Why != why || !slices.Equal(state.Tasks, tasks) {
		t.Errorf("%s: %v, want %s %v", what, err, why, tasks)
	}
}

func TestOpenList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := task.Open(filepath.Join(dir, "none"), "api", task.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	write(t, filepath.Join(dir, "file"), "")
	if _, err := task.Open(filepath.Join(dir, "file"), "api", task.Options{}); err == nil {
		t.Error("a file is no list")
	}
	if _, err := task.Open(dir, "../api", task.Options{}); err == nil {
		t.Error("a path is no team")
	}
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err == nil {
		if _, err := task.Open(filepath.Join(dir, "link"), "api", task.Options{}); err == nil {
			t.Error("a link is refused")
		}
	}
	l := open(t, dir, task.Options{})
	if l.Team() != "api" {
		t.Error(l.Team())
	}
	if got, problems, err := l.All(t.Context()); got != nil || problems != nil || err != nil {
		t.Errorf("%v %v %v", got, problems, err)
	}
}

func TestCreateWritesWhatTheRealClientWrites(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	first := create(t, l, task.Task{ID: "99", Subject: "First", Description: "d1"})
	create(t, l, task.Task{Subject: "Second", BlockedBy: []task.ID{"1", "1"}, Owner: "w"})
	if first.ID != "1" || first.Status != task.Pending {
		t.Errorf("%+v", first)
	}
	want := `{
  "id": "1",
  "subject": "First",
  "description": "d1",
  "status": "pending",
  "blocks": [
    "2"
  ],
  "blockedBy": []
}`
	equal(t, "the file", want, read(t, filepath.Join(dir, "1.json")))
	want = `{
  "id": "2",
  "subject": "Second",
  "description": "",
  "owner": "w",
  "status": "pending",
  "blocks": [],
  "blockedBy": [
    "1"
  ]
}`
	equal(t, "the file", want, read(t, filepath.Join(dir, "2.json")))
	equal(t, "files", []string{".highwatermark", ".lock", "1.json", "2.json"}, files(t, dir))
	if read(t, filepath.Join(dir, ".lock")) != "" || read(t, filepath.Join(dir, ".highwatermark")) != "2" {
		t.Errorf("%q %q", read(t, filepath.Join(dir, ".lock")), read(t, filepath.Join(dir, ".highwatermark")))
	}
	if runtime.GOOS != "windows" {
		for _, name := range files(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", name, info.Mode(), err)
			}
		}
	}
}

func TestIDsAreNeverGivenAgain(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	write(t, filepath.Join(dir, "3.json"), asWritten["2.1.211"]) // an outsider's
	if got := create(t, l, task.Task{}); got.ID != "4" {
		t.Errorf("after an outsider's 3: %s", got.ID)
	}
	testenv.Must(t, l.Delete(t.Context(), "4"))
	if got := create(t, l, task.Task{}); got.ID != "5" {
		t.Errorf("after deleting 4: %s", got.ID)
	}
	testenv.Must(t, os.Remove(filepath.Join(dir, "5.json")))
	if got := create(t, l, task.Task{}); got.ID != "6" {
		t.Errorf("after an outsider removed 5: %s", got.ID)
	}
	for content, want := range map[string]task.ID{"40\n": "41", "not a number": "42", "-3": "43", "": "44", "99999999999999999999": "45"} {
		write(t, filepath.Join(dir, ".highwatermark"), content)
		if content == "40\n" {
			if got := create(t, l, task.Task{}); got.ID != want {
				t.Errorf("%q: %s", content, got.ID)
			}
		} else if got := create(t, l, task.Task{}); got.ID == "" || slices.Contains([]task.ID{"3", "6"}, got.ID) {
			t.Errorf("%q: %s", content, got.ID)
		}
	}
	write(t, filepath.Join(dir, "999999999999999.json"), `{}`)
	if got, err := l.Create(t.Context(), task.Task{}); err == nil {
		t.Errorf("no id is left, yet %s was given", got.ID)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	create(t, l, task.Task{BlockedBy: []task.ID{"1"}})
	write(t, filepath.Join(dir, "3.json"), `{"id":"3","status":"deleted"}`)
	_, err := l.Create(t.Context(), task.Task{BlockedBy: []task.ID{"1", "7", "../1", "3"}})
	refused(t, "unknown blockers", err, task.UnknownBlocker, "7", "../1", "3")
	_, err = l.Create(t.Context(), task.Task{Blocks: []task.ID{"8"}})
	refused(t, "unknown blocked", err, task.UnknownBlocker, "8")
	_, err = l.Create(t.Context(), task.Task{Blocks: []task.ID{"1"}, BlockedBy: []task.ID{"2"}})
	refused(t, "cycle", err, task.Cycle, "2", "1")
	for _, in := range []task.Task{{Status: task.Deleted}, {Status: "odd"}, {Owner: "../w"}, {Owner: "lead"}, {Metadata: map[string]jsonRaw{"k": jsonRaw("{")}}} {
		if got, err := l.Create(t.Context(), in); err == nil {
			t.Errorf("%+v was created as %s", in, got.ID)
		}
	}
	all, _, err := l.All(t.Context())
	if diff := cmp.Diff([]task.ID{"1", "2", "3"}, ids(all)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got := create(t, l, task.Task{Blocks: []task.ID{"1"}}); got.ID != "4" || get(t, l, "1").BlockedBy[0] != "4" {
		t.Errorf("%+v %+v", got, get(t, l, "1"))
	}
}

func TestAllReportsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	for _, name := range []string{"10.json", "9.json"} {
		write(t, filepath.Join(dir, name), `{"id":"`+strings.TrimSuffix(name, ".json")+`","status":"pending"}`)
	}
	write(t, filepath.Join(dir, "11.json"), `{"id":"12","status":"pending"}`)
	write(t, filepath.Join(dir, "13.json"), `{"id":"13"}}`)
	write(t, filepath.Join(dir, "w1", "task-status.json"), `{}`)
	for _, name := range []string{"w1/1.json", "010.json", "a.json", "tasks.json", "-1.json", "1.txt", "0.json"} {
		write(t, filepath.Join(dir, name), `{}`)
	}
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "14.json"), 0o700))
	got, problems, err := l.All(t.Context())
	if diff := cmp.Diff([]task.ID{"9", "10", "11"}, ids(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	want := []string{"11.json: id 12 is not that of the file", "13.json: task: " + filepath.Join(dir, "13.json") + ": byte 11: invalid character '}' after top-level value"}
	equal(t, "problems", want, problems)
	if read(t, filepath.Join(dir, "13.json")) != `{"id":"13"}}` {
		t.Error("a broken file was changed")
	}
	var bad *task.CorruptError
	if _, err := l.Claim(t.Context(), "13", "w"); !errors.As(err, &bad) || bad.Offset != 11 {
		t.Errorf("%v", err)
	}
	if got := create(t, l, task.Task{}); got.ID != "15" {
		t.Errorf("%s", got.ID)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	for _, id := range []task.ID{"1", "", "../1", "01", "x", "-1", "1.json"} {
		var missing *task.NotFoundError
		if _, err := l.Get(t.Context(), id); !errors.As(err, &missing) || missing.ID != id {
			t.Errorf("%q: %v", id, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret.json")
	write(t, secret, `{"id":"5","subject":"secret"}`)
	if err := os.Symlink(secret, filepath.Join(dir, "5.json")); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	if got, err := l.Get(t.Context(), "5"); err == nil {
		t.Errorf("read through a link: %+v", got)
	}
	if _, err := l.Update(t.Context(), "5", func(t *task.Task) error { t.Subject = "x"; return nil }); err == nil || read(t, secret) != `{"id":"5","subject":"secret"}` {
		t.Errorf("wrote through a link: %v", err)
	}
}

// TestReadOutlastsTornWrites: the real client writes task files in place. A read in the middle of a write
// is repeated, and gets what the writer completes.
func TestReadOutlastsTornWrites(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{Subject: "short"})
	path := filepath.Join(dir, "1.json")
	contents := []string{read(t, path), strings.Replace(read(t, path), "short", strings.Repeat("long ", 300), 1)}
	whole, torn := "", 0
	l, err := task.Open(dir, "api", task.Options{Deadline: 50 * time.Millisecond, Hook: func(step string) {
		if step == "torn" { // the writer goes on after the first look
			torn++
			write(t, path, whole)
		}
	}})
	testenv.Must(t, err)
	for i := range 20 {
		whole = contents[(i+1)%2]
		half := whole[:len(whole)/2]
		if old := contents[i%2]; len(old) > len(half) {
			half += old[len(half):] // in place, the rest of the old content is there still
		}
		for _, look := range []func() (task.Task, []string){
			func() (task.Task, []string) { return get(t, l, "1"), nil },
			func() (task.Task, []string) {
				all, problems, err := l.All(t.Context())
				if err != nil || len(all) != 1 {
					t.Fatalf("%v %v", all, err)
				}
				return all[0], problems
			},
		} {
			write(t, path, half)
			torn = 0
			testenv.Must(t, os.Mkdir(path+".lock", 0o777)) // the writer's lock: only a second read can succeed
			if got, problems := look(); torn != 1 || len(problems) > 0 || (got.Subject == "short") != (whole == contents[0]) {
				t.Errorf("round %d: %d torn reads, %q, then %.20q", i, torn, problems, got.Subject)
			}
			testenv.Must(t, os.Remove(path+".lock"))
		}
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{Subject: "a"})
	path := filepath.Join(dir, "1.json")
	write(t, path, strings.Replace(read(t, path), `"blocks"`, "\"vendor\": {\n    \"k\": 1.0\n  },\n  \"blocks\"", 1))
	testenv.Must(t, os.Chmod(path, 0o644))
	before := read(t, path)
	identity, err := atomicfile.Identify(path)
	testenv.Must(t, err)
	boom := errors.New("boom")
	for what, fn := range map[string]func(*task.Task) error{
		"nothing":  func(*task.Task) error { return nil },
		"error":    func(t *task.Task) error { t.Subject = "x"; return boom },
		"id":       func(t *task.Task) error { t.ID = "2"; return nil },
		"status":   func(t *task.Task) error { t.Status = task.Deleted; return nil },
		"owner":    func(t *task.Task) error { t.Owner = "a/b"; return nil },
		"metadata": func(t *task.Task) error { t.Metadata = map[string]jsonRaw{"k": jsonRaw("nope")}; return nil },
	} {
		_, err := l.Update(t.Context(), "1", fn)
		if (err == nil) != (what == "nothing") || what == "error" && !errors.Is(err, boom) {
			t.Errorf("%s: %v", what, err)
		}
		if now, err := atomicfile.Identify(path); err != nil || now != identity {
			t.Errorf("%s: it was written: %v", what, err)
		}
	}
	got, err := l.Update(t.Context(), "1", func(t *task.Task) error {
		*t = task.Task{ID: t.ID, Subject: "b", Status: task.InProgress} // keys that it does not know stay
		return nil
	})
	if err != nil || got.Subject != "b" {
		t.Errorf("%+v %v", got, err)
	}
	want := strings.NewReplacer(`"a"`, `"b"`, "pending", "in_progress").Replace(before)
	equal(t, "the file", want, read(t, path))
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("mode is not kept: %v %v", info.Mode(), err)
	}
	if _, err := l.Update(t.Context(), "2", func(*task.Task) error { return nil }); !errors.As(err, new(*task.NotFoundError)) {
		t.Error(err)
	}
	if slices.Contains(files(t, dir), "2.json") {
		t.Error("an update made a task")
	}
}

// TestRewriteDropsTheByteOrderMark: a byte order mark goes with the first change, because strict readers cannot read it.
func TestRewriteDropsTheByteOrderMark(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	path := filepath.Join(dir, "1.json")
	write(t, path, "\ufeff"+`{"id":"1","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[],"own":1}`)
	_, err := l.Update(t.Context(), "1", func(k *task.Task) error { k.Subject = "other"; return nil })
	testenv.Must(t, err)
	if got := read(t, path); !strings.HasPrefix(got, "{") || !strings.Contains(got, `"own": 1`) || !strings.Contains(got, `"other"`) {
		t.Errorf("%q", got)
	}
}

// links returns blocks and blockedBy of every task as one line each.
func links(t *testing.T, l *task.List) []string {
	t.Helper()
	all, problems, err := l.All(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var lines []string
	for _, x := range all {
		lines = append(lines, fmt.Sprintf("%s blocks %v by %v", x.ID, x.Blocks, x.BlockedBy))
	}
	return lines
}

func TestUpdateLinks(t *testing.T) {
	t.Parallel()
	l, _ := newList(t)
	for range 5 {
		create(t, l, task.Task{})
	}
	set := func(id task.ID, blocks, blockedBy []task.ID) error {
		_, err := l.Update(t.Context(), id, func(t *task.Task) error { t.Blocks, t.BlockedBy = blocks, blockedBy; return nil })
		return err
	}
	testenv.Must(t, errors.Join(set("2", []task.ID{"3", "3"}, []task.ID{"1"}), set("4", nil, []task.ID{"3", "1", "3"})))
	want := []string{"1 blocks [2 4] by []", "2 blocks [3] by [1]", "3 blocks [4] by [2]", "4 blocks [] by [3 1]", "5 blocks [] by []"}
	equal(t, "links", want, links(t, l))
	refused(t, "itself", set("5", nil, []task.ID{"5"}), task.Cycle, "5")
	refused(t, "long cycle", set("1", []task.ID{"2", "4"}, []task.ID{"4"}), task.Cycle, "4", "1")
	refused(t, "by blocks", set("4", []task.ID{"1"}, []task.ID{"3", "1"}), task.Cycle, "4", "1")
	refused(t, "the long way", set("1", []task.ID{"2", "4"}, []task.ID{"3"}), task.Cycle, "3", "2", "1")
	refused(t, "unknown", set("5", nil, []task.ID{"9"}), task.UnknownBlocker, "9")
	equal(t, "a refused change was written", want, links(t, l))
	// After a link is removed, the opposite link is possible.
	testenv.Must(t, set("3", nil, nil))
	testenv.Must(t, set("4", []task.ID{"3"}, []task.ID{"1"}))
	want = []string{"1 blocks [2 4] by []", "2 blocks [] by [1]", "3 blocks [] by [4]", "4 blocks [3] by [1]", "5 blocks [] by []"}
	equal(t, "links", want, links(t, l))
	if err := set("4", nil, []task.ID{"1", "3"}); err != nil {
		t.Errorf("turned round in one update: %v", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	l, dir := newList(t)
	create(t, l, task.Task{})
	create(t, l, task.Task{BlockedBy: []task.ID{"1"}})
	create(t, l, task.Task{BlockedBy: []task.ID{"1", "2"}})
	testenv.Must(t, l.Delete(t.Context(), "3"))
	if read(t, filepath.Join(dir, ".highwatermark")) != "3" {
		t.Errorf("%q", read(t, filepath.Join(dir, ".highwatermark")))
	}
	testenv.Must(t, l.Delete(t.Context(), "1"))
	// The blockedBy of the other tasks stays, as in Claude Code: a deleted blocker counts as done.
	equal(t, "links", []string{"2 blocks [] by [1]"}, links(t, l))
	if _, err := l.Claim(t.Context(), "2", "w"); err != nil {
		t.Errorf("its blocker is gone: %v", err)
	}
	for _, id := range []task.ID{"1", "x", ""} {
		if err := l.Delete(t.Context(), id); !errors.As(err, new(*task.NotFoundError)) {
			t.Errorf("%q: %v", id, err)
		}
	}
	equal(t, "files", []string{".highwatermark", ".lock", "2.json"}, files(t, dir))
}
