package atomicfile_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
)

// TestLockFromTheFuture: a lock of another program whose time lies in the future is taken over once it was not
// renewed for the stale time, also by calls that each wait for a shorter time; one that is renewed never is.
func TestLockFromTheFuture(t *testing.T) {
	t.Parallel()
	ahead := func(p string, d time.Duration) {
		t.Helper()
		at := time.Now().Add(d)
		must(t, os.Chtimes(p+".lock", at, at))
	}
	abandoned := func() string {
		p := newFile(t, "")
		must(t, os.Mkdir(p+".lock", 0o755))
		ahead(p, 24*time.Hour)
		return p
	}
	p := abandoned()
	must(t, appendLine(p, "x", atomicfile.Options{Stale: 50 * time.Millisecond, Deadline: time.Minute}))
	clean(t, p)

	p = abandoned()
	o, calls := atomicfile.Options{Stale: 150 * time.Millisecond, Deadline: 20 * time.Millisecond}, 0
	var locked *atomicfile.LockedError
	for err := appendLine(p, "x", o); err != nil; calls++ {
		if !errors.As(err, &locked) || calls > 10_000 {
			t.Fatal(err)
		}
		err = appendLine(p, "x", o)
	}
	if calls == 0 {
		t.Error("it was taken over before anybody could know that nobody renews it")
	}
	clean(t, p)

	// Each look of the next one finds it renewed.
	p = abandoned()
	before, err := os.Lstat(p + ".lock")
	must(t, err)
	o, calls = atomicfile.Options{Stale: time.Nanosecond, Deadline: 100 * time.Millisecond}, 0
	o.Now = func() time.Time {
		if fi, err := os.Lstat(p + ".lock"); err == nil && os.SameFile(before, fi) {
			calls++
			ahead(p, 24*time.Hour+time.Duration(calls)*time.Second)
		}
		return time.Now()
	}
	isLocked(t, appendLine(p, "x", o))
	if after, err := os.Lstat(p + ".lock"); err != nil || !os.SameFile(before, after) || calls < 3 {
		t.Errorf("a lock that was renewed %d times was taken over: %v", calls, err)
	}
}

// TestSight: what is read of a lock directory is what was written of it; anything else is nothing.
func TestSight(t *testing.T) {
	b := atomicfile.EncodeSight([4]int64{1, 2, 3, 4})
	if got, ok := atomicfile.DecodeSight(b); !ok || got != [4]int64{1, 2, 3, 4} {
		t.Errorf("%v, %v", got, ok)
	}
	for _, bad := range [][]byte{nil, b[:len(b)-1], slices.Concat(b[:20], []byte("x"), b[21:]), make([]byte, len(b))} {
		if got, ok := atomicfile.DecodeSight(bad); ok {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
