package claude

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/json/jsonobj"
)

// server is a tool server of the client, with how it is connected.
type server struct{ name, status, why string }

// The states of a tool server that are looked at here.
const (
	connecting = "pending"
	refused    = "failed"
	noLogin    = "needs-auth"
)

// servers asks the client about its tool servers.
func (c *Client) servers(ctx context.Context) ([]server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.start.Wait.Answer, errSilent)
	defer cancel()
	body, err := c.request(ctx, "mcp_status", "")
	if err != nil {
		return nil, err
	}
	list, _ := body.Get("mcpServers")
	all, _ := jsonobj.Elements(list)
	var found []server
	for _, raw := range all {
		if o, err := jsonobj.Parse(raw); err == nil {
			found = append(found, server{clipped(o.Text("name")), o.Text("status"), clipped(firstLine(o.Text("error")))})
		}
	}
	return slices.DeleteFunc(found, func(s server) bool { return s.name == prefixServer && s.status != connecting }), nil
}

// connected waits until no tool server is being connected: the client would ask the model at once, which
// then does not know the tools of a server that is slow to start. A wait of more than a second is said. It
// returns lines about the servers whose tools are missing. A client that does not tell, or goes on
// connecting after Waits.Servers, is not waited for; the error is ctx's, or ErrEnded.
func (c *Client) connected(ctx context.Context, say func(line string)) (missing []string, err error) {
	late := time.NewTimer(c.start.Wait.Servers)
	defer late.Stop()
	const longest = 500 * time.Millisecond
	pause, said := 20*time.Millisecond, false
	for over := false; ; {
		all, err := c.servers(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrEnded):
			return nil, err
		case err != nil:
			return []string{fmt.Sprintf("the state of the tool servers is not known: %v", err)}, nil
		}
		missing, waits := lacking(all)
		if !waits || over {
			return missing, nil
		}
		select {
		case <-time.After(pause):
			if pause == longest && !said {
				said = true
				say("the turn waits until the client has connected its tool servers")
			}
			pause = min(2*pause, longest)
		case <-late.C:
			over = true
		case <-c.done:
		case <-ctx.Done():
		}
	}
}

// lacking is a line for each server whose tools are missing, and whether one of them is being connected.
func lacking(all []server) (missing []string, waits bool) {
	for _, s := range all {
		switch s.status {
		case connecting:
			waits = true
			missing = append(missing, "tool server "+s.name+" is still being connected: the model does not have its tools yet")
		case refused:
			missing = append(missing, strings.TrimSuffix("tool server "+s.name+" could not be connected: "+s.why, ": "))
		case noLogin:
			missing = append(missing, "tool server "+s.name+" needs a login: start the client yourself and use /mcp")
		}
	}
	return missing, waits
}
