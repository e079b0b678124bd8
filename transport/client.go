package transport

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"waggle/internal/peer"
	"waggle/protocol"
)

// Client is a connection to a socket. Its methods may be called from several
// goroutines; requests are answered in the order in which they were written.
type Client struct {
	c    *net.UnixConn
	addr protocol.Address
	team protocol.TeamName
	name string
	pid  int // of the process at the other end

	writing sync.Mutex
	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan reply
	told    error         // what the other side said of no request
	err     error         // why the connection is of no use any more
	changed chan struct{} // not nil when it watches; closed at the end
	ended   chan struct{} // the reader has
}

// NotSocketError says that a path is a file of another kind.
type NotSocketError struct {
	Path string
	What string
}

func (e *NotSocketError) Error() string { return fmt.Sprintf("%s is %s, not a socket", e.Path, e.What) }

// Dial connects to a socket and says hello with a token. It sends the token only to a process of
// this user. Errors: *NotFoundError when no process serves there, *NotSocketError when the path is
// not a socket, *RefusedError when the hello was not accepted.
func Dial(ctx context.Context, path, token string) (*Client, error) {
	addr := protocol.Address{Scheme: protocol.SchemeUDS, Target: path}
	if err := isSocket(addr); err != nil {
		return nil, err
	}
	conn, pid, err := connect(ctx, addr, unserved)
	if err != nil {
		return nil, err
	}
	c := &Client{c: conn, addr: addr, pid: pid, waiting: map[uint64]chan reply{}, ended: make(chan struct{})}
	if err := c.hello(ctx, token); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// connect connects to a socket and asks the kernel which process listens: it must be this user's. unreachable makes
// the error when no process takes the connection.
func connect(ctx context.Context, to protocol.Address, unreachable func(protocol.Address, error) error) (_ *net.UnixConn, pid int, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", to.Target)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, 0, unreachable(to, err)
	case err != nil:
		return nil, 0, err
	}
	c := conn.(*net.UnixConn)
	other, err := peer.Of(c)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %w", to, err)
	case other.UID != os.Geteuid():
		err = &RefusedError{To: to, Why: fmt.Sprintf("uid %d serves it: nothing was sent", other.UID)}
	default:
		return c, other.PID, nil
	}
	c.Close()
	return nil, 0, err
}

func unserved(addr protocol.Address, _ error) error {
	return &NotFoundError{To: addr, Why: "no process serves this socket any more", Hint: nameInstead}
}

// nameInstead is what to do when a socket is not served.
const nameInstead = "use the member's name: its mailbox takes messages while it does not run"

// isSocket returns an error when the path of an address is not a socket.
func isSocket(a protocol.Address) error {
	fi, err := os.Stat(a.Target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &NotFoundError{To: a, Why: "there is no socket", Hint: nameInstead}
	case err != nil:
		return err
	case fi.IsDir():
		return &NotSocketError{a.Target, "a directory"}
	case fi.Mode().IsRegular():
		return &NotSocketError{a.Target, "a regular file"}
	case fi.Mode().Type() != fs.ModeSocket:
		return &NotSocketError{a.Target, "a special file"}
	}
	return nil
}

// hello opens the conversation and starts the reader.
func (c *Client) hello(ctx context.Context, token string) error {
	c.c.SetDeadline(time.Now().Add(helloTimeout))
	stop := context.AfterFunc(ctx, func() { c.c.SetDeadline(time.Now()) })
	defer stop()
	b, err := line(request{Waggle: version, ID: 1, Op: opHello, Token: token})
	if err != nil {
		return err
	}
	_, werr := c.c.Write(b) // a server that hung up may have sent the reason before
	r := bufio.NewReader(c.c)
	line, err := readLine(r, maxFrame)
	if err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%s: no hello: %w", c.addr, errors.Join(werr, err)))
	}
	h, err := parse[reply](line)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.addr, err)
	case h.Op == opError:
		return answer(c.addr, h.Code, h.Message)
	case h.Op != opHello || h.Waggle != version:
		return fmt.Errorf("%s does not speak version %d of this protocol", c.addr, version)
	}
	if !stop() {
		return ctx.Err()
	}
	c.c.SetDeadline(time.Time{})
	c.team, c.name, c.next = protocol.TeamName(h.Team), h.Name, 1
	go c.read(r)
	return nil
}

// Team and Name say whose socket it is: a member's, or OperatorSocket.
func (c *Client) Team() protocol.TeamName { return c.team }
func (c *Client) Name() string            { return c.name }

// PID is the process that serves the socket, as the kernel says.
func (c *Client) PID() int { return c.pid }

// read gives answers to who waits for them. It is the only goroutine of a client;
// Close waits for it.
func (c *Client) read(r *bufio.Reader) {
	defer close(c.ended)
	var err error
	for {
		var line []byte
		if line, err = readLine(r, maxFrame); err != nil {
			break
		}
		var rep reply
		if rep, err = parse[reply](line); err != nil {
			break
		}
		c.hand(rep)
	}
	c.c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("%s: the connection has ended: %w", c.addr, err)
	if c.told != nil {
		c.err = c.told
	}
	for id, ch := range c.waiting {
		delete(c.waiting, id)
		close(ch)
	}
	if c.changed != nil {
		close(c.changed)
	}
}

