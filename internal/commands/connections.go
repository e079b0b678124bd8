package commands

import (
	"slices"
	"sync"

	"waggle/record"
)

// mostConnections is the most connections that one record lists. Beyond it, connections to one host
// with one outcome by one grant are counted in one line, and then the rest.
const mostConnections = 64

// Connections are the connections of a member's commands that are not recorded yet. The zero
// value is ready. It is safe for concurrent use.
type Connections struct {
	mu   sync.Mutex
	list []record.Connection
	more int
}

// Add counts a connection that has ended.
func (c *Connections) Add(conn record.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(conn)
}

// put adds a connection; where there are too many, lines that one can stand for become one. The caller holds mu.
func (c *Connections) put(conn record.Connection) {
	if len(c.list) == mostConnections {
		kept := c.list[:0]
		for _, have := range c.list {
			if !joined(kept, have) {
				kept = append(kept, have)
			}
		}
		if c.list = kept; joined(c.list, conn) {
			return
		}
	}
	if len(c.list) < mostConnections {
		c.list = append(c.list, conn)
		return
	}
	c.more += conn.Count
}

// joined counts a connection in the line that can stand for it; false: there is none.
func joined(list []record.Connection, conn record.Connection) bool {
	i := slices.IndexFunc(list, func(have record.Connection) bool { return alike(have, conn) })
	if i >= 0 {
		list[i] = together(list[i], conn)
	}
	return i >= 0
}

// alike reports whether one line can stand for two connections.
func alike(a, b record.Connection) bool {
	return a.Host == b.Host && a.Port == b.Port && a.By == b.By && a.Event == b.Event && a.Grant == b.Grant
}

func together(a, b record.Connection) record.Connection {
	b.Count, b.Sent, b.Received = a.Count+b.Count, a.Sent+b.Sent, a.Received+b.Received
	return b
}

// Take empties the list and returns its content as a record.
func (c *Connections) Take() record.Connected {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := record.Connected{Connections: c.list, More: c.more}
	c.list, c.more = nil, 0
	return out
}

// Back undoes Take.
func (c *Connections) Back(r record.Connected) {
	c.mu.Lock()
	defer c.mu.Unlock()
	later, more := c.list, c.more
	c.list, c.more = r.Connections, r.More+more
	for _, conn := range later {
		c.put(conn)
	}
}
