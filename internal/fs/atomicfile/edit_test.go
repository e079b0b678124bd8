package atomicfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

func TestEditSplices(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		for _, size := range []int{0, 10, 1000, 200_000} {
			old := bytes.Repeat([]byte("0123456789"), size/10)
			p := newFile(t, string(old))
			splices := []atomicfile.Splice{{Insert: []byte("<")}}
			want := append([]byte("<"), old...)
			if size > 0 {
				splices = append(splices, atomicfile.Splice{Offset: 3, Delete: 4, Insert: []byte("ab")},
					atomicfile.Splice{Offset: int64(size), Insert: []byte(">")})
				want = slices.Concat([]byte("<012ab789"), old[10:], []byte(">"))
			}
			err := atomicfile.Edit(t.Context(), p, atomicfile.Options{Tier: tier}, func(v atomicfile.View) ([]atomicfile.Splice, error) {
				if v.Size() != int64(size) || !v.Exists() {
					t.Errorf("size %d, exists %v", v.Size(), v.Exists())
				}
				return splices, nil
			})
			must(t, err)
			if got := content(t, p); got != string(want) {
				t.Fatalf("size %d: got %d bytes, want %d: %.40q", size, len(got), len(want), got)
			}
			clean(t, p)
		}
	})
}

func TestEditRefusesBadSplices(t *testing.T) {
	t.Parallel()
	p := newFile(t, "0123456789")
	for name, s := range map[string][]atomicfile.Splice{
		"past the end": {{Offset: 11}},
		"too long":     {{Offset: 5, Delete: 6}},
		"descending":   {{Offset: 5, Delete: 1}, {Offset: 4}},
		"negative":     {{Offset: -1}},
	} {
		err := atomicfile.Edit(t.Context(), p, atomicfile.Options{}, func(atomicfile.View) ([]atomicfile.Splice, error) { return s, nil })
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	err := atomicfile.Edit(t.Context(), p, atomicfile.Options{MaxSize: 12}, func(atomicfile.View) ([]atomicfile.Splice, error) {
		return []atomicfile.Splice{{Insert: []byte("abc")}}, nil
	})
	if !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Errorf("a result over the limit: %v", err)
	}
	holds(t, p, "0123456789")
	clean(t, p)
}

func TestEditCreatesFileNotDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := filepath.Join(dir, "new.json")
	must(t, appendLine(p, "one", atomicfile.Options{}))
	fi, err := os.Stat(p)
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	gone := filepath.Join(dir, "gone", "x.json")
	if err := appendLine(gone, "one", atomicfile.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(gone)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory was made")
	}
	// A file that appears while we create it is not overwritten.
	p = filepath.Join(dir, "race.json")
	must(t, appendLine(p, "ours", at(atomicfile.Options{}, "checked", func() { must(t, os.WriteFile(p, []byte("theirs\n"), 0o600)) })))
	holds(t, p, "theirs\nours\n")
}

func TestEditKeepsModeAndWritesNothingWithoutSplices(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		p := newFile(t, "x\n")
		must(t, os.Chmod(p, 0o640))
		before, err := atomicfile.Identify(p)
		must(t, err)
		boom := errors.New("boom")
		for _, want := range []error{nil, boom} {
			err := atomicfile.Edit(t.Context(), p, atomicfile.Options{Tier: tier}, func(atomicfile.View) ([]atomicfile.Splice, error) { return nil, want })
			if err != want {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		if after, _ := atomicfile.Identify(p); after != before {
			t.Error("the file was touched")
		}
		must(t, appendLine(p, "y", atomicfile.Options{Tier: tier, Sync: atomicfile.SyncFull}))
		fi, err := os.Stat(p)
		must(t, err)
		if fi.Mode().Perm() != 0o640 {
			t.Errorf("mode %v", fi.Mode())
		}
	})
}

func TestRefusesWhatIsNotARegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	must(t, os.WriteFile(target, []byte("secret"), 0o600))
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	sub := filepath.Join(dir, "sub.json")
	must(t, os.Mkdir(sub, 0o700))
	paths := []string{link, sub}
	if fifo := makeFIFO(t, dir); fifo != "" {
		paths = append(paths, fifo)
	}
	for _, p := range paths {
		_, err1 := atomicfile.ReadFile(p, atomicfile.Options{})
		_, err2 := atomicfile.Lock(t.Context(), p, atomicfile.Options{})
		_, err3 := atomicfile.Identify(p)
		for i, err := range []error{
			err1, err2, err3,
			appendLine(p, "x", atomicfile.Options{}),
			atomicfile.WriteFile(p, []byte("x"), atomicfile.Options{}),
		} {
			if !errors.Is(err, atomicfile.ErrNotRegular) {
				t.Errorf("%s, call %d: %v", filepath.Base(p), i, err)
			}
		}
	}
	holds(t, target, "secret")
}

