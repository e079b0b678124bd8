package atomicfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
)

func isLocked(t *testing.T, err error) *atomicfile.LockedError {
	t.Helper()
	var locked *atomicfile.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("not a LockedError: %v", err)
	}
	return locked
}

func TestLockIsAnEmptyDirectoryBesideTheFile(t *testing.T) {
	t.Parallel()
	p, began := newFile(t, ""), time.Now()
	release, err := atomicfile.Lock(t.Context(), p, atomicfile.Options{})
	must(t, err)
	fi, err := os.Lstat(p + ".lock")
	must(t, err)
	names, err := os.ReadDir(p + ".lock")
	must(t, err)
	if !fi.IsDir() || len(names) > 0 {
		t.Errorf("%v %v", fi.Mode(), names)
	}
	if at := fi.ModTime(); at.Before(began.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("its time is %v, and it was made after %v", at, began)
	}
	must(t, release())
	must(t, release())
	clean(t, p)
	if _, err := atomicfile.Lock(t.Context(), p+"x", atomicfile.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing target: %v", err)
	}
}

func TestLiveForeignLockIsRespected(t *testing.T) {
	t.Parallel()
	p := newFile(t, "old\n")
	must(t, os.Mkdir(p+".lock", 0o755))
	before, err := os.Lstat(p + ".lock")
	must(t, err)
	err = appendLine(p, "x", atomicfile.Options{Deadline: 50 * time.Millisecond})
	locked := isLocked(t, err)
	if locked.Holder != "another program" || locked.Waited < 50*time.Millisecond || locked.Path != p {
		t.Errorf("%+v", locked)
	}
	for _, want := range []string{p, "another program", "try again"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	after, err := os.Lstat(p + ".lock")
	must(t, err)
	if !os.SameFile(before, after) || before.ModTime() != after.ModTime() || content(t, p) != "old\n" {
		t.Error("the foreign lock or its file was touched")
	}
	// A waiter gets the lock as soon as it is free.
	var wg sync.WaitGroup
	wg.Go(func() { must(t, appendLine(p, "x", atomicfile.Options{})) })
	must(t, os.Remove(p+".lock"))
	wg.Wait()
	holds(t, p, "old\nx\n")
}

func TestAbandonedForeignLockIsTakenOver(t *testing.T) {
	p := newFile(t, "")
	must(t, os.Mkdir(p+".lock", 0o755))
	old := time.Now().Add(-11 * time.Second)
	must(t, os.Chtimes(p+".lock", old, old))
	start := time.Now()
	must(t, appendLine(p, "x", atomicfile.Options{}))
	testenv.Within(t, "the edit", time.Since(start), time.Second)
	clean(t, p)
}

func TestLongHoldIsRenewed(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	o := atomicfile.Options{Stale: 200 * time.Millisecond}
	release, err := atomicfile.Lock(t.Context(), p, o)
	must(t, err)
	first, err := os.Lstat(p + ".lock")
	must(t, err)
	var oldest time.Duration
	testenv.Eventually(t, "five renewals", func() bool {
		fi, err := os.Lstat(p + ".lock")
		must(t, err)
		if !os.SameFile(first, fi) {
			t.Fatal("the lock was not renewed but made anew")
		}
		oldest = max(oldest, time.Since(fi.ModTime()))
		return fi.ModTime().Sub(first.ModTime()) > 3*o.Stale/2
	})
	testenv.Within(t, "the longest time without a renewal", oldest, 5*o.Stale)
	must(t, release())
	clean(t, p)
}

// A lock that another process took over, because its holder slept, belongs to that process.
func TestLostLockIsReportedAndLeftAlone(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	release, err := atomicfile.Lock(t.Context(), p, atomicfile.Options{})
	must(t, err)
	must(t, os.Remove(p+".lock"))
	must(t, os.Mkdir(p+".lock", 0o755))
	if err := release(); !errors.Is(err, atomicfile.ErrLost) {
		t.Errorf("release: %v", err)
	}
	if err := release(); !errors.Is(err, atomicfile.ErrLost) {
		t.Errorf("second release: %v", err)
	}
	if _, err := os.Lstat(p + ".lock"); err != nil {
		t.Error("the lock of another program was removed")
	}
}

// An edit whose lock is taken over before it publishes starts over.
func TestEditStartsOverWhenItsLockIsLost(t *testing.T) {
	t.Parallel()
	eachTier(t, func(t *testing.T, tier atomicfile.Tier) {
		for _, step := range []string{"lock-made", "locked", "read", "temp-created", "temp-written", "synced"} {
			p := newFile(t, "old\n")
			var wg sync.WaitGroup
			edited := make(chan struct{})
			o := at(atomicfile.Options{Tier: tier, Stale: 300 * time.Millisecond}, step, func() {
				must(t, os.Remove(p+".lock"))
				must(t, os.Mkdir(p+".lock", 0o755))
				if step == "lock-made" {
					time.Sleep(160 * time.Millisecond) // real clock: the holder must sleep for over half the stale time
				}
				must(t, unlockedAppend(p, "foreign"))
				wg.Go(func() {
					// The edit is waiting by the time this lock goes. This goroutine may have slept until
					// the edit had found the lock abandoned, and was over.
					testenv.Eventually(t, "a new attempt", func() bool {
						select {
						case <-edited:
							return true
						default:
						}
						return strings.Contains(content(t, filepath.Join(filepath.Dir(p), ".a.json.flk")), "taking")
					})
					_ = os.Remove(p + ".lock") // unless it was found to be abandoned before
				})
			})
			must(t, appendLine(p, "ours", o))
			close(edited)
			wg.Wait()
			if got := content(t, p); got != "old\nforeign\nours\n" {
				t.Errorf("%s: %q", step, got)
			}
			clean(t, p)
		}
	})
}

func TestFlock(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "q")
	release, err := atomicfile.Flock(t.Context(), p, atomicfile.Options{})
	must(t, err)
	_, err = atomicfile.Flock(t.Context(), p, atomicfile.Options{Deadline: 30 * time.Millisecond})
	isLocked(t, err)
	if _, held, err := atomicfile.TryFlock(p, atomicfile.Options{}); held || err != nil {
		t.Errorf("held %v, err %v", held, err)
	}
	must(t, release())
	must(t, release())
	release = mustTry(t, p, atomicfile.Options{})
	_, err = atomicfile.Flock(t.Context(), p, atomicfile.Options{Deadline: 30 * time.Millisecond})
	isLocked(t, err)
	must(t, release())
	// A lock on a file that is removed meanwhile locks nothing.
	release, err = atomicfile.Flock(t.Context(), p, atomicfile.Options{})
	must(t, err)
	must(t, os.Remove(p))
	release2 := mustTry(t, p, atomicfile.Options{})
	must(t, release())
	must(t, release2())
	if _, err := atomicfile.Flock(t.Context(), filepath.Join(filepath.Dir(p), "no", "dir"), atomicfile.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestFlockExcludesGoroutines(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "q")
	var wg sync.WaitGroup
	inside, n := 0, 0
	for range 8 {
		wg.Go(func() {
			for range 50 {
				release, err := atomicfile.Flock(context.Background(), p, atomicfile.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if inside++; inside != 1 {
					t.Error("two inside")
				}
				n++
				inside--
				must(t, release())
			}
		})
	}
	wg.Wait()
	if n != 400 {
		t.Errorf("%d", n)
	}
}

func TestLockOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(s string) string {
		p := filepath.Join(dir, s)
		must(t, os.WriteFile(p, nil, 0o600))
		return p
	}
	lock := func(rank atomicfile.Rank, p string) (release func() error, panicked any) {
		defer func() { panicked = recover() }()
		release, err := atomicfile.Lock(t.Context(), p, atomicfile.Options{Rank: rank})
		must(t, err)
		return release, nil
	}
	cases := []struct {
		first  atomicfile.Rank
		at     string
		second atomicfile.Rank
		then   string
		fine   bool
	}{
		{atomicfile.RankTasks, "t", atomicfile.RankTask, "1.json", true},
		{atomicfile.RankTask, "9.json", atomicfile.RankTask, "10.json", true},
		{atomicfile.RankTask, "10.json", atomicfile.RankTask, "9.json", false},
		{atomicfile.RankInbox, "a.json", atomicfile.RankInbox, "b.json", false},
		{atomicfile.RankConfig, "config.json", atomicfile.RankTask, "1.json", false},
		{atomicfile.RankInbox, "a.json", atomicfile.RankJournal, "j", true},
		{atomicfile.RankJournal, "j", atomicfile.RankInbox, "a.json", false},
		{0, "x", atomicfile.RankTasks, "t", true},
	}
	for _, c := range cases {
		first, p := lock(c.first, path(c.at))
		if p != nil {
			t.Fatal(p)
		}
		second, p := lock(c.second, path(c.then))
		if (p == nil) != c.fine {
			t.Errorf("%v then %v: panic %v", c.first, c.second, p)
		}
		if second != nil {
			must(t, second())
		}
		must(t, first())
		// Forgotten by now.
		first, p = lock(atomicfile.RankTasks, path("again"))
		if p != nil {
			t.Fatal(p)
		}
		must(t, first())
	}
	// Ranks are checked per goroutine: another goroutine may take the lower rank. A lease is tried
	// without waiting, so it is not checked.
	outer, _ := lock(atomicfile.RankJournal, path("j"))
	var wg sync.WaitGroup
	wg.Go(func() {
		inner, p := lock(atomicfile.RankTasks, path("t"))
		if p != nil {
			t.Error(p)
			return
		}
		must(t, inner())
	})
	wg.Wait()
	must(t, outer())
	lease := mustTry(t, path("lease"), atomicfile.Options{Rank: atomicfile.RankLease})
	second := mustTry(t, path("other lease"), atomicfile.Options{Rank: atomicfile.RankLease})
	must(t, second())
	if _, p := lock(atomicfile.RankLease, path("lease2")); p == nil {
		t.Error("a lease was waited for")
	}
	must(t, lease())
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	p := newFile(t, "")
	must(t, appendLine(p, "x", atomicfile.Options{}))
	flk := filepath.Join(filepath.Dir(p), ".a.json.flk")
	rec := []byte(content(t, flk))
	if got := atomicfile.DecodeRecord(rec); string(got) != string(rec) {
		t.Errorf("got  %s\nwant %s", got, rec)
	}
	// A damaged record decodes as that of a free lock.
	free := string(atomicfile.DecodeRecord(nil))
	for i := range rec[:strings.LastIndex(strings.TrimSpace(string(rec)), " ")] {
		bad := append([]byte(nil), rec...)
		bad[i] ^= 1
		if got := string(atomicfile.DecodeRecord(bad)); got != free {
			t.Fatalf("byte %d: %s", i, got)
		}
	}
	for _, junk := range []string{"", "x", strings.Repeat("\x00", 512), strings.Repeat("waggle-lock-1 ", 40)} {
		must(t, os.WriteFile(flk, []byte(junk), 0o600))
		must(t, appendLine(p, "y", atomicfile.Options{}))
	}
}
