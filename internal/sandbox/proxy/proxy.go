// Package proxy is the network access of a sandbox: an HTTP, CONNECT and SOCKS5 proxy that connects
// to hosts with a grant, and asks about every other host.
//
//	p := proxy.New(proxy.Options{Decider: asks, Recorder: journal})
//	p.Grant([]proxy.Grant{{ID: "g1", Host: "*.example.com", Port: "443"}})
//	err := p.Serve(listener, "call-7") // one sandbox; until the listener is closed
//
// The listener may be of any kind: a socket that a sandbox has sent out, a Unix socket, loopback.
// The first byte of a connection distinguishes SOCKS5 from HTTP.
//
// Guarantees. No connection is open without a grant or an answer. A connection to another host
// waits while the Decider asks; requests of one client for the same host and port share one
// question. Grant replaces all grants at once: a waiting connection continues or is refused, and an
// open one that no grant covers any more is cut. The proxy resolves names and dials the very
// address that it checked: it refuses loopback, private, link-local, metadata and the machine's own
// addresses unless a grant names the address itself. Where the machine reaches a host by a proxy of
// its own (Upstream), that proxy looks the name up: the addresses that the name has here, if any, are
// checked before. It does not inspect the data of an open connection: it cannot stop a granted host from
// passing data on.
package proxy

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Request is a connection that a program in the sandbox wants.
type Request struct {
	Client string // the name given to Serve
	Host   string // in lower case; an address without brackets
	Port   string
	By     string // connect, http or socks
}

// How a request came.
const (
	byConnect = "connect"
	byHTTP    = "http"
	bySOCKS   = "socks"
)

// Decision is what was decided of a Request.
type Decision struct {
	Allow  bool
	Grant  string // the name of the grant in the record of the connection
	Reason string // of a refusal, for the tool's user
}

// Decider decides about hosts that no grant covers. Decide blocks while it asks; ctx ends when no
// connection waits for the answer any more. An error refuses.
type Decider interface {
	Decide(ctx context.Context, r Request) (Decision, error)
}

// Event is what happened to a connection.
type Event string

// The events. An opened connection has two records.
const (
	Refused Event = "refused" // by grant, answer or address
	Failed  Event = "failed"  // allowed, and could not be made
	Opened  Event = "opened"
	Closed  Event = "closed" // by one of its ends
	Cut     Event = "cut"    // by a revocation, or at the proxy's end
)

// Connection is the record of a connection.
type Connection struct {
	Request
	Event    Event
	Grant    string         // that allowed it
	Address  netip.AddrPort // that was dialled: the host's, or that of this machine's own proxy
	At       time.Time
	Sent     int64 // bytes to the host
	Received int64 // bytes from the host
	Reason   string
}

// Recorder keeps the record. It is called from many goroutines.
type Recorder interface {
	Record(c Connection)
}

// Options are a proxy's settings.
type Options struct {
	Decider  Decider  // nil refuses what no grant covers
	Recorder Recorder // nil records nothing
	// Listed says that only grants open connections: the Decider adds a grant before it answers
	// yes.
	Listed bool
	// Resolve looks a name up; nil asks the system.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked; nil is a net.Dialer.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Upstream is the proxy of this machine itself; nil: every host is dialled.
	Upstream Upstream
	// Own lists the addresses of this machine; nil asks the system.
	Own func() []netip.Addr
	Now func() time.Time
	Log *slog.Logger // nil: silent
}

// Proxy is safe for concurrent use.
type Proxy struct {
	o      Options
	ctx    context.Context // ends at Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine

	mu        sync.Mutex
	closed    bool
	grants    []Grant
	changed   chan struct{} // closed when grants are replaced
	expiry    *time.Timer
	questions map[Request]*question
	open      map[*conn]bool
	clients   map[*client]bool // that are served
}

// New returns a proxy without listeners.
func New(o Options) *Proxy {
	if o.Resolve == nil {
		o.Resolve = resolve
	}
	if o.Dial == nil {
		o.Dial = dial
	}
	if o.Own == nil {
		o.Own = ownAddresses
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{o: o, changed: make(chan struct{}), questions: map[Request]*question{}, open: map[*conn]bool{}, clients: map[*client]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// ErrClosed is what Serve returns at Close and after it.
var ErrClosed = errors.New("proxy: closed")

// Close cuts every connection and waits until every goroutine has ended. It may be called twice,
// and while Serve runs.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	if p.expiry != nil {
		p.expiry.Stop()
	}
	for c := range p.open {
		c.cut("the proxy ended")
	}
	clients := slices.Collect(maps.Keys(p.clients))
	p.mu.Unlock()
	for _, c := range clients {
		c.http.Listener.Close()
		c.hangUp()
	}
	p.cancel()
	p.wg.Wait()
	return nil
}

func (c *client) record(conn Connection) {
	conn.At = c.p.now()
	for _, r := range []Recorder{c.p.o.Recorder, c.call} {
		if r != nil {
			r.Record(conn)
		}
	}
}

func (p *Proxy) now() time.Time {
	if p.o.Now == nil {
		return time.Time{}
	}
	return p.o.Now()
}
