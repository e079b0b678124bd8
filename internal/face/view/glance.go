package view

import (
	"fmt"
	"strings"

	"waggle/operator/inspect"
)

// GlanceLine is the numbers that are not zero, "" when all are.
func GlanceLine(g inspect.Glance) string {
	var parts []string
	for _, n := range []struct {
		sign string
		n    int
	}{{"?", g.Waiting}, {">", g.Working}, {"x", g.Failed}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprint(n.sign, n.n))
		}
	}
	return strings.Join(parts, " ")
}
