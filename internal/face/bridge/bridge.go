// Package bridge shows a team in editors. It is an endpoint on this machine's loopback to which an
// editor's extension connects over a WebSocket. The extension registers an id and then receives the
// team's messages, the messages to bridge:ID, the members' state and the requests that wait for the
// operator, which it can answer.
//
//	b := bridge.New(bridge.Options{Desk: desk, Token: token})
//	server := &http.Server{Handler: b}
//	err := server.Serve(loopback) // and b.Nudge whenever the team changes: without it nothing is pushed
//
// A client with the token acts as the operator, as in any other face, so the token is in a private
// file. Web pages are refused, also with the token: a request with an Origin that was not allowed,
// or for a host that is not this loopback, is refused before it is read. An answer is bound to the
// digest of what was shown.
//
// Messages to bridge:ID are durable and pushed until the editor confirms them: at least once.
// Everything else is a view that is sent again on each connection.
//
// docs/design/sockets.md has the frames.
package bridge

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
)

// version is the version of the frames.
const version = 1

// Limits.
const (
	maxFrame   = 1 << 20          // bytes of one frame from an editor
	helloWait  = 10 * time.Second // until an editor has said who it is
	writeWait  = 10 * time.Second // until an editor has taken one frame
	pingEvery  = 30 * time.Second // how often a silent connection is tried
	maxEditors = 64               // that have said who they are
	maxUnnamed = 64               // that have not yet: the oldest makes room for a new one
	maxHistory = 100              // messages of one member's mailbox in one frame; the last ones
)

// Desk is what an editor sees and does: an operator at one team. Its methods may
// be called from several goroutines.
type Desk interface {
	// Team is the team's name.
	Team() string
	// Register opens the mailbox of an editor, and makes it the first time.
	Register(ctx context.Context, id string) (Mail, error)
	// Look reads the team as it is.
	Look(ctx context.Context) (View, error)
	// Decide answers one request in the operator's name.
	Decide(ctx context.Context, a decide.Answer) (decide.Decided, error)
	// Send sends words in the operator's name.
	Send(ctx context.Context, to, text string) ([]mail.Sent, error)
}

// Mail is what was sent to one editor.
type Mail interface {
	Unread(ctx context.Context) ([]mail.InboxEntry, error)
	// Take marks messages as taken, by InboxEntry.ID.
	Take(ctx context.Context, ids ...string) error
}

// View is a team at one moment.
type View struct {
	At      time.Time
	Pending []decide.Request
	Status  inspect.Status
	Inboxes []mail.Inbox
}

// Options are a bridge's settings.
type Options struct {
	Desk Desk
	// Token is the editors' secret; with "" all are refused.
	Token string
	// Origins are the web origins that may connect, as a browser spells them. A
	// request without an origin is no browser's.
	Origins []string
	// Explain gives an error its number and what to do next, as the command line does.
	Explain func(error) (code int, hint string)
	Log     *slog.Logger // may be nil
}

// Bridge serves editors. It is an http.Handler.
type Bridge struct {
	o Options

	mu      sync.Mutex
	conns   map[*conn]bool
	came    uint64         // connections so far
	closing bool           // new connections are refused
	running sync.WaitGroup // of connections
}

var _ http.Handler = (*Bridge)(nil)

// New makes a bridge without connections.
func New(o Options) *Bridge {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Bridge{o: o, conns: map[*conn]bool{}}
}

// Nudge makes every editor's connection read the team again.
func (b *Bridge) Nudge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		c.nudge()
	}
}

// ServeHTTP serves one editor until it leaves.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := b.refuse(r); why != "" {
		b.o.Log.Warn("bridge: refused", "why", why, "origin", r.Header.Get("Origin"), "host", r.Host)
		http.Error(w, why, http.StatusForbidden)
		return
	}
	// The origin was checked above, by whole origin and not by pattern.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered
	}
	ws.SetReadLimit(maxFrame)
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	c := &conn{b: b, ws: ws, stop: stop, look: make(chan struct{}, 1)}
	if !b.add(c) {
		_ = ws.Close(websocket.StatusTryAgainLater, "the bridge ends")
		return
	}
	defer b.drop(c)
	c.serve(ctx)
}

// refuse says why a request is not an editor's on this machine, "" when it may be.
// The host guards against a web page whose own name leads here; the origin against
// any other web page.
func (b *Bridge) refuse(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "the host is not this machine's loopback"
	}
	for _, o := range r.Header.Values("Origin") {
		if u, err := url.Parse(o); err != nil || u.Host == "" || !slices.Contains(b.o.Origins, o) {
			return "the origin is not allowed"
		}
	}
	return ""
}

func (b *Bridge) knows(token string) bool {
	return b.o.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(b.o.Token)) == 1
}

func (b *Bridge) add(c *conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.crowd()
	b.came++
	c.number = b.came
	b.conns[c] = true
	b.running.Add(1)
	return true
}

// crowd closes the oldest connection without a hello when there are many of them, so that idle
// connections do not block editors. b.mu is held.
func (b *Bridge) crowd() {
	var oldest *conn
	n := 0
	for c := range b.conns {
		if c.id != "" || c.out {
			continue
		}
		n++
		if oldest == nil || c.number < oldest.number {
			oldest = c
		}
	}
	if n >= maxUnnamed {
		oldest.out = true
		oldest.stop()
	}
}

func (b *Bridge) drop(c *conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.conns, c)
	b.running.Done()
}

// replace closes the connections that an id had before c: an editor that comes
// back is the same editor.
func (b *Bridge) replace(ctx context.Context, c *conn) {
	b.mu.Lock()
	var old []*conn
	for o := range b.conns {
		if o != c && o.id == c.id {
			old = append(old, o)
		}
	}
	b.mu.Unlock()
	for _, o := range old {
		o.leave(ctx, &operator.Error{Kind: operator.Refused, Op: "bridge", Msg: "another connection has registered this id"})
		_ = o.ws.CloseNow()
	}
}

// name gives a connection its id, once, unless there are too many that have one.
func (b *Bridge) name(c *conn, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	named := 0
	for o := range b.conns {
		if o.id != "" && o.id != id {
			named++
		}
	}
	if named >= maxEditors {
		return &operator.Error{Kind: operator.Locked, Op: "bridge", Msg: "there are too many editors", Advice: "close one of them"}
	}
	c.id = id
	return nil
}
