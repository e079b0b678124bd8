package view

import (
	"fmt"
	"strings"

	"waggle/operator/inspect"
)

// GlanceDocument is all teams in three numbers.
type GlanceDocument struct {
	Waiting int `json:"waiting"`
	Working int `json:"working"`
	Failed  int `json:"failed"`
}

// Glance is the document of the numbers.
func Glance(g inspect.Glance) GlanceDocument { return GlanceDocument(g) }

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
