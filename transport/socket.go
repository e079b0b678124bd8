package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waggle/internal/backoff"
	"waggle/internal/caught"
	"waggle/internal/peer"
	"waggle/protocol"
)

// SocketOptions say which socket to serve. All fields but Who are required.
type SocketOptions struct {
	Dirs SocketDirs
	Name string // a member's, or OperatorSocket
	Team protocol.TeamName
	Host Host
	Rand io.Reader // of the token
	Now  func() time.Time
	// Who names the session to which a process belongs, from the peer's credentials, for words in
	// another client's frames; nil, or "": it is unverified.
	Who func(Peer) string
	// Spawn is the token of the member's own processes, for calls to a Callee. "": none are taken.
	Spawn string
	// Own reports a peer, by the kernel's word for it, whose calls to a Callee need the token for
	// messages only; nil: there is none.
	Own func(Peer) bool
}

// Socket is a served Unix socket: one member's, or the operator's.
type Socket struct {
	o     SocketOptions
	path  string
	token string
	ln    *net.UnixListener
	lease func() error

	once once
	rec  recorder

	mu       sync.Mutex
	sessions map[*session]bool
	came     uint64 // connections so far
	closed   bool
	serving  sync.WaitGroup // Serve and its sessions
	over     bool           // Close was called; guarded by mu

	cancel   context.CancelFunc // of Serve
	panicked atomic.Pointer[caught.Error]
}

// Limits of a server.
const (
	maxSessions  = 64
	helloTimeout = 5 * time.Second
	idleTimeout  = 5 * time.Minute // between requests of a connection that does not watch
	writeTimeout = 10 * time.Second
)

// Listen takes the lease of a name, removes the socket of a dead server, binds the socket and
// writes its key. ErrServed: a live process serves it, and its socket stays. Serve then answers,
// and Close releases everything.
//
// The lease is a lock that ends with its process: its holder knows that a socket at the path is
// stale, without a connection.
func Listen(o SocketOptions) (_ *Socket, err error) {
	release, err := o.Dirs.take(o.Name)
	if err != nil {
		return nil, fmt.Errorf("socket of %s: %w", o.Name, err)
	}
	s := &Socket{o: o, path: o.Dirs.Path(o.Name), lease: release, sessions: map[*session]bool{}, rec: recorder{host: o.Host, now: o.Now}}
	defer func() {
		if err != nil {
			err = fmt.Errorf("socket of %s: %w", o.Name, errors.Join(err, s.Close()))
		}
	}()
	if len(s.path) > maxSocketPath {
		return nil, fmt.Errorf("%s is longer than %d bytes", s.path, maxSocketPath)
	}
	if s.token, err = NewToken(o.Rand); err != nil {
		return nil, err
	}
	for try := 1; ; try++ { // the last server to leave a directory removes it
		if err = s.bind(); err == nil || try == 3 || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return s, o.Dirs.writeKey(o.Name, key{V: 1, Path: s.path, Token: s.token, PID: os.Getpid()})
}

// bind makes the socket. The caller holds the lease.
func (s *Socket) bind() (err error) {
	dir := filepath.Dir(s.path)
	if filepath.Dir(dir) == shortDir() {
		if err := privateDir(shortDir()); err != nil { // its parent is everybody's
			return err
		}
	}
	if err := privateDir(dir); err != nil {
		return err
	}
	if err := clearStale(s.path); err != nil {
		return err
	}
	if s.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"}); err != nil {
		return err
	}
	return os.Chmod(s.path, 0o600)
}

// Path is the path of the socket.
func (s *Socket) Path() string { return s.path }

// Serve answers connections until ctx ends or Close is called; then it ends them,
// waits for what they were doing, and returns nil. It is called once. A panic in what
// is done for a connection ends all of them, and is the error.
func (s *Socket) Serve(ctx context.Context) (err error) {
	s.mu.Lock()
	over := s.over
	if !over { // otherwise no goroutine waits for it
		s.serving.Add(1)
	}
	s.mu.Unlock()
	if over {
		return nil
	}
	defer s.serving.Done()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { s.ln.Close() })
	defer stop()
	s.cancel = cancel
	var wg sync.WaitGroup
	defer func() {
		wg.Wait()
		if p := s.panicked.Load(); p != nil {
			err = fmt.Errorf("socket %s: %w", s.path, p)
		}
	}()
	defer s.hangUp()
	defer cancel()
	for {
		c, err := s.ln.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil: // out of descriptors, say: it may pass
			backoff.Pause(ctx, 50*time.Millisecond)
			continue
		}
		ss := &session{s: s, c: c, r: bufio.NewReader(c)}
		if !s.admit(ss) {
			ss.fail(0, CodeBusy, "there are too many connections: try again")
			c.Close()
			continue
		}
		wg.Go(func() {
			defer s.leave(ss)
			s.guard(func() { ss.run(ctx) })
		})
	}
}

