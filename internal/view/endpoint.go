package view

import (
	"strconv"

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
func EndpointPage(e mail.Endpoint) (p Page) {
	p.line(plain("url    " + e.URL + "/v1/TEAM/MEMBER"))
	p.line(plain("token  " + e.Token))
	p.line(plain("pid    " + strconv.Itoa(e.PID)))
	return p
}
