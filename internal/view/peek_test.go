package view_test

import (
	"testing"

	"waggle/internal/view"
	"waggle/operator/inspect"
)

func TestPeek(t *testing.T) {
	p := &inspect.Peek{Team: "api", Name: "ann", State: "idle", Since: at(0), Why: "rests", Log: "/t/ann/output.log", At: at(30), Shown: inspect.ShownLines, Where: inspect.WhereTeam, Lines: []string{"one", "two"}, Earlier: true}
	golden(t, "peek", view.Peek(p, now))
	golden(t, "peek_empty", view.Peek(&inspect.Peek{}, now))
	golden(t, "peek_line", view.PeekLine{Line: "one"})
	page(t, "peek", view.PeekHead(p, now))
	p.Shown, p.Where = inspect.ShownScreen, inspect.WhereArchive
	page(t, "peek_screen", view.PeekHead(p, now))
	page(t, "peek_empty", view.PeekHead(&inspect.Peek{Name: "ann", State: "dead", Why: "gone"}, now))
}

// lines compares lines with their file.
func lines(t *testing.T, name string, ls []view.Line) {
	t.Helper()
	var p view.Page
	for _, l := range ls {
		p = append(p, view.Block{Line: l})
	}
	page(t, name, p)
}
