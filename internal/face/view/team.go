package view

import (
	"encoding/json"
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/internal/json/jsonobj"
	"waggle/operator/inspect"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/team"
)

// CreatedDocument is a team that was made.
type CreatedDocument struct {
	Path string `json:"path"`
	Team string `json:"team"`
}

// RegisteredDocument is a member that was registered.
type RegisteredDocument struct {
	AgentID  string `json:"agent_id"`
	Archived string `json:"archived"` // where the mailbox of an earlier one is; "": there was none
	Color    string `json:"color"`
	Member   string `json:"member"`
}

// UnregisteredDocument is a member that was taken out of the registry.
type UnregisteredDocument struct {
	Member string `json:"member"`
	State  string `json:"state"` // removed
}

// CreatedPage shows the path of a team.
func CreatedPage(d CreatedDocument) (p page.Page) {
	p.Line(page.Plain("team "), page.Strong(d.Team), page.Plain(" is in "+d.Path))
	return p
}

// RegisteredPage shows the name of a new member.
func RegisteredPage(m team.Member) (p page.Page) {
	p.Line(page.Span{Text: string(m.Name), Color: m.Color}, page.Plain(fmt.Sprintf(" joined as %s, %s", m.AgentID, m.Color)))
	return p
}

// UnregisteredPage shows that a member was removed from a team.
func UnregisteredPage(member string, of protocol.TeamName) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("%s is out of team %s", member, of)))
	return p
}

// DeletedPage says what a deletion did.
func DeletedPage(d *teams.Deleted) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("team %s is deleted; its tasks are %s", d.Team, d.Tasks)))
	return p
}

// Registry is the document of a team: the registry's own fields in their order, then those of seed
// 002's export, then the running processes.
func Registry(tv *inspect.TeamView) (json.RawMessage, error) {
	object, err := jsonobj.Parse(tv.Config.AppendJSON(nil))
	if err != nil {
		return nil, err
	}
	members, _ := object.Get("members")
	entries, _ := jsonobj.Elements(members)
	live := []string{}
	for _, r := range tv.Live {
		live = append(live, string(r.Name))
	}
	for _, f := range []struct {
		key   string
		value any
	}{
		{"team", tv.Team}, {"created", protocol.FormatTime(tv.Config.CreatedAt)}, {"active_members", tv.Active()},
		{"total_members", len(entries)}, {"dialect", tv.Config.Dialect()}, {"layout", tv.Layout},
		{"live", len(live)}, {"live_members", live}, {"led", tv.Led}, {"ours", tv.Ours}, {"sockets", tv.Sockets},
	} {
		raw, err := page.DocumentLine(f.value)
		if err != nil {
			return nil, err
		}
		object.Delete(f.key) // a registry's own key of that name is not what is asked for
		object.Set(f.key, raw)
	}
	return object.Raw(), nil
}

// EndPlanPage says what the end of a team would end.
func EndPlanPage(tv *inspect.TeamView) (p page.Page) {
	for _, r := range tv.Live {
		p.Line(page.Plain(fmt.Sprintf("would end %s (process %d)", r.Name, r.PID)))
	}
	if len(tv.Live) == 0 {
		p.Line(page.Plain(fmt.Sprintf("no member of team %s runs", tv.Team)))
	}
	if tv.Led {
		p.Line(page.Plain(fmt.Sprintf("team %s is led by a running process, which would end it", tv.Team)))
	}
	p.Line(page.Faint("nothing was changed"))
	return p
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

// TokenPage is the token.
func TokenPage(m teams.Minted) (p page.Page) {
	p.Line(page.Plain(m.Token))
	return p
}

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

// ProblemsPage has a line for each problem, or says that there is none.
func ProblemsPage(ps []teams.Problem, of protocol.TeamName) (p page.Page) {
	if len(ps) == 0 {
		p.Line(page.Plain("every file of team " + string(of) + " is valid"))
	}
	for _, x := range ps {
		p.Line(page.Plain(x.String()))
	}
	return p
}