func TestReadFileLimit(t *testing.T) {
	t.Parallel()
	p := newFile(t, "12345")
	if _, err := atomicfile.ReadFile(p, atomicfile.Options{MaxSize: 4}); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Error(err)
	}
	if err := appendLine(p, "x", atomicfile.Options{MaxSize: 4}); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Error(err)
	}
	b, err := atomicfile.ReadFile(p, atomicfile.Options{MaxSize: 5})
	if err != nil || string(b) != "12345" {
		t.Errorf("%q %v", b, err)
	}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := filepath.Join(dir, "w.json")
	for _, s := range []atomicfile.Sync{atomicfile.SyncNone, atomicfile.SyncData, atomicfile.SyncFull} {
		must(t, atomicfile.WriteFile(p, []byte(fmt.Sprint(s)), atomicfile.Options{Sync: s, Perm: 0o644}))
		if content(t, p) != fmt.Sprint(s) {
			t.Error("not written")
		}
	}
	fi, err := os.Stat(p)
	must(t, err)
	if fi.Mode().Perm() != 0o644 {
		t.Errorf("mode %v", fi.Mode())
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
	// The next process removes the temporary files of a killed writer, here with the first write of
	// another name.
	q := filepath.Join(dir, "q.json")
	old := filepath.Join(dir, ".q.json.0123abcd.new")
	must(t, os.WriteFile(old, nil, 0o600))
	long := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(old, long, long))
	must(t, atomicfile.WriteFile(q, nil, atomicfile.Options{}))
	if _, err := os.Stat(old); err == nil {
		t.Error("the leftover is still there")
	}
}

// Changes of other programs without a lock are kept. After "checked" only the exchange tier can
// detect them.
//
// The test is not parallel: while another test starts a process, the fork has a copy of every
// descriptor until its exec. Edit then finds the foreign change's file open for writing and makes
// one more attempt, as it must.
func TestForeignChangeBetweenReadAndPublish(t *testing.T) {
	kinds := map[string]func(p string) error{
		"mv": func(p string) error { return unlockedAppend(p, "foreign") },
		"truncate and write": func(p string) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			return os.WriteFile(p, append(b, "foreign\n"...), 0o600)
		},
		"same size in place": func(p string) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			return os.WriteFile(p, bytes.Replace(b, []byte("0000000"), []byte("foreign"), 1), 0o600)
		},
		"remove and create": func(p string) error {
			if err := os.Remove(p); err != nil {
				return err
			}
			return os.WriteFile(p, []byte("foreign\n"), 0o600)
		},
	}
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		steps := []string{"read", "temp-created", "temp-written", "synced", "checked"}
		if tier == atomicfile.TierRename {
			steps = steps[:4]
		}
		for name, change := range kinds {
			for i, step := range steps {
				for _, size := range []int{1, 20_000} {
					p := newFile(t, strings.Repeat("0000000\n", size))
					if i%2 == 0 {
						atomicfile.MakeCoarse(filepath.Dir(p))
					}
					calls := 0
					o := at(atomicfile.Options{Tier: tier}, step, func() { must(t, change(p)) })
					err := atomicfile.Edit(t.Context(), p, o, func(v atomicfile.View) ([]atomicfile.Splice, error) {
						calls++
						return []atomicfile.Splice{{Offset: v.Size(), Insert: []byte("ours\n")}}, nil
					})
					must(t, err)
					got := content(t, p)
					if strings.Count(got, "foreign\n") != 1 || strings.Count(got, "ours\n") != 1 || calls != 2 {
						t.Errorf("%s at %s, %d lines: ours %d, foreign %d, calls %d", name, step, size,
							strings.Count(got, "ours\n"), strings.Count(got, "foreign\n"), calls)
					}
					clean(t, p)
				}
			}
		}
	})
}

// When the modification times are equal, contents are compared.
func TestForeignChangeWithinOneTick(t *testing.T) {
	t.Parallel()
	p := newFile(t, "0000000\n")
	atomicfile.MakeCoarse(filepath.Dir(p))
	fi, err := os.Stat(p)
	must(t, err)
	o := at(atomicfile.Options{Tier: atomicfile.TierExchange}, "checked", func() {
		must(t, os.WriteFile(p, []byte("foreign\n"), 0o600))
		must(t, os.Chtimes(p, fi.ModTime(), fi.ModTime()))
	})
	if err := appendLine(p, "ours", o); err != nil && !strings.Contains(err.Error(), "cannot exchange") {
		t.Fatal(err)
	}
	holds(t, p, "foreign\nours\n")
}

