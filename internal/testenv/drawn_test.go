//go:build unix

package testenv_test

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"waggle/internal/testenv"
)

// undrawn removes for this test the flags and variables that make its program run all tests.
func undrawn(t *testing.T) {
	t.Setenv("WAGGLE_SOAK", "")
	t.Setenv("WAGGLE_TABLES", "")
	t.Setenv("WAGGLE_TESTS", "")
	run := flag.Lookup("test.run")
	was := run.Value.String()
	t.Cleanup(func() { _ = run.Value.Set(was) }) // it was its value
	if err := run.Value.Set(""); err != nil {
		t.Fatal(err)
	}
}

// A run takes about a third of the names, or the share that is asked for, the same names by the same
// seed, each by some seed; all of them where they are asked for.
func TestDrawnOf(t *testing.T) {
	undrawn(t)
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprint("script", i))
	}
	seen := map[string]bool{}
	for seed := range 30 {
		t.Setenv("WAGGLE_SEED", strconv.Itoa(seed))
		o := &outcome{TB: t}
		got := testenv.DrawnOf(o, names)
		if len(got) < 4 || len(got) > 24 || !slices.Equal(got, testenv.DrawnOf(o, names)) {
			t.Errorf("seed %d drew %d of 40: %v", seed, len(got), got)
		}
		for _, n := range got {
			seen[n] = true
		}
	}
	if len(seen) != len(names) {
		t.Errorf("thirty seeds drew only %d of 40", len(seen))
	}
	half := 0
	t.Setenv("WAGGLE_TESTS", "2")
	for seed := range 30 {
		t.Setenv("WAGGLE_SEED", strconv.Itoa(seed))
		half += len(testenv.DrawnOf(&outcome{TB: t}, names))
	}
	if half < 500 || half > 700 {
		t.Errorf("one in two is %d of 1200", half)
	}
	t.Setenv("WAGGLE_TESTS", "")
	for _, env := range [][2]string{{"WAGGLE_SOAK", "1"}, {"WAGGLE_TABLES", "whole"}, {"WAGGLE_TESTS", "all"}} {
		t.Setenv(env[0], env[1])
		if got := testenv.DrawnOf(t, names); !slices.Equal(got, names) {
			t.Errorf("%s: %v", env, got)
		}
		t.Setenv(env[0], "")
	}
}

// A test is left out by some seeds and run by others, and is run where -run names it.
func TestDrawn(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short every such test is left out")
	}
	undrawn(t)
	skipped := 0
	for seed := range 12 {
		t.Setenv("WAGGLE_SEED", strconv.Itoa(seed))
		if run(t, func(tb testing.TB) { testenv.Drawn(tb) }).skipped != "" {
			skipped++
		}
	}
	if skipped == 0 || skipped == 12 {
		t.Errorf("left out by %d of 12 seeds", skipped)
	}
	if err := flag.Set("test.run", "Drawn"); err != nil {
		t.Fatal(err)
	}
	for seed := range 12 {
		t.Setenv("WAGGLE_SEED", strconv.Itoa(seed))
		if o := run(t, func(tb testing.TB) { testenv.Drawn(tb) }); o.skipped != "" {
			t.Errorf("seed %d: %s", seed, o.skipped)
		}
	}
}
