//go:build unix

package testenv_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waggle/internal/test/testenv"
)

// outcome is a testing.TB that keeps the messages with which a test skips or fails.
type outcome struct {
	testing.TB
	skipped, failed string
	logs            []string
}

type gaveUp struct{}

func (o *outcome) Helper() {}

func (o *outcome) Skipf(format string, args ...any) {
	o.skipped = fmt.Sprintf(format, args...)
	panic(gaveUp{})
}

func (o *outcome) Fatalf(format string, args ...any) {
	o.Errorf(format, args...)
	panic(gaveUp{})
}

func (o *outcome) Errorf(format string, args ...any) { o.failed += fmt.Sprintf(format, args...) }

func (o *outcome) Log(args ...any)                 { o.logs = append(o.logs, fmt.Sprint(args...)) }
func (o *outcome) Logf(format string, args ...any) { o.Log(fmt.Sprintf(format, args...)) }

func run(t *testing.T, fn func(testing.TB)) *outcome {
	t.Helper()
	o := &outcome{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != (gaveUp{}) {
				panic(r)
			}
		}()
		fn(o)
	}()
	return o
}

// TestEventually: a wait in vain says what for, what is there instead, and where this program stands.
func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := run(t, func(tb testing.TB) {
			testenv.Eventually(tb, "rain", func() bool { return false }, func() string { return "the sun shines" })
		})
		if !strings.HasPrefix(o.failed, "never: raingoroutine ") || !slices.Equal(o.logs, []string{"the sun shines"}) || time.Since(began) < time.Minute { // the bubble's clock
			t.Errorf("after %s: %.200s, %q", time.Since(began), o.failed, o.logs)
		}
	})
}

func TestRequire(t *testing.T) {
	bin := t.TempDir()
	testenv.Must(t, testenv.Executable(filepath.Join(bin, "present"), []byte("#!/bin/sh\n")))
	t.Setenv("PATH", bin)
	t.Setenv("WAGGLE_REQUIRE", "present,needed")
	for _, tc := range []struct {
		tool          string
		skips, failed bool
	}{
		{"present", false, false},
		{"absent", true, false},
		{"needed", false, true},
	} {
		o := run(t, func(tb testing.TB) { testenv.Require(tb, tc.tool) })
		if (o.skipped != "") != tc.skips || (o.failed != "") != tc.failed {
			t.Errorf("%s: skipped %q, failed %q", tc.tool, o.skipped, o.failed)
		}
		if s := o.skipped + o.failed; s != "" && (!strings.Contains(s, tc.tool) || strings.Contains(s, "\n")) {
			t.Errorf("%s: %q is not one line that names the program", tc.tool, s)
		}
	}
}

// A bwrap that can do nothing in this kernel does not make the sandbox tests fail unless they were
// asked for.
func TestRequireOfNoUse(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
	testenv.Must(t, testenv.Executable(filepath.Join(bin, "bwrap"), []byte(script)))
	t.Setenv("PATH", bin)
	t.Setenv("WAGGLE_REQUIRE", "")
	o := run(t, func(tb testing.TB) { testenv.Require(tb, "bwrap") })
	if !strings.Contains(o.skipped, "No permissions to create new namespace") {
		t.Errorf("skipped %q, failed %q", o.skipped, o.failed)
	}
}

func TestNodeModules(t *testing.T) {
	bin, base := t.TempDir(), t.TempDir()
	testenv.Must(t, testenv.Executable(filepath.Join(bin, "node"), []byte("#!/bin/sh\n")))
	t.Setenv("PATH", bin)
	t.Setenv("WAGGLE_REQUIRE", "")
	t.Setenv("WAGGLE_NODE_MODULES", "")
	var dir string
	get := func(tb testing.TB) { dir = testenv.NodeModules(tb) }
	if o := run(t, get); o.skipped == "" {
		t.Error("not skipped without WAGGLE_NODE_MODULES")
	}
	t.Setenv("WAGGLE_NODE_MODULES", base)
	if o := run(t, get); o.skipped == "" {
		t.Error("not skipped without proper-lockfile")
	}
	t.Setenv("WAGGLE_REQUIRE", "node")
	if o := run(t, get); o.failed == "" {
		t.Error("not failed without proper-lockfile")
	}
	pkg := filepath.Join(base, "node_modules", "proper-lockfile")
	testenv.Must(t, os.MkdirAll(pkg, 0o755))
	testenv.Must(t, os.WriteFile(filepath.Join(pkg, "package.json"), []byte("{}"), 0o644))
	if o := run(t, get); o.failed != "" || dir != filepath.Join(base, "node_modules") {
		t.Errorf("got %q, failed %q", dir, o.failed)
	}
}

