package proxy

import (
	"bufio"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
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
	conns  map[*clientConn]bool // that are open, under p.mu
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
	c.conns, c.http = map[*clientConn]bool{}, &queue{Listener: l, conns: make(chan net.Conn), done: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.clients[c] = true
	p.wg.Add(1)
	p.mu.Unlock()
	defer p.wg.Done()
	defer func() {
		p.mu.Lock()
		delete(p.clients, c)
		p.forget(c)
		p.mu.Unlock()
	}()
	srv := &http.Server{Handler: c, ReadHeaderTimeout: greeting, ErrorLog: slog.NewLogLogger(p.o.Log.Handler(), slog.LevelDebug)}
	var wg, all sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(c.http) }) // ends when the queue is closed
	err := c.accept(l, &all)
	c.hangUp() // the sandbox has ended
	c.http.Close()
	srv.Close()
	all.Wait()
	c.busy.Wait()
	wg.Wait()
	return err
}

// accept serves each connection on its own, until l is closed.
func (c *client) accept(l net.Listener, all *sync.WaitGroup) error {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return c.p.over()
		case err != nil:
			return err
		}
		tracked := &clientConn{readAhead: readAhead{conn, bufio.NewReader(conn)}, c: c, ended: make(chan struct{})}
		if c.track(tracked) {
			all.Go(func() { c.greet(tracked) })
		} else if conn.Close(); c.p.over() != nil {
			return ErrClosed
		}
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

// track adds a connection to the list; false when the proxy is closed, or the sandbox has the most.
func (c *client) track(conn *clientConn) bool {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.p.closed || len(c.conns) >= maxConns {
		return false
	}
	c.conns[conn] = true
	return true
}

// hangUp closes every connection.
func (c *client) hangUp() {
	c.p.mu.Lock()
	conns := slices.Collect(maps.Keys(c.conns))
	c.p.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
}

// greet detects the protocol of a connection, serves it, and returns when it has ended.
func (c *client) greet(conn *clientConn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(greeting))
	first, err := conn.r.Peek(1)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if first[0] == statute.VersionSocks5 {
		c.socks(conn)
		return
	}
	if c.http.put(conn) {
		<-conn.ended
	}
}

// clientConn is a connection from the sandbox.
type clientConn struct {
	readAhead
	c     *client
	once  sync.Once
	ended chan struct{} // closed when it is
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		close(c.ended)
		c.c.p.mu.Lock()
		defer c.c.p.mu.Unlock()
		delete(c.c.conns, c)
	})
	return err
}

// queue hands connections of a listener to an http.Server.
type queue struct {
	net.Listener
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
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
