package atomicfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	ents, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ents {
		all = append(all, e.Name())
	}
	return all
}

// TestSyncDataFails: a flush of the data that fails is an error.
func TestSyncDataFails(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syncData(f); err != nil {
		t.Error(err)
	}
	no := errors.New("no")
	defer FailOps(func(op Op, path string) error {
		if op == OpSync && path == f.Name() {
			return no
		}
		return nil
	})()
	if err := syncData(f); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
}

// TestKeepNames: a foreign content is moved to the first free name of its time, and its path is
// reported; ninety-nine names are tried.
func TestKeepNames(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	var kept []string
	l := &lock{path: path, o: Options{Now: func() time.Time { return time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC) }, Kept: func(at string) { kept = append(kept, filepath.Base(at)) }}}
	for i := range 100 {
		put(t, filepath.Join(dir, "tmp"), string(rune('A'+i)))
		l.keep(filepath.Join(dir, "tmp"))
		if i == 2 {
			want := []string{"a.displaced-20261120T160000.000Z", "a.displaced-20261120T160000.000Z-2", "a.displaced-20261120T160000.000Z-3"}
			if !slices.Equal(kept, want) || !slices.Equal(names(t, dir), want) {
				t.Fatalf("%q are kept, %q are there", kept, names(t, dir))
			}
		}
	}
	if all := names(t, dir); len(kept) != 99 || len(all) != 100 || all[99] != "tmp" {
		t.Errorf("%d are kept, %d are there", len(kept), len(all))
	}
}

