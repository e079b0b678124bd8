package view

import (
	"fmt"

	"waggle/internal/face/view/page"
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
