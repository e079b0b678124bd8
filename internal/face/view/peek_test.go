package view_test

import (
	"testing"

	"waggle/internal/face/view"
	"waggle/operator/inspect"
)

func TestPeek(t *testing.T) {
	p := &inspect.Peek{Standing: inspect.Standing{Team: "api", Name: "ann", State: "idle", Stand: inspect.Stand{Is: inspect.ConditionReady}, Since: at(0), Why: "rests"}, Log: "/t/ann/output.log", At: at(30), Shown: inspect.ShownLines, Where: inspect.WhereTeam, Lines: []string{"one", "two"}, Earlier: true}
	golden(t, "peek", view.Peek(p, now))
	golden(t, "peek_empty", view.Peek(&inspect.Peek{}, now))
	golden(t, "peek_line", map[string]any{"line": "one"})
	samePage(t, "peek", view.PeekHead(p, now))
	p.Shown, p.Where = inspect.ShownScreen, inspect.WhereArchive
	samePage(t, "peek_screen", view.PeekHead(p, now))
	samePage(t, "peek_empty", view.PeekHead(&inspect.Peek{Standing: inspect.Standing{Name: "ann", State: "dead", Stand: inspect.Stand{Is: inspect.ConditionFailed}, Why: "gone"}}, now))
}
