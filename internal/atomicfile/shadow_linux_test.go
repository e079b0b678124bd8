package atomicfile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/atomicfile"
	"waggle/internal/testenv"
)

// large is longer than the content that an edit copies whole.
var large = strings.Repeat("a line that was there before\n", 4000)

func shadowOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".shadow")
}

func flockOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".flk")
}

// needShadow skips a test where displaced files are not used again.
func needShadow(t testing.TB) {
	t.Helper()
	p := newFile(t, large)
	must(t, appendLine(p, "1", atomicfile.Options{}))
	before, err := os.Stat(shadowOf(p))
	if err != nil {
		t.Skip("this file system has no fine times, or no exchange:", err)
	}
	must(t, appendLine(p, "2", atomicfile.Options{}))
	after, err := os.Stat(p)
	must(t, err)
	if !os.SameFile(before, after) {
		t.Skip("no leases here")
	}
}

// An edit of a large file writes only what it changes: the file and its shadow are exchanged each
// time.
func TestShadowIsUsedAgain(t *testing.T) {
	needShadow(t)
	p := newFile(t, large)
	want := large
	written := func() int {
		data, err := os.ReadFile("/proc/self/io")
		must(t, err)
		n := 0
		_, rest, _ := strings.Cut(string(data), "wchar: ")
		_, err = fmt.Sscan(rest, &n)
		must(t, err)
		return n
	}
	for i := range 20 {
		before := written()
		must(t, appendLine(p, fmt.Sprint("line ", i), atomicfile.Options{}))
		want += fmt.Sprintln("line", i)
		if n := written() - before; i > 0 && n > 16<<10 {
			t.Errorf("edit %d wrote %d bytes into a file of %d", i, n, len(want))
		}
		if got := content(t, p); got != want {
			t.Fatalf("edit %d: the content is wrong at byte %d", i, firstDifference(got, want))
		}
	}
	clean(t, p)
	// A file that becomes small has no shadow any more.
	must(t, edit(p, atomicfile.Splice{Delete: int64(len(want)), Insert: []byte("small")}))
	if _, err := os.Lstat(shadowOf(p)); err == nil || content(t, p) != "small" {
		t.Error("the old content outlives the file")
	}
}

func firstDifference(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func edit(path string, s ...atomicfile.Splice) error {
	return atomicfile.Edit(context.Background(), path, atomicfile.Options{}, func(atomicfile.View) ([]atomicfile.Splice, error) { return s, nil })
}

// Any edits, with the shadow or the record deleted, changed or replaced in between:
// the content is always what the edits say.
func TestShadowMayBeSpoiled(t *testing.T) {
	t.Parallel()
	needShadow(t)
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	var older []byte
	spoil := []func(p, s string) error{
		func(_, s string) error { return os.Remove(s) },
		func(_, s string) error { return os.Truncate(s, r.Int64N(1000)) },
		func(_, s string) error { return os.WriteFile(s, []byte("nonsense"), 0o600) },
		func(_, s string) error {
			f, err := os.OpenFile(s, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteAt([]byte("X"), 10) // of the same size
				f.Close()
			}
			return err
		},
		func(_, s string) error { return os.Chtimes(s, time.Now(), time.Now()) },
		func(p, s string) error { _ = os.Remove(s); return os.Symlink(p, s) },
		func(_, s string) error { _ = os.Remove(s); return os.Mkdir(s, 0o700) },
		func(p, s string) error { _ = os.Remove(s); return os.Link(p, s) },
		func(p, _ string) error { return os.Remove(flockOf(p)) },
		func(p, _ string) error { return os.Truncate(flockOf(p), r.Int64N(700)) },
		func(p, _ string) error { return os.WriteFile(flockOf(p), []byte("waggle-lock-2 nonsense"), 0o600) },
		func(p, _ string) (err error) { // a record of some edits ago is put back
			if older != nil {
				err = os.WriteFile(flockOf(p), older, 0o600)
			}
			older, _ = os.ReadFile(flockOf(p))
			return err
		},
		func(p, _ string) error { return unlockedAppend(p, "foreign") },
	}
	for range testenv.Scale(2, 60) {
		p := newFile(t, large)
		want := []byte(large)
		older = nil
		for range 40 {
			if r.IntN(3) == 0 {
				n := r.IntN(len(spoil))
				_ = spoil[n](p, shadowOf(p))
				if n == len(spoil)-1 {
					want = append(want, "foreign\n"...)
				}
			}
			at := len(want) - r.IntN(min(len(want), 5000)+1)
			cut := r.IntN(min(len(want)-at, 300) + 1)
			put := []byte(strings.Repeat("new ", r.IntN(300)))
			must(t, edit(p, atomicfile.Splice{Offset: int64(at), Delete: int64(cut), Insert: put}))
			want = append(append(append([]byte{}, want[:at]...), put...), want[at+cut:]...)
			if got := content(t, p); got != string(want) {
				t.Fatalf("the content is wrong from byte %d on", firstDifference(got, string(want)))
			}
			if fi, err := os.Lstat(shadowOf(p)); err == nil && fi.IsDir() {
				must(t, os.Remove(shadowOf(p)))
			}
		}
	}
}

// A process that has the file open, or mapped, keeps the content that it opened, whatever edits
// follow.
func TestShadowIsNobodysFile(t *testing.T) {
	t.Parallel()
	needShadow(t)
	for _, mapped := range []bool{false, true} {
		p := newFile(t, large)
		for i := range 12 {
			want := content(t, p)
			f, err := os.Open(p)
			must(t, err)
			var got func() string
			if mapped {
				data, err := syscall.Mmap(int(f.Fd()), 0, len(want), syscall.PROT_READ, syscall.MAP_SHARED)
				must(t, err)
				f.Close()
				got = func() string { defer syscall.Munmap(data); return string(data) }
			} else {
				got = func() string {
					defer f.Close()
					data := make([]byte, len(want)+100)
					n, _ := f.ReadAt(data, 0)
					return string(data[:n])
				}
			}
			for j := range 4 {
				must(t, appendLine(p, fmt.Sprint("line ", i, j), atomicfile.Options{}))
			}
			if now := got(); now != want {
				t.Fatalf("mapped %v: an open file changed at byte %d", mapped, firstDifference(now, want))
			}
		}
	}
}

// A process that reads without a lock, at once, slowly, or with the file open for long, never reads
// content that was not published.
func TestShadowReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	needShadow(t)
	p := newFile(t, large)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	reads, bad := make([]int, 4), make([]int, 4)
	for i := range reads {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				data, err := readInPieces(p, []int{0, 4096, 64 << 10, 1 << 20}[i])
				reads[i]++
				if err != nil || !wholeLines(data) {
					bad[i]++
				}
			}
		})
	}
	edits := testenv.Scale(120, 20_000)
	for i := range edits {
		must(t, appendLine(p, fmt.Sprint("n", i), atomicfile.Options{}))
	}
	close(stop)
	wg.Wait()
	for i, n := range bad {
		if n > 0 {
			t.Errorf("reader %d: %d of %d reads were not whole", i, n, reads[i])
		}
	}
	if got := content(t, p); !wholeLines([]byte(got)) || strings.Count(got, "\nn") != edits {
		t.Errorf("%d of %d lines", strings.Count(got, "\nn"), edits)
	}
	testenv.Measured(t, "%d edits of a large file beside readers without a lock: %d reads, all of them whole", edits, reads[0]+reads[1]+reads[2]+reads[3])
}

