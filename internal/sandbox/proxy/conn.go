package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// conn is an open connection to a host. It counts bytes, and the proxy can cut it.
type conn struct {
	net.Conn
	c    *client
	req  Request
	addr netip.AddrPort

	grant  string // under p.mu
	listed bool   // under p.mu

	sent, received atomic.Int64
	why            atomic.Pointer[string] // why it was cut
	once           sync.Once
}

// openTo makes the connection of a request: it decides, dials and records.
func (c *client) openTo(ctx context.Context, r Request) (*conn, error) {
	p := c.p
	pm, err := c.permit(ctx, r)
	if err != nil {
		c.record(Connection{Request: r, Event: Refused, Reason: err.Error()})
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	raw, addr, err := p.connect(ctx, pm)
	if err != nil {
		ev := Failed
		if _, no := errors.AsType[*refusal](err); no {
			ev = Refused
		}
		c.record(Connection{Request: r, Event: ev, Grant: pm.grant, Reason: err.Error()})
		return nil, err
	}
	host := &conn{Conn: raw, c: c, req: r, addr: addr, grant: pm.grant, listed: pm.listed}
	if err := p.register(host); err != nil {
		raw.Close()
		c.record(Connection{Request: r, Event: Refused, Grant: pm.grant, Address: addr, Reason: err.Error()})
		return nil, err
	}
	return host, nil
}

// register adds the connection to the list, unless its grant has ended meanwhile.
func (p *Proxy) register(c *conn) error {
	p.mu.Lock()
	now, why := p.now(), ""
	g, found := p.lookup(c.req.Host, c.req.Port, now)
	_, barred := p.bars(c.addr, now)
	switch {
	case p.closed:
		why = "the proxy ended"
	case barred && p.upstream(c.req) == nil:
		why = "its address was denied while the connection was made"
	case found && g.Deny, !found && c.listed:
		why = "the grant ended while the connection was made"
	case found:
		c.grant, c.listed = g.ID, true
	}
	if why != "" {
		p.mu.Unlock()
		return &refusal{why}
	}
	p.open[c] = true
	opened := c.connection(Opened, "")
	p.mu.Unlock()
	c.c.record(opened)
	return nil
}

// connection returns the record of the connection. The caller holds p.mu.
func (c *conn) connection(e Event, why string) Connection {
	return Connection{Request: c.req, Event: e, Grant: c.grant, Address: c.addr, Sent: c.sent.Load(), Received: c.received.Load(), Reason: why}
}

// cut ends the connection at once.
func (c *conn) cut(why string) {
	c.why.CompareAndSwap(nil, &why)
	discard(c.Conn)
	c.Conn.Close()
}

// Close implements net.Conn. It records the end once.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		p := c.c.p
		p.mu.Lock()
		delete(p.open, c)
		ended := c.connection(Closed, "")
		if why := c.why.Load(); why != nil {
			ended.Event, ended.Reason = Cut, *why
		}
		p.mu.Unlock()
		c.c.record(ended)
	})
	return err
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

// Write counts before it writes: the host may answer, and end the connection, before Write returns.
func (c *conn) Write(b []byte) (int, error) {
	c.sent.Add(int64(len(b)))
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n - len(b)))
	return n, err
}

// CloseWrite ends one direction.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return c.Close()
}

// join copies both ways until both ends have ended, or one fails; then it closes both.
func join(client net.Conn, early io.Reader, host *conn) {
	var wg sync.WaitGroup
	way := func(dst net.Conn, src io.Reader) {
		if _, err := io.Copy(dst, src); err != nil || closeWrite(dst) != nil {
			client.Close()
			host.Close()
		}
	}
	wg.Go(func() { way(host, early) })
	wg.Go(func() { way(client, host) })
	wg.Wait()
	host.Close()
	client.Close()
}

// explain is the message to the user of a tool about a connection that was not made.
func explain(r Request, err error) string {
	no, refused := errors.AsType[*refusal](err)
	if !refused {
		return fmt.Sprintf("waggle: %s could not be reached: %v", net.JoinHostPort(r.Host, r.Port), err)
	}
	return Refusal(r, no.reason)
}

// Refusal is the message about a connection that was refused.
func Refusal(r Request, reason string) string {
	return fmt.Sprintf("waggle: the sandbox does not let this through to %s: %s", net.JoinHostPort(r.Host, r.Port), reason)
}
