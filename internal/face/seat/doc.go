// Package seat runs members whose agent is an MCP client. The member is registered before its
// client connects, has one connection at a time, and is a new instance for each connection.
package seat

import (
	"context"
	"log/slog"
	"time"

	"waggle/internal/face/mcp"
	"waggle/operator"
	"waggle/protocol"
)

// Operator is an operator.Operator with the operations of this package.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }

// gateWait is how long a client waits for a decision; after it the client gets the advice to ask
// again. Clients end a call after a minute, and a call that has ended must not be allowed later.
const gateWait = 50 * time.Second

// Serving has the settings of one connection.
type Serving struct {
	Log   *slog.Logger // nil: discard
	Begun func(protocol.MemberName)
	// Connect serves the client until it closes the connection (nil) or ctx ends.
	Connect func(ctx context.Context, seat mcp.Seat) error
}
