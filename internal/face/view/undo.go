package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// UndoDocument is what undo has taken back, or would take back.
type UndoDocument struct {
	*decide.Act
	Done bool `json:"done"` // false: it would be taken back
}

// UndoPage says what undo has taken back, or would.
func UndoPage(a *decide.Act, done bool) (p page.Page) {
	back, over, again := "taken back: ", "holds no more: ", "holds again: "
	if !done {
		back, over, again = "would take back: ", "would hold no more: ", "would hold again: "
	}
	for _, x := range a.Answers {
		p.Line(page.Plain(back+x.Decision+" of "), page.Strong(x.Handle), page.Plain(" ("+x.Member+": "+x.What+"), which is asked again"))
	}
	for _, c := range a.Changes {
		if c.Added {
			p.Line(page.Plain(over + c.Rule))
		} else {
			p.Line(page.Plain(again + c.Rule))
		}
	}
	for _, r := range a.Ran {
		p.Line(page.Warning("it has let run, which nothing undoes: " + r))
	}
	for _, why := range a.Late {
		p.Line(page.Warning(why))
	}
	if a.Spent() {
		p.Line(page.Step(operator.NextUndoEarlier.With()))
	}
	if !done {
		p.Line(page.Faint("nothing was changed"))
	}
	return p
}
