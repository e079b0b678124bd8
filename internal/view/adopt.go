package view

import (
	"fmt"

	"waggle/internal/view/page"
	"waggle/operator/teams"
)

// AdoptedDocument is a running session that has become a member.
type AdoptedDocument struct {
	Team     string            `json:"team"`
	Name     string            `json:"name"`
	Instance string            `json:"instance"`
	PID      int               `json:"pid"`
	Start    string            `json:"start"`   // kernel start time, opaque
	Session  string            `json:"session"` // "" when it was named by its process
	Above    bool              `json:"above"`   // the process is an ancestor of this program
	Trust    string            `json:"trust"`
	Controls []ControlDocument `json:"controls"` // what waggle can do with it and what it cannot
}

// ControlDocument is one operation on a member.
type ControlDocument struct {
	What string `json:"what"`
	Can  bool   `json:"can"`
	How  string `json:"how"` // the way, or the reason why it is not possible
}

// Adopted is the document of a session that has become a member.
func Adopted(a *teams.Adopted, spell page.Spell) AdoptedDocument {
	d := AdoptedDocument{a.Team, a.Name, string(a.Instance), a.PID, a.Start, a.Session, a.Above, string(a.Trust), make([]ControlDocument, 0, len(a.Controls))}
	for _, c := range a.Controls {
		d.Controls = append(d.Controls, ControlDocument{c.What, c.Can, spell.Sentence(c.How, c.Do)})
	}
	return d
}

// AdoptedPage shows the new member, and what can be done with it.
func AdoptedPage(a *teams.Adopted, spell page.Spell) (p page.Page) {
	p.Line(page.Strong(a.Name), page.Plain(fmt.Sprintf(" is a member of team %s: process %d, trust %s", a.Team, a.PID, a.Trust.Words())))
	t := page.Table{Head: []string{"CONTROL", "CAN", "HOW, OR WHY NOT"}, About: true}
	for _, c := range a.Controls {
		can := "no"
		if c.Can {
			can = "yes"
		}
		t.Rows = append(t.Rows, []string{c.What, can, spell.Sentence(c.How, c.Do)})
	}
	p.Table(t)
	return p
}

// AdoptedNotes say that commands below the process are the member's now.
func AdoptedNotes(a *teams.Adopted) (p page.Page) {
	if a.Above {
		p.Line(page.Warning("note:"), page.Plain(fmt.Sprintf(" this command runs below that process: from now on what is run here is %s's, not yours; decide from another terminal", a.Name)))
	}
	return p
}
