package testenv

import (
	"math/rand/v2"
	"os"
	"testing"
)

// Tables reports whether tables are tried whole: in the soak sizes, and with
// WAGGLE_TABLES=whole.
func Tables() bool { return Soak() || os.Getenv("WAGGLE_TABLES") == "whole" }

// Rows returns n rows of a table in the table's order, drawn by Seed, and every row
// where Tables says so: it is for a table whose rows cost
// seconds each and ask the same of the same code.
func Rows[T any](t testing.TB, table []T, n int) []T {
	t.Helper()
	if Tables() || n >= len(table) {
		return table
	}
	r := rand.New(rand.NewPCG(Seed(t), 0))
	var drawn []T
	for i, row := range table {
		if r.IntN(len(table)-i) < n-len(drawn) {
			drawn = append(drawn, row)
		}
	}
	return drawn
}
