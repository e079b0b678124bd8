package view

import (
	"fmt"

	"waggle/internal/face/view/page"
)

// Client says how an MCP client becomes a member.
type Client struct {
	Team    string
	Member  string
	Program string // waggle itself, absolute
	Root    string
	State   string
}

// ClientDocument is the document of a member that was made for a client.
type ClientDocument struct {
	Team    string        `json:"team"`
	Member  string        `json:"member"`
	Servers ClientServers `json:"mcpServers"` // as a client's configuration has it
}

// ClientServers is the entry of a client's configuration.
type ClientServers struct {
	Waggle ClientServer `json:"waggle"`
}

// ClientServer is how a client starts a server.
type ClientServer struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// ClientAdded is the document of a member for a client.
func ClientAdded(c Client) ClientDocument {
	return ClientDocument{c.Team, c.Member, ClientServers{ClientServer{c.Program, []string{"mcp", "--team", c.Team, "--as", c.Member, "--root", c.Root, "--state", c.State}}}}
}

// ClientAddedPage shows the entry that the client's configuration needs.
func ClientAddedPage(c Client) (p page.Page) {
	p.Line(page.Plain(fmt.Sprintf("%s is a member of team %s, and waits for its client. The entry for the client's configuration:", c.Member, c.Team)))
	data, err := page.Document(struct {
		Servers ClientServers `json:"mcpServers"`
	}{ClientAdded(c).Servers})
	if err != nil {
		data = []byte(err.Error())
	}
	p.Line(page.Plain(string(data)))
	return p
}
