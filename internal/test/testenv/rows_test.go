//go:build unix

package testenv_test

import (
	"slices"
	"testing"

	"waggle/internal/test/testenv"
)

// A sample has this number of rows in order, the same rows by the same seed, each row by some seed;
// the whole table is used where it is asked for.
func TestRows(t *testing.T) {
	table := []int{0, 1, 2, 3, 4}
	t.Setenv(testenv.TestVar, "")
	seen := map[int]bool{}
	for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"} {
		t.Setenv("WAGGLE_SEED", seed)
		o := &outcome{TB: t}
		got := testenv.Rows(o, table, 2)
		if len(got) != 2 || got[0] >= got[1] || !slices.Equal(got, testenv.Rows(o, table, 2)) {
			t.Errorf("seed %s drew %v", seed, got)
		}
		for _, row := range got {
			seen[row] = true
		}
	}
	if len(seen) != len(table) {
		t.Errorf("twelve seeds drew only %v", seen)
	}
	if got := testenv.Rows(t, table, 9); !slices.Equal(got, table) {
		t.Errorf("a sample larger than the table is %v", got)
	}
	for _, run := range []string{"full", "soak"} {
		t.Setenv(testenv.TestVar, run)
		if got := testenv.Rows(t, table, 2); !slices.Equal(got, table) {
			t.Errorf("%s: %v", run, got)
		}
	}
}
