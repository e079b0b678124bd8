package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/inspect"
)

// TestGlanceLine: only what is not zero is shown, and a quiet line is empty.
func TestGlanceLine(t *testing.T) {
	for want, g := range map[string]inspect.Glance{
		"":         {},
		"?2 >5 x1": {Waiting: 2, Working: 5, Failed: 1},
		">5":       {Working: 5},
		"?12 x3":   {Waiting: 12, Failed: 3},
	} {
		if got := view.GlanceLine(g); got != want {
			t.Errorf("%+v: %q, want %q", g, got, want)
		}
	}
	golden(t, "glance", inspect.Glance{Waiting: 2})
}
