package mcp

import (
	"context"
	"io"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of a server.
type Options struct {
	Version string       // of this program
	Log     *slog.Logger // may be nil. It gets no message bodies
}

// Server serves one client.
type Server struct {
	mcp  *sdk.Server
	seat Seat
}

// instructions are the text that a client gives its model with the tools.
const instructions = `You are a member of a team of agents that waggle runs.
check_messages is how you get work: call it first, and again whenever you have finished; it waits
until something comes. Before you run a command or change a file, ask with request_permission and
do exactly what was allowed: a call without an answer was not allowed. Ask people with
ask_question; when nobody answers, do not assume. A task with plan_required needs submit_plan
before any change. End a task with complete_task. After you have lost your context, call brief.`

// New makes a server for a seat. It adds the lead's tools when the seat implements Leading and its
// identity is the lead's.
func New(seat Seat, o Options) *Server {
	s := &Server{seat: seat}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "waggle", Title: "waggle", Version: o.Version},
		&sdk.ServerOptions{Instructions: instructions, Logger: o.Log, Capabilities: &sdk.ServerCapabilities{}})
	s.addWords()
	s.addRequests()
	s.addBoard()
	s.addResources()
	if lead, ok := seat.(Leading); ok && seat.Identity().Lead {
		s.addLead(lead)
	}
	return s
}

// Run serves one connection until the client closes it (nil) or ctx ends.
func (s *Server) Run(ctx context.Context, t sdk.Transport) error {
	return s.mcp.Run(ctx, t)
}

// IO is the connection over a pair of streams, the standard ones for one.
func IO(in io.ReadCloser, out io.WriteCloser) sdk.Transport {
	return &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: 2 * maxArguments}
}
