package view

import (
	"waggle/internal/view/page"
	"waggle/operator/teams"
)

// TokenDocument is a token with which one process can join a team, once.
type TokenDocument struct {
	Team    string `json:"team"`
	Member  string `json:"member"`
	Token   string `json:"token"` // TEAM:SECRET
	Expires string `json:"expires"`
}

// Token is the document of a token.
func Token(m teams.Minted) TokenDocument {
	return TokenDocument{m.Team, m.Member, m.Token, page.Stamp(m.Expires)}
}

// TokenPage is the token.
func TokenPage(m teams.Minted) (p page.Page) {
	p.Line(page.Plain(m.Token))
	return p
}
