package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"waggle/agent"
	"waggle/internal/json/jsonobj"
)

// maxBrief is the largest size of a brief in bytes: 1,500 tokens have at least 4,500.
const maxBrief = 4500

func (s *Server) brief(ctx context.Context) (Brief, error) {
	b, err := s.seat.Brief(ctx)
	if len(b.Text) > maxBrief {
		b.Text = strings.TrimRight(strings.ToValidUTF8(b.Text[:maxBrief-len("\n…")], ""), "\n") + "\n…"
	}
	return b, err
}

// addResources adds the resources of the server.
func (s *Server) addResources() {
	s.resource("waggle://roster", "roster", "Who is in the team and how each is", func(ctx context.Context) (any, error) { return s.seat.Members(ctx) })
	s.resource("waggle://task", "task", "Your own tasks", func(ctx context.Context) (any, error) {
		all, err := s.seat.Tasks(ctx)
		own := []agent.BoardTask{}
		for _, t := range all {
			if t.Owner == string(s.seat.Identity().Member) {
				own = append(own, t)
			}
		}
		return own, err
	})
	s.resource("waggle://brief", "brief", "What you need to know after a lost context", func(ctx context.Context) (any, error) { return s.brief(ctx) })
}

func (s *Server) resource(uri, name, description string, read func(context.Context) (any, error)) {
	r := &sdk.Resource{URI: uri, Name: name, Description: description, MIMEType: "application/json"}
	s.mcp.AddResource(r, func(ctx context.Context, _ *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		v, err := read(ctx)
		if err != nil {
			return nil, err
		}
		if b, ok := v.(Brief); ok {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: b.Text}}}, nil
		}
		data, err := jsonobj.Marshal(v)
		if err != nil {
			return nil, err
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: r.MIMEType, Text: string(data)}}}, nil
	})
}
