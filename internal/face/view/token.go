package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator/teams"
)

// TokenPage is the token.
func TokenPage(m teams.Minted) (p page.Page) {
	p.Line(page.Plain(m.Token))
	return p
}
