//go:build unix

package poll_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
	"waggle/transport"
)

// ways are how a message comes to a receiver that waits: its file, its socket over
// a connection that stays open or a new one each, an HTTP endpoint.
var ways = []string{"file", "uds", "uds-dial", "http"}

// sizes are how many messages a mailbox keeps: read ones stay.
var sizes = []int{10, 1000}

// senderEnv makes this test binary the sender: way, then where.
const senderEnv = "WAGGLE_TEST_SENDER"

func TestMain(m *testing.M) {
	if how := os.Getenv(senderEnv); how != "" {
		if err := sender(strings.Split(how, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sender sends one message for each line that it reads, with the time in it.
func sender(how []string) error {
	ctx := context.Background()
	way, at, key := how[0], how[1], how[2]
	var send func(protocol.Envelope) error
	switch way {
	case "file":
		box, err := mailbox.Dir{Path: at}.Open("ann", mailbox.Options{})
		if err != nil {
			return err
		}
		send = func(env protocol.Envelope) error { return box.Append(ctx, env) }
	case "uds":
		token, _ := transport.Token([]string{key}, at)
		c, err := transport.Dial(ctx, at, token)
		if err != nil {
			return err
		}
		defer c.Close()
		send = func(env protocol.Envelope) error { _, err := c.Send(ctx, protocol.Address{}, env); return err }
	default:
		to, err := protocol.ParseAddress(at)
		if err != nil {
			return err
		}
		var s transport.Sender = transport.Sockets{Keys: []string{key}}
		if way == "http" {
			s = transport.Web{Token: func(*url.URL) (string, error) { return key, nil }}
		}
		send = func(env protocol.Envelope) error { _, err := s.Send(ctx, to, env); return err }
	}
	in := bufio.NewScanner(os.Stdin)
	for n := 0; in.Scan(); n++ {
		now := time.Now()
		err := send(protocol.Envelope{From: "bob", Text: strconv.FormatInt(now.UnixNano(), 10), Timestamp: protocol.FormatTime(now), MsgV: 1, MsgID: strconv.Itoa(n), Type: "message"})
		if err != nil {
			return err
		}
	}
	return in.Err()
}

// waiter is a machine that takes chat and records its latency.
type waiter struct {
	mu    sync.Mutex
	taken map[string]int
	took  []time.Duration
}

func (*waiter) Refresh(context.Context) error                   { return nil }
func (*waiter) Receive(context.Context, message.Incoming) error { return nil }
func (*waiter) Apply(context.Context) error                     { return nil }

func (w *waiter) Standing(entry string) poll.Standing {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[entry] > 0 {
		return poll.Owned
	}
	return poll.New
}

func (w *waiter) Deliver(_ context.Context, chat []message.Incoming) (taken []mailbox.ID, err error) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range chat {
		sent, err := strconv.ParseInt(in.Envelope.Text, 10, 64)
		if err != nil {
			return nil, err
		}
		id, err := mailbox.ParseID(in.Entry)
		if err != nil {
			return nil, err
		}
		w.took = append(w.took, now.Sub(time.Unix(0, sent)))
		w.taken[in.Entry]++
		taken = append(taken, id)
	}
	return taken, nil
}

func (w *waiter) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.took)
}

// endpoint puts messages into the receiver's mailbox and wakes it.
type endpoint struct {
	box   mailbox.Store
	woken chan struct{}
}

func (e endpoint) Take(ctx context.Context, _ transport.Peer, _ protocol.Address, env protocol.Envelope) (transport.Receipt, error) {
	r, err := transport.Deposit(ctx, e.box, env)
	select {
	case e.woken <- struct{}{}:
	default:
	}
	return r, err
}

func (e endpoint) Refused(context.Context, transport.Refusal) {}

// serveWay serves what a way needs and returns what the sender must know.
func serveWay(tb testing.TB, way, dir string, e endpoint) (at, key string) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	tb.Cleanup(func() { cancel(); wg.Wait() })
	switch way {
	case "uds", "uds-dial":
		place := transport.SocketDirs{Dir: filepath.Join(dir, "run"), Keys: filepath.Join(dir, "keys")}
		s, err := transport.Listen(transport.SocketOptions{Dirs: place, Name: "ann", Team: "api", Host: e, Rand: rand.Reader, Now: time.Now})
		testenv.Must(tb, err)
		tb.Cleanup(func() { s.Close() })
		wg.Go(func() { s.Serve(ctx) })
		return s.Path(), place.Keys
	case "http":
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Must(tb, err)
		// The endpoint is another process than the receiver: it wakes nobody.
		h := transport.NewWeb(transport.WebOptions{Host: endpoint{e.box, make(chan struct{}, 1)}, Token: "secret", Now: time.Now})
		wg.Go(func() { transport.ServeWeb(ctx, ln, h, "", "") })
		return "http://" + ln.Addr().String() + "/v1/api/ann", "secret"
	}
	return filepath.Join(dir, "inboxes"), ""
}

