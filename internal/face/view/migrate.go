package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/teams"
)

// MigratedPage says in which layout the mailboxes are.
func MigratedPage(m *teams.Migrated) (p page.Page) {
	end := " already"
	if m.Changed {
		end = ": " + texts(m.Members, ", ")
	}
	p.Line(page.Plain("the mailboxes of "), page.Strong(m.Team), page.Plain(" are in the layout "+m.Layout+end))
	return p
}

// MigratedSchemaPage shows what each step did, and the version of the team; for a dry run what each
// would do.
func MigratedSchemaPage(m *teams.MigratedSchema) (p page.Page) {
	for _, s := range m.Steps {
		p.Line(page.Plain(fmt.Sprintf("%d  %s  %s", s.Number, s.Version, s.What)))
		for _, c := range s.Changes {
			p.Line(page.Plain("     " + c))
		}
	}
	switch {
	case len(m.Steps) == 0:
		p.Line(page.Plain("team "), page.Strong(m.Team), page.Plain(" has version "+m.To+" already"))
	case !m.DryRun:
		p.Line(page.Plain("team "), page.Strong(m.Team), page.Plain(" has version "+m.To))
	}
	return p
}
