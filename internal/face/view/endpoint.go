package view

import (
	"strconv"

	"waggle/internal/face/view/page"
	"waggle/operator/mail"
)

// EndpointPage shows where to POST, and with what.
func EndpointPage(e mail.Endpoint) (p page.Page) {
	p.Line(page.Plain("url    " + e.URL + "/v1/TEAM/MEMBER"))
	p.Line(page.Plain("token  " + e.Token))
	p.Line(page.Plain("pid    " + strconv.Itoa(e.PID)))
	return p
}