// fill puts read messages into a mailbox; the receiver's machine owns them.
func fill(tb testing.TB, box mailbox.Store, kept int, w *waiter) {
	tb.Helper()
	var envs []protocol.Envelope
	for i := range kept {
		envs = append(envs, protocol.Envelope{From: "eve", Text: "the tests are green", Timestamp: protocol.FormatTime(time.Unix(int64(i), 0)), MsgV: 1, MsgID: fmt.Sprint("kept", i), Type: "message", Read: true})
	}
	testenv.Must(tb, box.Append(context.Background(), envs...))
	entries, err := box.Entries(context.Background())
	testenv.Must(tb, err)
	for _, e := range entries {
		w.taken[e.ID.String()] = 1
	}
}

// measure sends n messages one way, each when the one before has been taken and the
// receiver waits again, from another process, and returns how long each was on its
// way: from before Append or Send to the receiver's callback. The mailbox keeps so
// many others all the time.
func measure(tb testing.TB, way string, kept, n int) []time.Duration {
	tb.Helper()
	dir, err := os.MkdirTemp("", "wl")
	testenv.Must(tb, err)
	tb.Cleanup(func() { os.RemoveAll(dir) })
	inboxes := filepath.Join(dir, "inboxes")
	testenv.Must(tb, os.Mkdir(inboxes, 0o700))
	box, err := mailbox.Dir{Path: inboxes}.Create("ann", mailbox.Options{Retention: mailbox.Prune})
	testenv.Must(tb, err)
	w := &waiter{taken: map[string]int{}}
	fill(tb, box, kept, w)
	e := endpoint{box, make(chan struct{}, 1)}
	at, key := serveWay(tb, way, dir, e)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	nudges, err := mailbox.Watch(ctx, mailbox.WatchOptions{}, inboxes)
	testenv.Must(tb, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), senderEnv+"="+strings.Join([]string{way, at, key}, "\n"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	testenv.Must(tb, err)
	p := poll.Poller{Name: "ann", Box: box, Machine: w, Mark: true}
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	pause := time.NewTicker(time.Millisecond) // so that the receiver waits when the next one comes
	defer pause.Stop()
	for sent := 0; w.count() < n; {
		testenv.Must(tb, p.Pass(ctx))
		if sent == w.count() && sent < n {
			<-pause.C
			fmt.Fprintln(in)
			sent++
		}
		select {
		case <-nudges:
		case <-e.woken:
		case <-late.C:
			tb.Fatalf("%s: %d of %d messages came", way, w.count(), n)
		}
	}
	in.Close()
	testenv.Must(tb, cmd.Wait())
	cancel()
	for range nudges { // until the watcher has ended
	}
	if len(w.took) != n {
		tb.Errorf("%s: %d messages were taken, want %d", way, len(w.took), n)
	}
	slices.Sort(w.took)
	return w.took
}

// TestLatency: each message is taken once, whichever way it came; how fast is
// only reported.
func TestLatency(t *testing.T) {
	for _, kept := range sizes {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%s/%d", way, kept), func(t *testing.T) {
				n := testenv.Scale(20, 2000)
				took := measure(t, way, kept, n)
				testenv.Measured(t, "from Append to the receiver's callback, %s, a mailbox of %d, %d messages: p50 %v, p90 %v, p99 %v, max %v", way, kept, n,
					took[n/2].Round(time.Microsecond), took[n*9/10].Round(time.Microsecond), took[n*99/100].Round(time.Microsecond), took[n-1].Round(time.Microsecond))
			})
		}
	}
}

func BenchmarkLatency(b *testing.B) {
	for _, kept := range sizes {
		for _, way := range ways {
			b.Run(fmt.Sprintf("%s/%d", way, kept), func(b *testing.B) {
				took := measure(b, way, kept, b.N)
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
				b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
			})
		}
	}
}