// A program that has the file open for writing finds its file in place when it
// writes, however late that is.
func TestForeignWriterWithOpenDescriptor(t *testing.T) {
	t.Parallel()
	p := newFile(t, "old\n")
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	if !atomicfile.HasWriter(openRO(t, p)) {
		t.Skip("no leases here")
	}
	reads := 0
	o := atomicfile.Options{Tier: atomicfile.TierExchange, Hook: func(s string) {
		if s != "read" {
			return
		}
		if reads++; reads == 3 { // by now we have waited for the writer twice
			_, err := f.WriteString("foreign\n")
			must(t, err)
			must(t, f.Close())
		}
	}}
	must(t, appendLine(p, "ours", o))
	holds(t, p, "old\nforeign\nours\n")
	// A writer that never closes the file does not delay an edit for long.
	f, err = os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	must(t, appendLine(p, "more", atomicfile.Options{Tier: atomicfile.TierExchange}))
	holds(t, p, "old\nforeign\nours\nmore\n")
}

// A program that opens the file for writing between the last look and the exchange finds
// its file in place too: the displaced file has an open writer, and the edit starts over.
func TestForeignWriterOpensBeforeTheExchange(t *testing.T) {
	t.Parallel()
	p := newFile(t, "old\n")
	w, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	able := atomicfile.HasWriter(openRO(t, p))
	must(t, w.Close())
	if !able || !canExchange(t) {
		t.Skip("no leases here, or no exchange")
	}
	var f *os.File
	write := func() {
		if f == nil {
			return
		}
		_, err := f.WriteString("foreign\n")
		must(t, err)
		must(t, f.Close())
		f = nil
	}
	opened := false
	o := atomicfile.Options{Tier: atomicfile.TierExchange, Hook: func(s string) {
		switch {
		case s == "checked" && !opened:
			opened = true
			f, err = os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
		case s == "read":
			write() // the edit has started over
		}
	}}
	must(t, appendLine(p, "ours", o))
	if f != nil {
		t.Error("the edit went on over a file that was open for writing")
	}
	write()
	holds(t, p, "old\nforeign\nours\n")
	clean(t, p)
}

func openRO(t *testing.T, p string) *os.File {
	f, err := os.Open(p)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Two foreign changes around one exchange: the newer one stays, the other is kept
// beside and reported.
func TestUnmergeableContentIsKept(t *testing.T) {
	t.Parallel()
	p := newFile(t, "old\n")
	var kept []string
	o := atomicfile.Options{Tier: atomicfile.TierExchange, Kept: func(p string) { kept = append(kept, p) }}
	seen := map[string]int{}
	o.Hook = func(s string) {
		seen[s]++
		if s == "checked" && seen[s] == 1 {
			must(t, unlockedAppend(p, "first"))
		}
		if s == "published" && seen[s] == 1 {
			must(t, unlockedAppend(p, "second"))
		}
	}
	if err := appendLine(p, "ours", o); err != nil {
		if strings.Contains(err.Error(), "cannot exchange") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	got := content(t, p)
	if !strings.Contains(got, "second\n") || !strings.HasSuffix(got, "ours\n") {
		t.Errorf("got %q", got)
	}
	if len(kept) != 1 || !strings.Contains(content(t, kept[0]), "first\n") {
		t.Errorf("kept %v", kept)
	}
}

// A file that is removed for good ends the edit without recreating its directory.
func TestDirectoryRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		for _, step := range []string{"flocked", "lock-made", "locked", "read", "temp-created", "synced"} {
			p := newFile(t, "old\n")
			err := appendLine(p, "x", at(atomicfile.Options{Tier: tier, Deadline: time.Second}, step, func() { must(t, os.RemoveAll(filepath.Dir(p))) }))
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", step, err)
			}
			if _, err := os.Stat(filepath.Dir(p)); err == nil {
				t.Errorf("%s: the directory is back", step)
			}
		}
	})
}

