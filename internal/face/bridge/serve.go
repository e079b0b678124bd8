package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/protocol"
	"waggle/transport"
)

// Endpoint is the address for editors and their secret. Its file is private: a process that can
// read it acts as the operator.
type Endpoint struct {
	V     int    `json:"v"`
	Team  string `json:"team"`
	URL   string `json:"url"` // ws://127.0.0.1:PORT/
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// ServeOptions are the settings of Serve.
type ServeOptions struct {
	// Listen is a loopback address; "" takes a free port of 127.0.0.1.
	Listen string
	Rand   io.Reader // for the token
	// Ready is told once editors can connect.
	Ready func(Endpoint)
	// Options are those of the bridge, whose Desk and Token Serve sets.
	Options
}

// closeWait is how long Serve waits for answers that are being given.
const closeWait = 2 * time.Second

// Serve serves a team's editors until ctx ends. There is one bridge for a team at
// a time: a second is a *atomicfile.LockedError.
func Serve(ctx context.Context, op operator.Operator, team protocol.TeamName, o ServeOptions) (err error) {
	dir, err := place(ctx, op, team)
	if err != nil {
		return err
	}
	release, held, err := atomicfile.TryFlock(dir.BridgeLease(), atomicfile.Options{Rank: atomicfile.RankLease})
	if err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	if !held {
		return &operator.Error{Kind: operator.Locked, Op: "bridge", Msg: "a bridge of team " + string(team) + " runs already", Next: operator.NextBridgeWhere.With()}
	}
	defer func() { err = errors.Join(err, release()) }()
	listener, err := listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	token, err := transport.NewToken(o.Rand)
	if err != nil {
		return errors.Join(fmt.Errorf("bridge: %w", err), listener.Close())
	}
	e := Endpoint{V: version, Team: string(team), URL: "ws://" + listener.Addr().String() + "/", Token: token, PID: op.PID}
	if err := jsonfile.WriteIndent(dir.BridgeEndpoint(), e, atomicfile.Options{}); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, os.Remove(dir.BridgeEndpoint())) }()
	o.Desk, o.Token = desk{op, team}, e.Token
	return New(o.Options).serve(ctx, listener, append(op.Boxes(team).Dirs(), dir.Bridges(), dir.LeaderJournal()), func() { o.Ready(e) })
}

// serve serves the listener, reads the team again whenever one of the directories changes, and
// waits for every goroutine that it started.
func (b *Bridge) serve(ctx context.Context, listener net.Listener, dirs []string, ready func()) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{}, dirs...)
	if err != nil {
		return errors.Join(fmt.Errorf("bridge: %w", err), listener.Close())
	}
	wg.Go(func() {
		for range nudges {
			b.Nudge()
		}
	})
	server := &http.Server{Handler: b, ReadHeaderTimeout: helloWait, IdleTimeout: helloWait, ConnState: transport.Impatient(), BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	wg.Go(func() { done <- server.Serve(listener) })
	ready()
	select {
	case err := <-done:
		return fmt.Errorf("bridge: %w", err)
	case <-ctx.Done():
	}
	b.wait(closeWait)
	return server.Close()
}

// wait refuses new connections and gives the others, whose context has ended, a moment to end.
func (b *Bridge) wait(limit time.Duration) {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	timer := time.AfterFunc(limit, b.cut)
	defer timer.Stop()
	b.running.Wait()
}

// cut ends every connection at once.
func (b *Bridge) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.conns {
		_ = c.ws.CloseNow()
	}
}

// Find reads where a running bridge of a team is.
func Find(ctx context.Context, op operator.Operator, team protocol.TeamName) (Endpoint, error) {
	none := &operator.Error{Kind: operator.NotFound, Op: "bridge", Msg: "no bridge of team " + string(team) + " runs", Next: operator.NextBridge.With()}
	dir, err := place(ctx, op, team)
	if err != nil {
		return Endpoint{}, err
	}
	runs, err := atomicfile.Flocked(dir.BridgeLease())
	if err != nil {
		return Endpoint{}, fmt.Errorf("bridge: %w", err)
	}
	if !runs { // the file of a killed bridge is no endpoint
		return Endpoint{}, none
	}
	var e Endpoint
	err = jsonfile.Read(dir.BridgeEndpoint(), &e, maxFrame)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, none // it is starting or ending
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("bridge: %w", err)
	}
	return e, nil
}

// place is the private directory of a team that waggle leads.
func place(ctx context.Context, op operator.Operator, team protocol.TeamName) (home.Dir, error) {
	s, err := op.Open(ctx, team, operator.Act)
	if operator.Unled(err) {
		return home.Dir{}, &operator.Error{Kind: operator.NotFound, Op: "bridge", Msg: "team " + string(team) + " is not led by waggle, so it has no bridge",
			Next: operator.Next{Step: operator.NextInbox, Team: team}}
	}
	if err != nil {
		return home.Dir{}, err
	}
	return s.Dir, os.MkdirAll(s.Dir.Bridges(), 0o700)
}

// listen opens a port that only this machine reaches.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, &operator.Error{Kind: operator.Usage, Op: "bridge", Msg: addr + " is not a loopback address with a port", Next: operator.NextBridgeListen.With()}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	return l, nil
}
