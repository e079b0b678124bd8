package commands

import (
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

// put adds a connection. The caller holds mu.
func (c *Connections) put(conn record.Connection) {
	if len(c.list) < mostConnections {
		c.list = append(c.list, conn)
		return
	}
	c.merge()
	for i := range c.list {
		if alike(c.list[i], conn) {
			c.list[i] = together(c.list[i], conn)
			return
		}
	}
	if len(c.list) < mostConnections {
		c.list = append(c.list, conn)
		return
	}
	c.more += conn.Count
}

// merge combines connections that one line can stand for. The caller holds mu.
func (c *Connections) merge() {
	kept := c.list[:0]
next:
	for _, conn := range c.list {
		for i := range kept {
			if alike(kept[i], conn) {
				kept[i] = together(kept[i], conn)
				continue next
			}
		}
		kept = append(kept, conn)
	}
	c.list = kept
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
