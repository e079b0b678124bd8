package testenv

import (
	"math/rand/v2"
	"testing"
)

// Rows returns n rows of a table in the table's order, drawn by Seed, and in the full run every row: it is
// for a table whose rows cost seconds each and ask the same of the same code.
func Rows[T any](t testing.TB, table []T, n int) []T {
	t.Helper()
	if Full() || n >= len(table) {
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
