package view

import (
	"strconv"

	"waggle/internal/view/page"
	"waggle/operator/mail"
)

// EndpointDocument is the address to which other processes POST messages.
type EndpointDocument struct {
	V     int    `json:"v"`
	URL   string `json:"url"`
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// Endpoint is the document of an endpoint.
func Endpoint(e mail.Endpoint) EndpointDocument { return EndpointDocument(e) }

// EndpointPage shows where to POST, and with what.
func EndpointPage(e mail.Endpoint) (p page.Page) {
	p.Line(page.Plain("url    " + e.URL + "/v1/TEAM/MEMBER"))
	p.Line(page.Plain("token  " + e.Token))
	p.Line(page.Plain("pid    " + strconv.Itoa(e.PID)))
	return p
}
