package mailbox_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// TestArchiveKeep: entries go into the next file; those of the newest file come again with others
// when their process was killed, and replace it.
func TestArchiveKeep(t *testing.T) {
	m := mailbox.NewMemory(mailbox.Options{})
	for n := range 5 {
		testenv.Must(t, m.Append(t.Context(), fat(n)))
	}
	es := entriesOf(t, m)
	arch := mailbox.Archive{Dir: filepath.Join(t.TempDir(), "deep", "mail")}
	testenv.Must(t, arch.Keep())
	if _, err := os.Stat(arch.Dir); err == nil {
		t.Error("an archive of nothing")
	}
	if all, err := arch.Entries(); all != nil || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	for _, step := range []struct {
		keep, want []int
		files      int
	}{
		{[]int{0}, []int{0}, 1},
		{[]int{0}, []int{0}, 1},             // again
		{[]int{0, 1}, []int{0, 1}, 1},       // and one more
		{[]int{1, 0}, []int{0, 1, 1, 0}, 2}, // in another order: another file
		{[]int{2}, []int{0, 1, 1, 0, 2}, 3},
		{[]int{3, 2, 4}, []int{0, 1, 1, 0, 3, 2, 4}, 3}, // the newest is among them
		{[]int{3, 4}, []int{0, 1, 1, 0, 3, 2, 4, 3, 4}, 4},
	} {
		var keep []mailbox.Entry
		for _, n := range step.keep {
			keep = append(keep, es[n])
		}
		testenv.Must(t, arch.Keep(keep...))
		all, err := arch.Entries()
		testenv.Must(t, err)
		var got []int
		for _, e := range all {
			n := 0
			fmt.Sscan(e.Envelope.Text, &n)
			got = append(got, n)
		}
		if files := mustGlob(t, filepath.Join(arch.Dir, "*")); !slices.Equal(got, step.want) || len(files) != step.files || filepath.Base(files[0]) != "00000001.jsonl" {
			t.Errorf("after %v: %v in %v; want %v in %d files", step.keep, got, files, step.want, step.files)
		}
	}
	// A broken file is an error with its name, and the readable entries of all files come with it.
	second := filepath.Join(arch.Dir, "00000002.jsonl")
	put(t, second, "no entry\n"+get(t, second))
	all, err := arch.Entries()
	if len(all) != 9 || err == nil || !strings.Contains(err.Error(), "00000002.jsonl") {
		t.Errorf("%d entries, %v", len(all), err)
	}
	testenv.Must(t, os.Remove(second))
	testenv.Must(t, os.Mkdir(second, 0o700))
	if all, err := arch.Entries(); len(all) != 7 || err == nil {
		t.Errorf("%d entries, %v", len(all), err)
	}
	testenv.Must(t, os.RemoveAll(arch.Dir))
	put(t, arch.Dir, "in the way")
	if err := arch.Keep(es[0]); err == nil || !strings.HasPrefix(err.Error(), "archive: ") {
		t.Error(err)
	}
}

// TestRotateLimits: a mailbox of exactly the size is left as it is, one that is a byte larger is
// rotated; so few read entries as a fourth of the size less a byte stay.
func TestRotateLimits(t *testing.T) {
	// made has n unread entries and marks the first k of them with one call.
	made := func(over int64, n, k int) (b *mailbox.Box, moved []string) {
		dir := t.TempDir()
		arch := filepath.Join(dir, "mail")
		b = openBox(t, dir, mailbox.Options{Archive: mailbox.Archive{Dir: arch, Over: over}})
		for i := range n {
			testenv.Must(t, b.Append(t.Context(), fat(i)))
		}
		var ids []mailbox.ID
		for _, e := range entriesOf(t, b)[:k] {
			ids = append(ids, e.ID)
		}
		testenv.Must(t, b.MarkRead(t.Context(), ids...))
		return b, archived(t, arch)
	}
	b, moved := made(1<<30, 8, 4)
	if moved != nil {
		t.Fatal("rotated")
	}
	info, err := os.Stat(b.Path())
	testenv.Must(t, err)
	for over, want := range map[int64]int{info.Size(): 0, info.Size() - 1: 4} {
		if b, moved := made(over, 8, 4); len(moved) != want || len(remaining(t, b)) != 8-want {
			t.Errorf("%d bytes, %d allowed: moved %v, left %v", info.Size(), over, moved, remaining(t, b))
		}
	}
	// Four read entries have this size in the archive: with four times as much allowed, they move.
	b, _ = made(info.Size()-1, 8, 4)
	archive, err := os.Stat(filepath.Join(filepath.Dir(b.Path()), "mail", "00000001.jsonl"))
	testenv.Must(t, err)
	lines := archive.Size()
	for over, want := range map[int64]int{4*lines + 3: 4, 4*lines + 4: 0} {
		if _, moved := made(over, 40, 4); len(moved) != want {
			t.Errorf("%d bytes of read entries, a fourth of %d: moved %v", lines, over, moved)
		}
	}
	// Without a size it is one mebibyte.
	if _, moved := made(0, 8, 8); moved != nil {
		t.Errorf("a small mailbox was rotated: %v", moved)
	}
	if _, moved := made(-1, 8, 8); moved != nil {
		t.Errorf("a small mailbox was rotated: %v", moved)
	}
}

// TestReadArchived: a file is read by its extension; of a broken one comes what can be read.
func TestReadArchived(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content string
		n       int
		broken  bool
	}{
		"a.json": {"[" + e1 + "," + e2 + "]", 2, false}, "b.json": {"[" + e1 + ",", 1, true}, "a.jsonl": {line("x") + "\n" + line("y"), 2, false},
		"b.jsonl": {line("x") + "\nnothing\n" + line("y") + "\n", 2, true}, "c.json": {"[]", 0, false}, "c.jsonl": {"", 0, false},
	} {
		path := filepath.Join(dir, name)
		put(t, path, c.content)
		es, err := mailbox.ReadArchived(path)
		if len(es) != c.n || (err != nil) != c.broken || err != nil && !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %d entries, %v", name, len(es), err)
		}
		if c.broken {
			continue
		}
		copied := filepath.Join(dir, "copy-"+name+".jsonl")
		testenv.Must(t, mailbox.WriteLines(copied, es))
		again, err := mailbox.ReadArchived(copied)
		if err != nil || len(again) != c.n || c.n > 0 && again[0].ID != es[0].ID {
			t.Errorf("%s written and read: %v, %v", name, again, err)
		}
	}
	if es, err := mailbox.ReadArchived(filepath.Join(dir, "none.json")); es != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, %v", es, err)
	}
}
