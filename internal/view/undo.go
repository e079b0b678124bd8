package view

import (
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// UndoDocument is what undo has taken back, or would take back.
type UndoDocument struct {
	Team    string               `json:"team"`
	At      string               `json:"at"` // of the decision
	Answers []UndoAnswerDocument `json:"answers"`
	Changes []UndoChangeDocument `json:"changes"`
	Late    []string             `json:"late"` // why an answer of it was not taken back
	Ran     []string             `json:"ran"`  // calls that a rule of it allowed and that have started
	Done    bool                 `json:"done"` // false: it would be taken back
}

// UndoAnswerDocument is an answer that was taken back: its request is asked again.
type UndoAnswerDocument struct {
	Handle   string `json:"handle"`
	Member   string `json:"member"`
	Decision string `json:"decision"`
	What     string `json:"what"`
}

// UndoChangeDocument is a change of the policy that was taken back.
type UndoChangeDocument struct {
	Rule  string `json:"rule"`
	Added bool   `json:"added"` // it had been added, and holds no more; else it holds again
}

// Undo is the document of what undo has taken back, or would.
func Undo(a *decide.Act, done bool) UndoDocument {
	d := UndoDocument{Team: string(a.Team), At: page.Stamp(a.At), Answers: []UndoAnswerDocument{}, Changes: []UndoChangeDocument{},
		Late: append([]string{}, a.Late...), Ran: append([]string{}, a.Ran...), Done: done}
	for _, x := range a.Answers {
		d.Answers = append(d.Answers, UndoAnswerDocument(x))
	}
	for _, c := range a.Changes {
		d.Changes = append(d.Changes, UndoChangeDocument(c))
	}
	return d
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