func readInPieces(path string, piece int) ([]byte, error) {
	if piece == 0 {
		return os.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []byte
	for buf := make([]byte, piece); ; {
		n, err := f.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			return all, nil
		}
	}
}

// wholeLines reports whether data is large with lines n0, n1, … behind it.
func wholeLines(data []byte) bool {
	rest, ok := strings.CutPrefix(string(data), large)
	n := 0
	for line := range strings.Lines(rest) {
		ok = ok && line == fmt.Sprintf("n%d\n", n)
		n++
	}
	return ok
}

// A process that is killed at any step of the edit of a large file loses nothing; one that is
// stopped there loses nothing of its own or of other programs.
func TestShadowKilledAndStopped(t *testing.T) {
	t.Parallel()
	needShadow(t)
	for _, step := range atomicfile.Steps(atomicfile.TierExchange) {
		p := newFile(t, large)
		out, err := command("kill", step, 3, p, atomicfile.TierExchange).Output()
		if err == nil {
			t.Fatalf("%s: the process lived on: %s", step, out)
		}
		acked := strings.Count(string(out), "acked")
		must(t, appendLine(p, "next", atomicfile.Options{Deadline: 5 * time.Second}))
		want := large
		for i := range acked {
			want += fmt.Sprintf("ours-%d\n", i)
		}
		if got := content(t, p); got != want+"next\n" && got != want+fmt.Sprintf("ours-%d\nnext\n", acked) {
			t.Errorf("killed at %s: %d acknowledged, behind what was there: %q", step, acked, strings.TrimPrefix(got, large))
		}
		clean(t, p)
	}
	for _, step := range atomicfile.Steps(atomicfile.TierExchange) {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newFile(t, large)
			must(t, appendLine(p, "one", atomicfile.Options{}))
			must(t, appendLine(p, "two", atomicfile.Options{}))
			cmd := command("stop", step, 0, p, atomicfile.TierExchange)
			var out strings.Builder
			cmd.Stdout = &out
			must(t, cmd.Start())
			waitStopped(t, cmd)
			must(t, foreignAppend(p, "foreign", stopStale))
			must(t, appendLine(p, "neighbour", atomicfile.Options{Stale: stopStale}))
			must(t, cmd.Process.Signal(syscall.SIGCONT))
			if err := cmd.Wait(); err != nil || !strings.HasPrefix(out.String(), "acked") {
				t.Errorf("the stopped process: %v %q", err, out.String())
			}
			must(t, appendLine(p, "last", atomicfile.Options{Stale: stopStale}))
			got, ok := strings.CutPrefix(content(t, p), large)
			for _, want := range []string{"one\n", "two\n", "foreign\n", "neighbour\n", "ours-", "last\n"} {
				if !ok || strings.Count(got, want) != 1 {
					t.Errorf("%q: %d times in %q", want, strings.Count(got, want), got)
				}
			}
			clean(t, p)
		})
	}
}