// TestRemoveTemps: only the regular temporary files of this file with this suffix are removed; with a
// time, those from before it.
func TestRemoveTemps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	now := time.Now()
	old := []string{".a.0123abcd.tmp", ".a.89abcdef.tmp"}
	stay := []string{".a.0123abcd.alt", ".b.0123abcd.tmp", ".a.0123abc.tmp", ".a.0123abcde.tmp", ".a.0123abcg.tmp", ".a.0123ABCD.tmp", "a.0123abcd.tmp", ".a.0123abcd.tmpx", "a"}
	for _, name := range slices.Concat(old, stay) {
		put(t, filepath.Join(dir, name), "")
	}
	if err := os.Mkdir(filepath.Join(dir, ".a.deadbeef.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, old[0]), now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	removeTemps(placeOf(path), "tmp", now.Add(-time.Minute))
	if got := names(t, dir); slices.Contains(got, old[0]) || len(got) != len(stay)+2 {
		t.Errorf("before a time: %q", got)
	}
	removeTemps(placeOf(path), "tmp", time.Time{})
	want := append(slices.Clone(stay), ".a.deadbeef.tmp")
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	removeTemps(placeOf(filepath.Join(dir, "none", "a")), "tmp", time.Time{})
}

// TestCheckSplices: splices lie within the content, one after the other, and their result within the
// limit.
func TestCheckSplices(t *testing.T) {
	v := &view{path: "p", id: Identity{size: 10}}
	for _, c := range []struct {
		splices []Splice
		limit   int64
		size    int64 // -1: refused
	}{
		{nil, 10, 10}, {nil, 9, -1},
		{[]Splice{{Offset: 0, Delete: 10}}, 10, 0}, {[]Splice{{Offset: 10, Insert: []byte("abc")}}, 13, 13}, {[]Splice{{Offset: 10, Insert: []byte("abc")}}, 12, -1},
		{[]Splice{{Offset: 2, Delete: 3}, {Offset: 5, Delete: 1, Insert: []byte("xy")}}, 10, 8}, {[]Splice{{Offset: 2, Delete: 3}, {Offset: 4}}, 10, -1},
		{[]Splice{{Offset: 11}}, 100, -1}, {[]Splice{{Offset: 9, Delete: 2}}, 100, -1}, {[]Splice{{Offset: -1}}, 100, -1}, {[]Splice{{Offset: 5, Delete: -1}}, 100, -1},
	} {
		err := checkSplices(v, c.splices, c.limit)
		if c.size < 0 && err == nil || c.size >= 0 && (err != nil || int64(len(Apply(make([]byte, v.Size()), c.splices))) != c.size) {
			t.Errorf("%+v up to %d: %v, want %d bytes", c.splices, c.limit, err, c.size)
		}
	}
	if err := checkSplices(v, nil, 9); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

// TestViewReadAt: a view in memory, one of a file, and one of no file read alike.
func TestViewReadAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	put(t, path, "0123456789")
	f, fi, err := openRegular(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	disk := &view{path: path, f: f, fi: fi, id: identityOf(fi)}
	memory := &view{path: path, f: f, data: []byte("0123456789"), loaded: true}
	for _, c := range []struct {
		off  int64
		n    int
		want string
		end  bool
	}{{0, 10, "0123456789", false}, {0, 11, "0123456789", true}, {9, 1, "9", false}, {9, 2, "9", true}, {10, 1, "", true}, {11, 1, "", true}, {3, 4, "3456", false}} {
		for what, v := range map[string]*view{"disk": disk, "memory": memory} {
			b := make([]byte, c.n)
			n, err := v.ReadAt(b, c.off)
			if string(b[:n]) != c.want || (err == io.EOF) != c.end || err != nil && err != io.EOF {
				t.Errorf("%s, %d at %d: %q, %v", what, c.n, c.off, b[:n], err)
			}
		}
	}
	if n, err := memory.ReadAt(make([]byte, 1), -1); n != 0 || err == nil {
		t.Errorf("before the beginning: %d, %v", n, err)
	}
	none := &view{path: path}
	if n, err := none.ReadAt(make([]byte, 1), 0); n != 0 || err != io.EOF || none.Exists() {
		t.Errorf("of no file: %d, %v", n, err)
	}
	if _, _, err := openRegular(path, 9); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	// A file that grew is read at its old size, and one that was cut short at its new size.
	put(t, path, "0123456789ab")
	if b, err := readAll(f, 10); string(b) != "0123456789" || err != nil {
		t.Errorf("grown: %q, %v", b, err)
	}
	if err := os.Truncate(path, 4); err != nil {
		t.Fatal(err)
	}
	b, err := disk.Bytes()
	if string(b) != "0123" || err != nil {
		t.Errorf("cut: %q, %v", b, err)
	}
	put(t, path, "x")
	if again, err := disk.Bytes(); string(again) != "0123" || err != nil {
		t.Errorf("read twice: %q, %v", again, err)
	}
}

// TestRecordForm: a record is read as it was written, in one size; with any byte changed it is a free
// lock.
func TestRecordForm(t *testing.T) {
	r := record{boot: "b", pid: 7, start: 8, since: 9, state: stateFree, foreign: 5, tmp: "t", last: Identity{ino: 3}}
	b := r.encode()
	if len(b) != recordSize || b[len(b)-1] != '\n' || strings.Count(string(b), "\n") != 1 {
		t.Errorf("%d bytes: %q", len(b), b)
	}
	if got := decodeRecord(b); got != r {
		t.Errorf("%+v, want %+v", got, r)
	}
	free := record{state: stateFree}
	text := strings.TrimRight(string(b), " \n")
	for i := range len(text) {
		bad := []byte(text)
		bad[i] ^= 1
		if got := decodeRecord(bad); got != free {
			t.Errorf("byte %d: %+v", i, got)
		}
	}
	for _, bad := range []string{"", " ", "x", recordMagic, recordMagic + " ", recordMagic + " 0", strings.Repeat(" ", recordSize)} {
		if got := decodeRecord([]byte(bad)); got != free {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

// TestLineOfTurns: each waiter takes the next place, sees the first waiter before it, and leaves.
func TestLineOfTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "line")
	put(t, path, "")
	first := lineUp(path)
	if first == nil {
		t.Skip("the file system has no locks of open files")
	}
	second, third := lineUp(path), lineUp(path)
	if first.n != 1 || second.n != 2 || third.n != 3 {
		t.Fatalf("places %d, %d, %d", first.n, second.n, third.n)
	}
	for _, c := range []struct {
		t    *turn
		want int64
	}{{first, 0}, {second, 1}, {third, 1}} {
		if got := c.t.ahead(); got != c.want {
			t.Errorf("before %d: %d, want %d", c.t.n, got, c.want)
		}
	}
	first.leave()
	if second.ahead() != 0 || third.ahead() != 2 {
		t.Errorf("the first has left: %d, %d", second.ahead(), third.ahead())
	}
	second.leave()
	if third.ahead() != 0 {
		t.Errorf("both have left: %d", third.ahead())
	}
	fourth := lineUp(path)
	if fourth.n != 4 || fourth.ahead() != 3 {
		t.Errorf("the fourth has %d, before it %d", fourth.n, fourth.ahead())
	}
	third.leave()
	fourth.leave()
	// An impossible number starts the count anew.
	put(t, path, "\xff\xff\xff\xff\xff\xff\xff\xff")
	if again := lineUp(path); again.n != 1 {
		t.Errorf("after a broken number: %d", again.n)
	}
	if lineUp(filepath.Join(t.TempDir(), "none")) != nil {
		t.Error("in no file")
	}
}

// TestProcStart: a process that runs has a start, and one that does not has none.
func TestProcStart(t *testing.T) {
	if start, ok := procStart(os.Getpid()); !ok || start == 0 {
		t.Errorf("this one: %d, %v", start, ok)
	}
	if start, ok := procStart(1 << 30); ok || start != 0 {
		t.Errorf("none: %d, %v", start, ok)
	}
	if pid := Holder(filepath.Join(t.TempDir(), "none")); pid != 0 {
		t.Errorf("no file is held by %d", pid)
	}
}

// TestOlderShadow: what an older waggle left beside a file, its content of one edit before, goes with the next edit. The
// record of its writer is read: one that was killed around another program's change has that change put back.
func TestOlderShadow(t *testing.T) {
	for state, want := range map[string]string{stateFree: "ours\nnext\n", statePublishing: "foreign\nnext\n"} {
		dir := t.TempDir()
		path, shadow := filepath.Join(dir, "a"), filepath.Join(dir, ".a.shadow")
		put(t, path, "ours\n")
		put(t, shadow, "foreign\n")
		next, err := Identify(path)
		if err != nil {
			t.Fatal(err)
		}
		r := record{boot: "before", pid: 7, start: 8, since: 9, state: state, next: next, last: next}
		if state == statePublishing {
			r.tmp = ".a.shadow"
		}
		now, _, _ := strings.Cut(string(r.encode()), shadowFields+" ")
		older := now + " 10 11 12 13 14 "
		put(t, filepath.Join(dir, ".a.flk"), fmt.Sprintf("%-*s\n", recordSize-1, fmt.Sprintf("%s%x", older, crc32.ChecksumIEEE([]byte(older)))))
		if err := Edit(t.Context(), path, Options{Tier: TierExchange}, func(v View) ([]Splice, error) {
			return []Splice{{Offset: v.Size(), Insert: []byte("next\n")}}, nil
		}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if all := names(t, dir); string(b) != want || err != nil || !slices.Equal(all, []string{".a.flk", "a"}) {
			t.Errorf("%s: %q, %v, there is %q", state, b, err, all)
		}
	}
}

// TestWriteFileFails: for each operation that fails, the error names it, the old content stays and no
// file is left beside it.
func TestWriteFileFails(t *testing.T) {
	no := errors.New("no")
	for _, op := range []Op{OpCreate, OpWrite, OpSync, OpRename} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a")
		put(t, path, "old")
		undo := FailOps(func(o Op, p string) error {
			if o == op && strings.HasPrefix(p, dir) {
				return no
			}
			return nil
		})
		err := WriteFile(path, []byte("new"), Options{Sync: SyncFull})
		undo()
		if !errors.Is(err, no) || !strings.HasPrefix(err.Error(), "write: ") {
			t.Errorf("%s: %v", op, err)
		}
		b, rerr := os.ReadFile(path)
		if all := names(t, dir); rerr != nil || string(b) != "old" || !slices.Equal(all, []string{"a"}) {
			t.Errorf("%s: %q, %v, there is %q", op, b, rerr, all)
		}
	}
}
