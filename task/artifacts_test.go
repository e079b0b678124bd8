package task_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/task"
)

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
	must(t, err)
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
		must(t, err)
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
	must(t, os.Symlink(dir, dir+"-link"))
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
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
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
