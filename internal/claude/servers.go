package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// lacking asks the client about its tool servers. It returns a line for each one whose tools are missing, and whether
// one of them is being connected.
func (c *Client) lacking(ctx context.Context) (missing []string, waits bool, err error) {
	body, err := c.command(ctx, "mcp_status", "")
	if err != nil {
		return nil, false, err
	}
	for _, o := range body.Objects("mcpServers") {
		switch name, status := clipped(o.Text("name")), o.Text("status"); {
		case status == "pending":
			waits = true
			missing = append(missing, "tool server "+name+" is still being connected: the model does not have its tools yet")
		case name == prefixServer: // it has no tools
		case status == "failed":
			missing = append(missing, strings.TrimSuffix("tool server "+name+" could not be connected: "+clipped(firstLine(o.Text("error"))), ": "))
		case status == "needs-auth":
			missing = append(missing, "tool server "+name+" needs a login: start the client yourself and use /mcp")
		}
	}
	return missing, waits, nil
}

// connected waits until no tool server is being connected: the client would ask the model at once, which
// then does not know the tools of a server that is slow to start. It says a wait of more than a second, and
// which servers' tools are missing. A client that does not tell, or goes on connecting after Waits.Servers,
// is not waited for; the error is ctx's, or ErrEnded.
func (c *Client) connected(ctx context.Context, say func(line string)) error {
	late := time.NewTimer(c.start.Wait.Servers)
	defer late.Stop()
	const longest = 500 * time.Millisecond
	pause, said := 20*time.Millisecond, false
	for over := false; ; {
		missing, waits, err := c.lacking(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrEnded):
			return err
		case err != nil:
			missing = []string{fmt.Sprintf("the state of the tool servers is not known: %v", err)}
		}
		if !waits || over {
			for _, line := range missing {
				say(line)
			}
			return nil
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
