package transport_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

// helpers are programs that tests run as processes of their own: this binary,
// with the program's name in the environment.
var helpers = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	if name := os.Getenv("TRANSPORT_TEST_HELPER"); name != "" {
		if err := helpers[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testenv.Overlap(3)
	goleak.VerifyTestMain(m)
}

// deadline is for operations that are fast except on a loaded machine.
const deadline = 30 * time.Second

// host is a member's runtime as an endpoint sees it: mailboxes in memory, and a
// count of how often it was woken.
type host struct {
	mu      sync.Mutex
	boxes   map[protocol.MemberName]mailbox.Store
	fail    error
	woken   int
	refused []transport.Refusal
	record  chan struct{} // gets a value for every refusal
	tried   chan struct{} // gets a value for every message, while there is room
}

func newHost(names ...protocol.MemberName) *host {
	h := &host{boxes: map[protocol.MemberName]mailbox.Store{}, record: make(chan struct{}, 1000), tried: make(chan struct{}, 2)}
	for _, n := range names {
		h.boxes[n] = mailbox.NewMemory(mailbox.Options{})
	}
	return h
}

func (h *host) Take(ctx context.Context, _ transport.Peer, to protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.tried <- struct{}{}:
	default:
	}
	box := h.boxes[to.Member]
	if h.fail != nil {
		return transport.Receipt{}, h.fail
	}
	if box == nil {
		return transport.Receipt{}, &transport.NotFoundError{To: to, Why: "there is no such member"}
	}
	r, err := transport.Deposit(ctx, box, env)
	if err == nil {
		h.woken++
	}
	return r, err
}

func (h *host) Refused(_ context.Context, r transport.Refusal) {
	h.mu.Lock()
	h.refused = append(h.refused, r)
	h.mu.Unlock()
	h.record <- struct{}{}
}

// entries returns the entries of a mailbox.
func (h *host) entries(t *testing.T, name protocol.MemberName) []mailbox.Entry {
	t.Helper()
	e, err := h.boxes[name].Entries(context.Background())
	testenv.Must(t, err)
	return e
}

// refusals waits for n records and returns them all.
func (h *host) refusals(t *testing.T, n int) []transport.Refusal {
	t.Helper()
	for range n {
		select {
		case <-h.record:
		case <-time.After(deadline):
			t.Fatal("a refusal was not recorded")
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]transport.Refusal(nil), h.refused...)
}

// shortDir is a directory for sockets: the path of t.TempDir is too long for one.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wt")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newDirs(t testing.TB) transport.SocketDirs {
	dir := shortDir(t)
	return transport.SocketDirs{Dir: filepath.Join(dir, "run"), Keys: filepath.Join(dir, "keys")}
}

func options(p transport.SocketDirs, name string, h transport.Host) transport.SocketOptions {
	return transport.SocketOptions{Dirs: p, Name: name, Team: "api", Host: h, Rand: rand.Reader, Now: time.Now}
}

// serve serves a socket until the test ends.
func serve(t testing.TB, p transport.SocketDirs, name string, h transport.Host) *transport.Socket {
	t.Helper()
	return serveWith(t, options(p, name, h))
}

// serveAnn serves the socket of ann, whose host it returns.
func serveAnn(t testing.TB) (transport.SocketDirs, *host, *transport.Socket) {
	t.Helper()
	p, h := newDirs(t), newHost("ann")
	return p, h, serve(t, p, "ann", h)
}

func serveWith(t testing.TB, o transport.SocketOptions) *transport.Socket {
	t.Helper()
	s, err := transport.Listen(o)
	testenv.Must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Serve(context.Background()); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		wg.Wait()
	})
	return s
}

func dial(t testing.TB, p transport.SocketDirs, s *transport.Socket) *transport.Client {
	t.Helper()
	token, ok := transport.Token([]string{p.Keys}, s.Path())
	if !ok {
		t.Fatal("the socket has no key")
	}
	c, err := transport.Dial(t.Context(), s.Path(), token)
	testenv.Must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func message(id, text string) protocol.Envelope {
	return protocol.Envelope{From: "bob", Text: text, Timestamp: "2026-01-02T03:04:05.006Z", MsgV: 1, MsgID: id, Type: "message"}
}
