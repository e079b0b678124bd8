package view

import (
	"fmt"
	"strings"

	"waggle/internal/view/page"
	"waggle/operator/teams"
)

// MigratedDocument is the result of a change of layout.
type MigratedDocument struct {
	Team    string   `json:"team"`
	Layout  string   `json:"layout"`  // the present layout
	Changed bool     `json:"changed"` // mailboxes were moved or merged
	Members []string `json:"members"` // the members that have a mailbox
	Notes   []string `json:"notes"`   // problems found in the files
}

// Migrated is the document of a change of layout.
func Migrated(m *teams.Migrated) MigratedDocument {
	d := MigratedDocument{m.Team, m.Layout.String(), m.Changed, nil, m.Notes}
	for _, n := range m.Members {
		d.Members = append(d.Members, string(n))
	}
	return d
}

// MigratedPage says in which layout the mailboxes are.
func MigratedPage(m *teams.Migrated) (p page.Page) {
	d := Migrated(m)
	end := " already"
	if d.Changed {
		end = ": " + strings.Join(d.Members, ", ")
	}
	p.Line(page.Plain("the mailboxes of "), page.Strong(d.Team), page.Plain(" are in the layout "+d.Layout+end))
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