// guard runs what is done for a connection.
func (s *Socket) guard(f func()) {
	err := caught.Do(func() error {
		f()
		return nil
	})
	if p := caught.Of(err); p != nil && s.panicked.CompareAndSwap(nil, p) {
		s.cancel()
	}
}

func (s *Socket) admit(ss *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.sessions) >= maxSessions && !s.crowd() {
		return false
	}
	s.came++
	ss.number = s.came
	s.sessions[ss] = true
	return true
}

// crowd closes the oldest connection that has not said hello, so that idle connections do not block
// others. s.mu is held.
func (s *Socket) crowd() bool {
	var oldest *session
	for ss := range s.sessions {
		if !ss.greeted && (oldest == nil || ss.number < oldest.number) {
			oldest = ss
		}
	}
	if oldest == nil {
		return false
	}
	delete(s.sessions, oldest)
	oldest.c.Close()
	return true
}

func (s *Socket) leave(ss *session) {
	s.mu.Lock()
	delete(s.sessions, ss)
	s.mu.Unlock()
	ss.c.Close()
}

// hangUp ends every connection.
func (s *Socket) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for ss := range s.sessions {
		ss.c.Close()
	}
}

// Changed notifies every watching client of a change: notifications that were not sent yet are
// merged. It does not wait.
func (s *Socket) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss := range s.sessions {
		if ss.changed == nil {
			continue
		}
		select {
		case ss.changed <- struct{}{}:
		default:
		}
	}
}

// Close stops serving, waits for Serve, removes socket, key and a directory that is then empty, and
// releases the lease. Closing again does nothing.
func (s *Socket) Close() error {
	s.mu.Lock()
	lease := s.lease
	s.lease, s.over = nil, true
	s.mu.Unlock()
	if lease == nil {
		return nil
	}
	var errs []error
	if s.ln != nil {
		if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // it removes the socket
			errs = append(errs, err)
		}
		s.serving.Wait()
		if err := os.Remove(s.o.Dirs.key(s.o.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		_ = os.Remove(filepath.Dir(s.path)) // it stays while another socket is in it
	}
	return errors.Join(append(errs, lease())...)
}

// session is one connection to a socket.
type session struct {
	s       *Socket
	c       *net.UnixConn
	r       *bufio.Reader
	peer    Peer
	changed chan struct{} // not nil when it watches; with s.mu
	number  uint64        // in the order of arrival; with s.mu
	greeted bool          // it has said hello; with s.mu
	own     bool          // it may make calls: it has the spawn token, or is known (SocketOptions.Own)
	calls   calls

	writing sync.Mutex
}

func (ss *session) run(ctx context.Context) {
	if !ss.hello(ctx) {
		return
	}
	var pushing sync.WaitGroup
	defer pushing.Wait()
	defer ss.calls.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		if ss.watching() || ss.own {
			ss.c.SetReadDeadline(time.Time{})
		} else {
			ss.c.SetReadDeadline(time.Now().Add(idleTimeout))
		}
		line, err := readLine(ss.r, maxFrame)
		if errors.Is(err, errLineTooLong) {
			ss.fail(0, CodeTooLarge, fmt.Sprintf("a line may have %d bytes", maxFrame))
		}
		if err != nil {
			return
		}
		req, err := parse[request](line)
		if err != nil {
			ss.fail(req.ID, CodeInvalid, err.Error())
			continue
		}
		if req.Op == opWatch && !ss.watching() {
			ss.watch(req.ID)
			pushing.Go(func() { ss.s.guard(func() { ss.push(ctx) }) })
			continue
		}
		if ss.own && req.Op != opPing && req.Op != opWatch {
			ss.call(ctx, req)
			continue
		}
		ss.answer(ctx, req)
	}
}

// hello accepts a process of this user that has the token. Words of another client's session need
// no token and end with their connection. Any other peer gets an error, is recorded, and has no
// effect. A connection that sends nothing is not recorded.
func (ss *session) hello(ctx context.Context) bool {
	other, err := peer.Of(ss.c)
	if err != nil {
		return ss.turnAway(ctx, "the peer cannot be identified: "+err.Error())
	}
	ss.peer = Peer{Channel: "uds", UID: other.UID, PID: other.PID}
	if other.UID != os.Geteuid() {
		return ss.turnAway(ctx, "it is another user's process")
	}
	ss.c.SetReadDeadline(time.Now().Add(helloTimeout))
	line, err := readLine(ss.r, maxFrame)
	switch {
	case err == nil && isWords(line):
		ss.words(ctx, line)
		return false
	case err == nil && len(line) > maxHello:
		err = errLineTooLong
	}
	switch {
	case errors.Is(err, errLineTooLong):
		return ss.turnAway(ctx, "its first line was no hello")
	case err != nil:
		return false
	}
	req, err := parse[request](line)
	switch {
	case err != nil || req.Op != opHello:
		return ss.turnAway(ctx, "its first line was no hello")
	case req.Waggle != version:
		ss.fail(req.ID, CodeVersion, fmt.Sprintf("this is version %d of the protocol", version))
		return false
	case req.Token == "":
		return ss.turnAway(ctx, "it had no token")
	case ss.s.o.Spawn != "" && sameToken(req.Token, ss.s.o.Spawn):
		ss.own = true
	case !sameToken(req.Token, ss.s.token):
		return ss.turnAway(ctx, "its token is not this socket's")
	default:
		ss.own = ss.s.o.Own != nil && ss.s.o.Own(ss.peer)
	}
	ss.s.mu.Lock()
	ss.greeted = true // before it is told: from then on it is not put out
	ss.s.mu.Unlock()
	return ss.write(reply{Waggle: version, ID: req.ID, Op: opHello, Team: string(ss.s.o.Team), Name: ss.s.o.Name}) == nil
}

