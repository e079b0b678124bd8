package proxy

import (
	"bufio"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/things-go/go-socks5/statute"
)

// greeting is the time limit for the request of a client.
const greeting = 30 * time.Second

// maxConns is the most connections that one sandbox may have open at once.
const maxConns = 1024

// client serves the connections of one sandbox.
type client struct {
	p    *Proxy
	name string
	call Recorder // nil: none
	// denied are the reasons for which hosts were denied to a command, under p.mu; nil: it is none.
	denied map[Request]string
	http   *queue
	busy   sync.WaitGroup // handlers of HTTP requests
}

// Serve accepts connections until l is closed, and returns when all of them have ended; l is closed
// then. The proxy's end is ErrClosed. name is the client in records and requests.
func (p *Proxy) Serve(l net.Listener, name string) error {
	return p.serve(l, &client{p: p, name: name})
}

// ServeCall is Serve for one command, with a Recorder of its connections alone beside that of all. A host
// is asked for once while it runs, however often its programs try: what was denied stays so, and the
// question of a program that gave up stays open. call may be nil.
func (p *Proxy) ServeCall(l net.Listener, name string, call Recorder) error {
	return p.serve(l, &client{p: p, name: name, call: call, denied: map[Request]string{}})
}

func (p *Proxy) serve(l net.Listener, c *client) error {
	defer l.Close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.listeners[l] = true
	if c.denied != nil {
		p.calls[c] = true
	}
	p.wg.Add(1)
	p.mu.Unlock()
	defer p.wg.Done()
	defer func() {
		p.mu.Lock()
		delete(p.listeners, l)
		delete(p.calls, c)
		p.forget(c)
		p.mu.Unlock()
	}()
	c.http = &queue{conns: make(chan net.Conn), done: make(chan struct{}), addr: l.Addr()}
	srv := &http.Server{Handler: c, ReadHeaderTimeout: greeting, ErrorLog: slog.NewLogLogger(p.o.Log.Handler(), slog.LevelDebug)}
	var wg, all sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(c.http) }) // ends when the queue is closed
	own := map[net.Conn]bool{}
	var mu sync.Mutex
	err := c.accept(l, func(conn net.Conn) {
		mu.Lock()
		full := len(own) >= maxConns
		if !full {
			own[conn] = true
		}
		mu.Unlock()
		if full {
			conn.Close()
			return
		}
		all.Go(func() {
			defer func() {
				mu.Lock()
				delete(own, conn)
				mu.Unlock()
			}()
			c.greet(conn)
		})
	})
	// The sandbox has ended: close its connections.
	mu.Lock()
	for conn := range own {
		conn.Close()
	}
	mu.Unlock()
	c.http.Close()
	srv.Close()
	all.Wait()
	c.busy.Wait()
	wg.Wait()
	return err
}

func (c *client) accept(l net.Listener, serve func(net.Conn)) error {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return c.p.over()
		case err != nil:
			return err
		}
		tracked := &clientConn{Conn: conn, p: c.p, r: bufio.NewReader(conn), ended: make(chan struct{})}
		if !c.p.track(tracked) {
			return ErrClosed
		}
		serve(tracked)
	}
}

// over is why a listener is closed: ErrClosed, or nil when its sandbox has ended.
func (p *Proxy) over() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	return nil
}

// track adds a client's connection to the list; false when the proxy is closed.
func (p *Proxy) track(c *clientConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Conn.Close()
		return false
	}
	p.clients[c] = true
	return true
}

// greet detects the protocol of a client, serves it, and returns when its connection has ended.
func (c *client) greet(conn net.Conn) {
	cc := conn.(*clientConn)
	defer cc.Close()
	_ = conn.SetReadDeadline(time.Now().Add(greeting))
	first, err := cc.r.Peek(1)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if first[0] == statute.VersionSocks5 {
		c.socks(cc)
		return
	}
	if c.http.put(cc) {
		<-cc.ended
	}
}

// clientConn is a connection from the sandbox, read through a buffer.
type clientConn struct {
	net.Conn
	p     *Proxy
	r     *bufio.Reader
	once  sync.Once
	ended chan struct{} // closed when it is
}

func (c *clientConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// CloseWrite ends one direction.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

// Close implements net.Conn.
func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		close(c.ended)
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		delete(c.p.clients, c)
	})
	return err
}

// queue hands connections to an http.Server.
type queue struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	addr  net.Addr
}

func (q *queue) put(c net.Conn) bool {
	select {
	case q.conns <- c:
		return true
	case <-q.done:
		return false
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return q.addr }
