package proxy

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Offer makes a name by which programs in a sandbox reach this process: CONNECT to it, at any port,
// comes out of the listener. No grant is needed and nothing is recorded: nothing leaves the machine.
// The name is not looked up anywhere, also when the listener is closed.
func (p *Proxy) Offer(host string) net.Listener {
	q := &queue{conns: make(chan net.Conn), done: make(chan struct{}), addr: offered(host)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		q.Close()
	}
	p.offers[host] = q
	return q
}

// offered is the address of an offer.
type offered string

func (offered) Network() string  { return "proxy" }
func (o offered) String() string { return string(o) }

// offer finds what is offered by a name.
func (p *Proxy) offer(host string) *queue {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offers[host]
}

// hand gives the connection of a CONNECT to an offer.
func (q *queue) hand(w http.ResponseWriter) {
	select {
	case <-q.done:
		refuse(w, http.StatusBadGateway, "waggle: "+string(q.addr.(offered))+" has ended")
		return
	default:
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "waggle: "+err.Error())
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil || !q.put(&early{conn, buf.Reader}) {
		conn.Close()
	}
}

// early is a connection whose first bytes were read with the request.
type early struct {
	net.Conn
	r *bufio.Reader
}

func (e *early) Read(b []byte) (int, error) { return e.r.Read(b) }