// turnAway refuses a connection; it is not greeted.
func (ss *session) turnAway(ctx context.Context, why string) (greeted bool) {
	ss.fail(0, CodeDenied, "this socket needs its token: "+why)
	ss.refused(ctx, why)
	return false
}

func (ss *session) refused(ctx context.Context, why string) {
	ss.s.rec.refused(ctx, Refusal{Peer: ss.peer, Team: ss.s.o.Team, At: ss.s.path, Why: why})
}

// answer does what one request asks.
func (ss *session) answer(ctx context.Context, req request) {
	switch req.Op {
	case opPing, opWatch:
		if h, ok := ss.s.o.Host.(Pinged); ok && req.Op == opPing {
			if err := h.Pinged(ctx); err != nil {
				ss.fail(req.ID, codeOf(err), err.Error())
				return
			}
		}
		ss.write(reply{ID: req.ID, Op: opOK})
	case opSend:
		to, a, err := ss.message(req)
		var r Receipt
		if err == nil {
			r, err = ss.s.once.take(ctx, ss.s.o.Host, ss.peer, to, a)
		}
		if err != nil {
			ss.fail(req.ID, codeOf(err), err.Error())
			return
		}
		ss.write(reply{ID: req.ID, Op: opOK, MsgID: r.MsgID, State: r.State, Ahead: &r.Ahead})
	default:
		ss.fail(req.ID, CodeInvalid, fmt.Sprintf("the operation %q is not known", req.Op))
	}
}

// message reads what is to be sent and to whom: at a member's socket to that
// member only.
func (ss *session) message(req request) (to protocol.Address, a arrival, err error) {
	name := ss.s.o.Name
	if a, err = parseMessage(req.Envelope, ss.s.o.Now()); err != nil {
		return to, a, err
	}
	if req.To == "" && name == OperatorSocket {
		return to, a, &CallError{CodeInvalid, "the operator's socket needs to know to whom: say \"to\""}
	}
	if req.To == "" {
		return protocol.Address{Scheme: protocol.SchemeMember, Member: protocol.MemberName(name)}, a, nil
	}
	if to, err = protocol.ParseAddress(req.To); err != nil {
		return to, a, &CallError{CodeInvalid, err.Error()}
	}
	switch {
	case to.Scheme != protocol.SchemeMember || to.Team != "" && to.Team != ss.s.o.Team:
		return to, a, &RefusedError{To: to, Why: fmt.Sprintf("this socket takes messages for members of team %s only", ss.s.o.Team)}
	case name != OperatorSocket && to.Member != protocol.MemberName(name):
		return to, a, &RefusedError{To: to, Why: fmt.Sprintf("this socket is %s's", name)}
	}
	to.Team = ""
	return to, a, nil
}

func (ss *session) watching() bool {
	ss.s.mu.Lock()
	defer ss.s.mu.Unlock()
	return ss.changed != nil
}

func (ss *session) watch(id uint64) {
	ss.s.mu.Lock()
	ss.changed = make(chan struct{}, 1)
	ss.s.mu.Unlock()
	ss.write(reply{ID: id, Op: opOK})
}

// push notifies a watching client of changes until ctx ends.
func (ss *session) push(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ss.changed:
			if ss.write(reply{Op: opChanged}) != nil {
				return
			}
		}
	}
}

func (ss *session) fail(id uint64, code Code, message string) {
	ss.write(reply{ID: id, Op: opError, Code: code, Message: message})
}

// write sends one line. A client that does not read loses its connection.
func (ss *session) write(r reply) error {
	b, err := line(r)
	if err != nil {
		return err
	}
	ss.writing.Lock()
	defer ss.writing.Unlock()
	ss.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = ss.c.Write(b)
	if err != nil {
		ss.c.Close()
	}
	return err
}

// Served lists the names whose sockets have a key here, sorted. A server that was
// killed leaves one behind.
func (p SocketDirs) Served() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(p.Keys, "*.json"))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = filepath.Base(f[:len(f)-len(".json")])
	}
	slices.Sort(names)
	return names, nil
}