// Many goroutines, one file: every line once, and every lock-free read is whole.
func TestConcurrentEdits(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		p := newFile(t, "")
		const writers, each = 8, 25
		stop := make(chan struct{})
		var readers, wg sync.WaitGroup
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b, err := atomicfile.ReadFile(p, atomicfile.Options{})
				if err != nil || len(b) > 0 && b[len(b)-1] != '\n' {
					t.Errorf("torn read: %v %.20q", err, b)
					return
				}
			}
		})
		for w := range writers {
			wg.Go(func() {
				for i := range each {
					if err := appendLine(p, fmt.Sprintf("%d/%d", w, i), atomicfile.Options{Tier: tier}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		close(stop)
		readers.Wait()
		next := make([]int, writers)
		lines := strings.Fields(content(t, p))
		for _, line := range lines {
			var w, i int
			_, err := fmt.Sscanf(line, "%d/%d", &w, &i)
			must(t, err)
			if next[w] != i {
				t.Fatalf("writer %d: line %d comes where %d should", w, i, next[w])
			}
			next[w]++
		}
		if len(lines) != writers*each {
			t.Errorf("%d lines", len(lines))
		}
		clean(t, p)
	})
}

// Ours is true exactly while no other program has written.
func TestOurs(t *testing.T) {
	t.Parallel()
	p := newFile(t, "x\n")
	if !atomicfile.FineTimes(filepath.Dir(p)) {
		t.Skip("coarse times: never ours")
	}
	look := func() (ours bool) {
		must(t, atomicfile.Edit(t.Context(), p, atomicfile.Options{}, func(v atomicfile.View) ([]atomicfile.Splice, error) {
			ours = atomicfile.Ours(v)
			return nil, nil
		}))
		return ours
	}
	if look() {
		t.Error("a file that was never edited")
	}
	for range 50 {
		must(t, appendLine(p, "y", atomicfile.Options{}))
		for range 2 { // reading changes nothing
			if !look() {
				t.Fatal("not ours after our edit")
			}
		}
		b := []byte(content(t, p))
		b[rand.IntN(len(b))] = 'z' // same size, at once
		must(t, os.WriteFile(p, b, 0o600))
		if look() {
			t.Fatal("ours after a foreign edit of equal size")
		}
	}
}

func TestIdentityChangesWithContent(t *testing.T) {
	t.Parallel()
	p := newFile(t, "0")
	for i := range 200 {
		_, before, err := atomicfile.ReadIdentified(p, atomicfile.Options{})
		must(t, err)
		must(t, os.WriteFile(p, []byte{byte('0' + i%10 ^ 1)}, 0o600))
		after, err := atomicfile.Identify(p)
		must(t, err)
		if before == after {
			t.Fatalf("round %d: a changed file looks the same", i)
		}
	}
	if _, err := atomicfile.Identify(p + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestEditHonoursContext(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	must(t, os.Mkdir(p+".lock", 0o700))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := atomicfile.Edit(ctx, p, atomicfile.Options{}, func(atomicfile.View) ([]atomicfile.Splice, error) { return nil, nil })
	var locked *atomicfile.LockedError
	if !errors.Is(err, context.Canceled) || errors.As(err, &locked) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = atomicfile.Edit(ctx, p, atomicfile.Options{}, func(atomicfile.View) ([]atomicfile.Splice, error) { return nil, nil })
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &locked) {
		t.Errorf("timed out: %v", err)
	}
}

// A program that adds lines without the lock, to the file that an edit displaces and to the new one,
// loses none: the edit is undone, and the lines that were added to the new file meanwhile are added to
// the file. If the edit's content does not end with a line, the new file is kept beside it.
func TestAddedBesideAnExchange(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says who has a file open")
	}
	for _, c := range []struct {
		base string
		edit func(size int64) atomicfile.Splice
		want string
		kept string
	}{
		{"base\n", func(size int64) atomicfile.Splice { return atomicfile.Splice{Offset: size, Insert: []byte("ours\n")} }, "base\ndisplaced\nnew\nours\n", ""},
		{"", func(size int64) atomicfile.Splice { return atomicfile.Splice{Offset: size, Insert: []byte("ours\n")} }, "displaced\nnew\nours\n", ""},
		{"taken\nbase\n", func(int64) atomicfile.Splice { return atomicfile.Splice{Delete: 6} }, "base\ndisplaced\nnew\n", ""},
		{"[]", func(int64) atomicfile.Splice { return atomicfile.Splice{Offset: 1, Insert: []byte("ours")} }, "[ours]displaced\n", "[ours]new\n"},
	} {
		p := newFile(t, c.base)
		kept := ""
		var late *os.File
		add := func(f *os.File, text string) {
			_, err := f.WriteString(text)
			must(t, errors.Join(err, f.Close()))
		}
		open := func() *os.File {
			f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			return f
		}
		seen := map[string]bool{}
		o := atomicfile.Options{Tier: atomicfile.TierExchange, Kept: func(p string) { kept += content(t, p) }, Hook: func(step string) {
			switch {
			case seen[step]:
			case step == "checked":
				late = open()
			case step == "published":
				add(late, "displaced\n")
				add(open(), "new\n")
			}
			seen[step] = true
		}}
		must(t, atomicfile.Edit(t.Context(), p, o, func(v atomicfile.View) ([]atomicfile.Splice, error) {
			return []atomicfile.Splice{c.edit(v.Size())}, nil
		}))
		if got := content(t, p); got != c.want || kept != c.kept {
			t.Errorf("%q became %q, want %q; kept %q, want %q", c.base, got, c.want, kept, c.kept)
		}
	}
}
