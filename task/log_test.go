package task_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/task"
)

func openLog(t *testing.T, dir string, o task.LogOptions) *task.Log {
	t.Helper()
	l, err := task.OpenLog(dir, o)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// parts reads a log's files, the oldest first.
func parts(t testing.TB, dir string) (texts []string) {
	t.Helper()
	for n := 9; n >= 0; n-- {
		name := task.LogName
		if n > 0 {
			name += "." + strconv.Itoa(n)
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			texts = append(texts, string(b))
		}
	}
	return texts
}

func TestLogRotates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wrong []error
	l := openLog(t, dir, task.LogOptions{Size: 10, Keep: 2, Report: func(err error) { wrong = append(wrong, err) }})
	// A process that has the file open for appending writes on in the new part.
	stderr, err := os.OpenFile(filepath.Join(dir, task.LogName), os.O_WRONLY|os.O_APPEND, 0)
	testenv.Must(t, err)
	defer stderr.Close()
	if !l.Is(stderr) || l.Is(os.Stdout) {
		t.Error("the log does not know its own file")
	}
	for _, s := range []string{"aaaaa", "bbbbb", "ccc", "a very long line", "d", "e"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := stderr.WriteString("!"); err != nil {
		t.Fatal(err)
	}
	if got := parts(t, dir); fmt.Sprint(got) != "[ccc a very long line de!]" || len(wrong) > 0 {
		t.Errorf("%q, %v", got, wrong)
	}
	// A new process continues the log of the old one.
	again := openLog(t, dir, task.LogOptions{Size: 10, Keep: 2})
	if _, err := again.Write([]byte("12345678")); err != nil {
		t.Fatal(err)
	}
	if got := parts(t, dir); fmt.Sprint(got) != "[a very long line de! 12345678]" {
		t.Errorf("%q", got)
	}
}

// TestLogGoesOn: a failed rotation or write is reported, and does not stop the work that is logged.
func TestLogGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wrong []error
	l := openLog(t, dir, task.LogOptions{Size: 10, Keep: 1, Report: func(err error) { wrong = append(wrong, err) }})
	testenv.Must(t, os.MkdirAll(filepath.Join(dir, "output.log.1", "in the way"), 0o700))
	for range 5 {
		if _, err := l.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, task.LogName))
	if err != nil || len(b) != 50 || len(wrong) == 0 || len(wrong) > 4 {
		t.Errorf("%d bytes %v, %d reports: %v", len(b), err, len(wrong), wrong)
	}
	testenv.Must(t, os.RemoveAll(filepath.Join(dir, "output.log.1")))
	for range 5 {
		if _, err := l.Write([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	if got := parts(t, dir); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// TestLogOfManyWriters: whole writes, none lost, in the order of each writer.
func TestLogOfManyWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, dir, task.LogOptions{Size: 300, Keep: 9})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				if _, err := fmt.Fprintf(l, "%d-%02d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	next := map[string]int{}
	lines := strings.Fields(strings.Join(parts(t, dir), ""))
	for _, line := range lines {
		who, n, _ := strings.Cut(line, "-")
		if i, err := strconv.Atoi(n); err != nil || i != next[who] {
			t.Errorf("%q, want %s-%02d", line, who, next[who])
		}
		next[who]++
	}
	if len(lines) != 100 {
		t.Errorf("%d lines of 100", len(lines))
	}
}

// TestLogRefuses: a process that can write the directory cannot redirect the log to another file.
func TestLogRefuses(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "secret")
	testenv.Must(t, os.WriteFile(elsewhere, []byte("secret"), 0o600))
	for what, put := range map[string]func(path string) error{
		"a link":        func(p string) error { return os.Symlink(elsewhere, p) },
		"a second name": func(p string) error { return os.Link(elsewhere, p) },
		"a directory":   func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		dir := t.TempDir()
		if err := put(filepath.Join(dir, task.LogName)); err != nil {
			t.Skip(err)
		}
		if l, err := task.OpenLog(dir, task.LogOptions{}); err == nil {
			t.Errorf("%s was opened", what)
			l.Close()
		}
	}
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "member")); err != nil {
		t.Skip(err)
	}
	if l, err := task.OpenLog(filepath.Join(dir, "member"), task.LogOptions{}); err == nil {
		t.Error("a directory behind a link was opened")
		l.Close()
	}
	// A link at the path of a part is replaced, not followed.
	l := openLog(t, dir, task.LogOptions{Size: 4, Keep: 1})
	for _, name := range []string{"output.log.1", "output.log.rotating"} {
		testenv.Must(t, os.Symlink(elsewhere, filepath.Join(dir, name)))
	}
	for range 3 {
		if _, err := l.Write([]byte("1234")); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(elsewhere); err != nil || string(b) != "secret" {
		t.Errorf("%q %v", b, err)
	}
}

// helperLog writes numbered lines, says so after each, and kills itself at a step
// of its third rotation.
func helperLog(arg string) error {
	name, _, _ := strings.Cut(arg, " ")
	cuts := 0
	l, err := task.OpenLog(os.Getenv(envDir), task.LogOptions{Size: 64, Keep: 9, Hook: func(step string) {
		if step == "cut" {
			cuts++
		}
		if cuts == 2 && step == name || cuts == 3 && name == "cut" {
			killSelf()
		}
	}})
	if err != nil {
		return err
	}
	for i := range 60 {
		if _, err := fmt.Fprintf(l, "line %d\n", i); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return errors.New("it lived")
}

// TestLogIsWholeAfterAKill kills the writer at every step of a rotation: every written line is
// there, in order, with at most one part twice, and the next process continues.
func TestLogIsWholeAfterAKill(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"shifted", "part-created", "part-written", "part-named", "cut"} {
		dir := t.TempDir()
		var out bytes.Buffer
		cmd := helper(t.Context(), "log", dir, step)
		cmd.Stdout = &out
		if err := cmd.Run(); err == nil || strings.Contains(err.Error(), "exit status") {
			t.Fatalf("%s: %v", step, err)
		}
		acknowledged := len(strings.Fields(out.String()))
		l := openLog(t, dir, task.LogOptions{Size: 64, Keep: 9})
		for range 10 {
			if _, err := l.Write([]byte("after\n")); err != nil {
				t.Fatal(err)
			}
		}
		last, seen, again := -1, 0, 0
		for _, line := range strings.Split(strings.Join(parts(t, dir), ""), "\n") {
			n, ok := strings.CutPrefix(line, "line ")
			if !ok {
				continue
			}
			i, err := strconv.Atoi(n)
			switch {
			case err != nil:
				t.Errorf("%s: %q", step, line)
			case i == last+1:
				last = i
				seen++
			default:
				again++
			}
		}
		if seen < acknowledged || again > 64 {
			t.Errorf("%s: %d lines of %d that were written, %d twice", step, seen, acknowledged, again)
		}
		if !strings.HasSuffix(strings.Join(parts(t, dir), ""), "after\n") {
			t.Errorf("%s: the next process did not go on", step)
		}
		if _, err := os.Lstat(filepath.Join(dir, "output.log.rotating")); err == nil {
			t.Errorf("%s: a copy was left", step)
		}
	}
}
