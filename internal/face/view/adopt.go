package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/teams"
)

// AdoptedPage shows the new member, and what can be done with it.
func AdoptedPage(a *teams.Adopted, spell page.Spell) (p page.Page) {
	p.Line(page.Strong(a.Name), page.Plain(fmt.Sprintf(" is a member of team %s: process %d, trust %s", a.Team, a.PID, a.Trust.Words())))
	t := page.Table{Head: []string{"CONTROL", "CAN", "HOW, OR WHY NOT"}, About: true}
	for _, c := range a.Controls {
		can := "no"
		if c.Can {
			can = "yes"
		}
		t.Rows = append(t.Rows, []string{c.What, can, spell.Sentence(c.How)})
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