// TestSwitch: a test of the full run is skipped in the usual one; the soak sizes are the full run at larger sizes.
func TestSwitch(t *testing.T) {
	for value, want := range map[string]struct {
		full, soak bool
		size       int
	}{"": {false, false, 3}, "1": {false, false, 3}, "full": {true, false, 3}, "soak": {true, true, 50}} {
		t.Setenv(testenv.TestVar, value)
		if testenv.Full() != want.full || testenv.Soak() != want.soak || testenv.Scale(3, 50) != want.size {
			t.Errorf("WAGGLE_TEST=%q: full %v, soak %v, %d", value, testenv.Full(), testenv.Soak(), testenv.Scale(3, 50))
		}
		if skipped := run(t, testenv.Long).skipped != ""; skipped == want.full {
			t.Errorf("WAGGLE_TEST=%q: skipped %v", value, skipped)
		}
		took := run(t, func(t testing.TB) { testenv.Within(t, "it", 2*time.Second, time.Second) })
		if failed := took.failed != ""; failed != want.full {
			t.Errorf("WAGGLE_TEST=%q: longer than its limit, failed %v", value, failed)
		}
	}
}

// The places at which runs may begin are together all of a list; the soak size takes all.
func TestSample(t *testing.T) {
	t.Setenv(testenv.TestVar, "")
	seen := map[int]bool{}
	for seed := range 7 {
		t.Setenv("WAGGLE_SEED", fmt.Sprint(seed))
		first, step := testenv.Sample(t, 7)
		if seen[first] = true; step != 7 || first < 0 || first >= step {
			t.Errorf("from %d, every %d", first, step)
		}
	}
	if len(seen) != 7 {
		t.Errorf("the first ones are %v", seen)
	}
	t.Setenv(testenv.TestVar, "soak")
	if first, step := testenv.Sample(t, 7); first != 0 || step != 1 {
		t.Errorf("soak: from %d, every %d", first, step)
	}
}

// The number of random cases is the test's, and afterwards what it was; not if it was set.
func TestChecks(t *testing.T) {
	n := flag.Int("rapid.checks", 100, "as the package has it")
	for _, env := range []string{"", "soak"} {
		t.Setenv(testenv.TestVar, env)
		t.Run(env, func(t *testing.T) {
			testenv.Checks(t, 5, 50)
			if want := testenv.Scale(5, 50); *n != want {
				t.Errorf("%d checks, want %d", *n, want)
			}
		})
		if *n != 100 {
			t.Errorf("%d checks are left", *n)
		}
	}
	testenv.Must(t, flag.Set("rapid.checks", "9"))
	if testenv.Checks(t, 5, 50); *n != 9 {
		t.Errorf("%d checks, and 9 were asked for", *n)
	}
}

func TestSeed(t *testing.T) {
	t.Setenv("WAGGLE_SEED", "")
	t.Setenv(testenv.TestVar, "")
	o := &outcome{TB: t}
	if got := testenv.Seed(o); got != 1 {
		t.Errorf("the usual seed is %d", got)
	}
	t.Setenv(testenv.TestVar, "full")
	o = &outcome{TB: t}
	a, b := testenv.Seed(o), testenv.Seed(o)
	if a == b {
		t.Errorf("drew %d twice", a)
	}
	if want := fmt.Sprintf("WAGGLE_SEED=%d", a); !strings.Contains(o.logs[0], want) {
		t.Errorf("%q does not say %s", o.logs[0], want)
	}
	t.Setenv("WAGGLE_SEED", "18446744073709551615")
	if got := testenv.Seed(o); got != 1<<64-1 {
		t.Errorf("got %d", got)
	}
	t.Setenv("WAGGLE_SEED", "x")
	if o := run(t, func(tb testing.TB) { testenv.Seed(tb) }); o.failed == "" {
		t.Error("a seed that is no number was taken")
	}
}

// CPU counts computing and not waiting: the time that other programs take from this one is not
// counted.
func TestCPU(t *testing.T) {
	wait := testenv.CPU(func() { time.Sleep(300 * time.Millisecond) }) // real clock: a wait that is no work of the processor
	text := make([]byte, 1<<20)
	busy := testenv.CPU(func() {
		for range 50 { // not for a time: a busy machine gives none of it
			sum := sha256.Sum256(text)
			copy(text, sum[:])
		}
	})
	if wait > 200*time.Millisecond || busy <= wait {
		t.Errorf("waiting %s, computing %s", wait, busy)
	}
}