func (c *Client) hand(rep reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.waiting[rep.ID]; ch != nil {
		delete(c.waiting, rep.ID)
		ch <- rep // has room for it
		return
	}
	if rep.Op == opError { // about no request: the other side could not read one
		c.c.Close()
		c.told = answer(c.addr, rep.Code, rep.Message)
		return
	}
	if rep.Op == opChanged && c.changed != nil {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// ask sends a request and waits for its answer. It leaves the id in req.
func (c *Client) ask(ctx context.Context, req *request) (reply, error) {
	ch := make(chan reply, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return reply{}, c.err
	}
	c.next++
	req.ID = c.next
	c.waiting[req.ID] = ch
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, req.ID)
	}()
	if err := c.write(*req); err != nil {
		return reply{}, err
	}
	select {
	case rep, ok := <-ch:
		switch {
		case !ok:
			c.mu.Lock()
			defer c.mu.Unlock()
			return reply{}, c.err
		case rep.Op == opError:
			return rep, answer(c.addr, rep.Code, rep.Message)
		}
		return rep, nil
	case <-ctx.Done():
		return reply{}, ctx.Err()
	}
}

// write writes one request.
func (c *Client) write(req request) error {
	b, err := line(req)
	if err != nil {
		return err
	}
	if len(b) > maxFrame {
		return &RefusedError{To: c.addr, Why: fmt.Sprintf("the message must have at most %d bytes", maxFrame)}
	}
	c.writing.Lock()
	c.c.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err = c.c.Write(b)
	c.writing.Unlock()
	if err != nil {
		c.c.Close() // half a line may have been written
		return fmt.Errorf("%s: %w", c.addr, err)
	}
	return nil
}

// post writes a request and waits for no answer. A connection that has ended needs none.
func (c *Client) post(req request) {
	c.mu.Lock()
	c.next++
	req.ID = c.next
	c.waiting[req.ID] = make(chan reply, 1)
	c.mu.Unlock()
	_ = c.write(req)
}

// Send sends an envelope, at the operator's socket to the member that to names; at
// a member's own, to may be zero. It returns when the message is in the mailbox.
// After an error without an answer it may be there all the same; sending the same
// envelope, with the same msg_id, again does not put it there twice.
func (c *Client) Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (Receipt, error) {
	raw, err := compact(c.addr, env)
	if err != nil {
		return Receipt{}, err
	}
	rep, err := c.ask(ctx, &request{Op: opSend, To: to.String(), Envelope: raw})
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{MsgID: rep.MsgID, State: rep.State}
	if rep.Ahead != nil {
		r.Ahead = *rep.Ahead
	}
	return r, nil
}

// compact writes an envelope without line ends.
func compact(to protocol.Address, env protocol.Envelope) (json.RawMessage, error) {
	raw, err := env.MarshalJSON()
	if !utf8.Valid(raw) || !utf8.ValidString(env.Text) || !utf8.ValidString(env.From) {
		return nil, &RefusedError{To: to, Why: "the message is not UTF-8"}
	}
	return raw, err
}

// Ping asks whether the other side still answers. An error of its Pinged is a *RemoteError.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.ask(ctx, &request{Op: opPing})
	return err
}

// Watch subscribes to changes. The channel gets a value after something has changed at
// the other side (many changes may be one value), and is closed when the connection
// ends. The value carries no data: the reader reads the files.
func (c *Client) Watch(ctx context.Context) (<-chan struct{}, error) {
	c.mu.Lock()
	if c.changed == nil && c.err == nil {
		c.changed = make(chan struct{}, 1)
	}
	ch := c.changed
	c.mu.Unlock()
	_, err := c.ask(ctx, &request{Op: opWatch})
	return ch, err
}

// Close ends the connection and waits for the client's goroutine. Closing again does nothing.
func (c *Client) Close() error {
	err := c.c.Close()
	<-c.ended
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Sockets sends to uds addresses: one connection for each message.
type Sockets struct {
	// Keys are the directories of keys, the SocketDirs.Keys of the teams that this process knows.
	// No token is sent to a path without a key there.
	Keys []string
}

var _ Sender = Sockets{}

// Send implements Sender. A relative path is relative to the working directory.
func (s Sockets) Send(ctx context.Context, to protocol.Address, env protocol.Envelope) (Receipt, error) {
	path, err := filepath.Abs(to.Target)
	if err != nil {
		return Receipt{}, err
	}
	to.Target = path
	if err := isSocket(to); err != nil {
		return Receipt{}, err
	}
	token, ok := Token(s.Keys, path)
	if !ok {
		return Receipt{}, &NotFoundError{To: to, Why: "no team here has this socket, so there is no token for it", Hint: nameInstead}
	}
	c, err := Dial(ctx, path, token)
	if err != nil {
		return Receipt{}, err
	}
	defer c.Close()
	return c.Send(ctx, protocol.Address{}, env)
}
