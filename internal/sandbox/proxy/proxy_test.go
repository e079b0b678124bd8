package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"waggle/internal/sandbox/proxy"
	"waggle/internal/test/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// atOnce is how long a cut may take: Must show 2 of the sandbox's issue.
const atOnce = 100 * time.Millisecond

// public is an address of the public network that every name has here.
var public = netip.MustParseAddr("93.184.215.14")

// world is a proxy between clients and one server that echoes lines.
type world struct {
	t      testing.TB
	proxy  *proxy.Proxy
	addr   string // of the proxy
	record record
	asks   chan ask
	wg     sync.WaitGroup
}

// ask is a question that waits for its answer.
type ask struct {
	proxy.Request
	ctx    context.Context
	answer chan proxy.Decision
}

// Decide implements proxy.Decider: the test answers.
func (w *world) Decide(ctx context.Context, r proxy.Request) (proxy.Decision, error) {
	a := ask{r, ctx, make(chan proxy.Decision, 1)}
	select {
	case w.asks <- a:
	case <-ctx.Done():
		return proxy.Decision{}, ctx.Err()
	}
	select {
	case got := <-a.answer:
		return got, nil
	case <-ctx.Done():
		return proxy.Decision{}, ctx.Err()
	}
}

type record struct {
	mu   sync.Mutex
	list []proxy.Connection
}

func (r *record) Record(c proxy.Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, c)
}

func (r *record) last(e proxy.Event) (proxy.Connection, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range slices.Backward(r.list) {
		if c.Event == e {
			return c, true
		}
	}
	return proxy.Connection{}, false
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, asks: make(chan ask)}
	server := w.listen(echo)
	w.proxy = proxy.New(proxy.Options{Decider: w, Recorder: &w.record, Now: time.Now,
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "inside.example.com" {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return []netip.Addr{public}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server)
		}})
	w.addr = w.serve("ada")
	return w
}

// serve has the proxy serve a client at an address of its own.
func (w *world) serve(name string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(w.t, err)
	w.wg.Go(func() { _ = w.proxy.Serve(l, name) })
	w.t.Cleanup(func() { w.proxy.Close(); w.wg.Wait() })
	return l.Addr().String()
}

func (w *world) listen(serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(w.t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); serve(c) })
		}
	})
	w.t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// echo answers HTTP requests, and repeats other lines.
func echo(c net.Conn) {
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if strings.Contains(line, "HTTP/1.1") {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
			return
		}
		if _, err := io.WriteString(c, line); err != nil {
			return
		}
	}
}

// ways are the three ways to ask for a connection. Each returns one that is open, or the words of the
// refusal.
var ways = map[string]func(proxyAddr, target string) (net.Conn, error){
	"connect": connect, "socks": socks, "http": forwarded,
}

func connect(addr, target string) (net.Conn, error) { return connectWith(addr, target, "") }

func connectWith(addr, target, early string) (net.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n%s", target, early); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(oneByte{c}), &http.Request{Method: http.MethodConnect})
	if err != nil {
		c.Close()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		c.Close()
		return nil, fmt.Errorf("%s: %s", resp.Status, body)
	}
	return c, nil
}

// oneByte reads no more than it is asked for.
type oneByte struct{ io.Reader }

func (o oneByte) Read(b []byte) (int, error) { return o.Reader.Read(b[:1]) }

func socks(addr, target string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	p, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	msg := append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(host))}, host...)
	if _, err := c.Write(append(msg, byte(p>>8), byte(p))); err != nil {
		return nil, err
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(c, head); err != nil {
		c.Close()
		return nil, err
	}
	if head[3] != 0 {
		c.Close()
		return nil, fmt.Errorf("403: SOCKS says %d", head[3])
	}
	return c, nil
}

// forwarded gets a page, which is the answer; no connection stays open.
func forwarded(addr, target string) (net.Conn, error) {
	tr := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: addr}), DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("http://" + target + "/")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || string(body) != "hello" {
		return nil, fmt.Errorf("%s: %s %w", resp.Status, body, err)
	}
	return nil, nil
}

// says exchanges a line.
func says(c net.Conn) error {
	if c == nil {
		return nil
	}
	if _, err := io.WriteString(c, "hi\n"); err != nil {
		return err
	}
	got, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && got != "hi\n" {
		err = fmt.Errorf("the echo said %q", got)
	}
	return err
}

type opened struct {
	conn net.Conn
	err  error
}

// try asks for a connection in one of the ways, and returns what comes of it.
func try(way func(proxyAddr, target string) (net.Conn, error), addr, target string) <-chan opened {
	done := make(chan opened, 1)
	go func() { c, err := way(addr, target); done <- opened{c, err} }()
	return done
}

// A connection to a host that no grant covers is held until somebody answers: then the same connection
// goes on, or is cut at once with the reason.
func TestHeld(t *testing.T) {
	for way, open := range ways {
		for _, answer := range []proxy.Decision{{Allow: true, Grant: "once-7"}, {Reason: "not this one"}} {
			t.Run(fmt.Sprint(way, " ", answer.Allow), func(t *testing.T) {
				w := newWorld(t)
				done := try(open, w.addr, "api.example.com:80")
				a := <-w.asks
				if want := (proxy.Request{Client: "ada", Host: "api.example.com", Port: "80", By: way}); a.Request != want {
					t.Errorf("asked about %+v, want %+v", a.Request, want)
				}
				select {
				case got := <-done:
					t.Fatalf("not held: %v", got)
				default:
				}
				start := time.Now()
				a.answer <- answer
				got := <-done
				took := time.Since(start)
				if !answer.Allow {
					const told = "waggle: the sandbox does not let this through to api.example.com:80: not this one" // in the status line and in the body
					if got.err == nil || !strings.Contains(got.err.Error(), "403") || way != "socks" && strings.Count(got.err.Error(), told) != 2 {
						t.Errorf("refused with %v", got.err)
					}
					testenv.Within(t, "the refusal", took, atOnce)
					if c, ok := w.record.last(proxy.Refused); !ok || c.Reason != "not this one" {
						t.Errorf("on record: %+v", c)
					}
					return
				}
				testenv.Must(t, got.err)
				testenv.Must(t, says(got.conn))
				if got.conn != nil {
					got.conn.Close()
				}
				testenv.Eventually(t, "the end is on record", func() bool { _, ok := w.record.last(proxy.Closed); return ok })
				c, _ := w.record.last(proxy.Closed)
				if c.Grant != "once-7" || c.Address.Addr() != public || c.Sent == 0 || c.Received == 0 {
					t.Errorf("on record: %+v", c)
				}
			})
		}
	}
}

// A grant that comes while a connection waits lets it go on without the answer, and a denial refuses
// it.
func TestGrantReachesWhatWaits(t *testing.T) {
	for _, deny := range []bool{false, true} {
		w := newWorld(t)
		done := try(connect, w.addr, "api.example.com:443")
		a := <-w.asks
		w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com", Port: "443", Deny: deny}})
		got := <-done
		if (got.err != nil) != deny {
			t.Errorf("deny %v: %v", deny, got.err)
		}
		<-a.ctx.Done() // the client has given up the answer
		if got.conn != nil {
			testenv.Must(t, says(got.conn))
			got.conn.Close()
		}
	}
}

// New grants cut the connections that they no longer cover, at once.
func TestRevokeCuts(t *testing.T) {
	for _, next := range [][]proxy.Grant{nil, {{ID: "no", Host: "example.com", Deny: true}}, {{ID: "other", Host: "api.example.com", Port: "22"}},
		{{ID: "g", Host: "api.example.com"}, {Host: "*.example.com", Deny: true, Rule: "deny WebFetch(domain:*.example.com)"}},
		{{ID: "g", Host: "api.example.com"}, {ID: "its address", Host: public.String(), Deny: true}}} {
		w := newWorld(t)
		w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "api.example.com"}})
		for _, open := range []func(string, string) (net.Conn, error){connect, socks} {
			c, err := open(w.addr, "api.example.com:443")
			testenv.Must(t, err)
			testenv.Must(t, says(c))
			start := time.Now()
			w.proxy.Grant(next)
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("%v: the connection still speaks", next)
			}
			testenv.Within(t, "the cut", time.Since(start), atOnce)
			c.Close()
			testenv.Eventually(t, "the cut is on record", func() bool {
				cut, ok := w.record.last(proxy.Cut)
				return ok && cut.Grant == "g" && cut.Sent == 3 && cut.Received == 3
			})
			w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "api.example.com"}})
		}
		testenv.Eventually(t, "nothing is open", func() bool { return len(w.proxy.Open()) == 0 })
	}
}

// Ten members ask for one host: each has one question, whatever the number of its
// connections, and each is answered by itself.
func TestOneQuestionPerMember(t *testing.T) {
	w := newWorld(t)
	const members, each = 10, 3
	type result struct {
		member string
		err    error
	}
	results := make(chan result, members*each)
	for i := range members {
		name := fmt.Sprint("m", i)
		addr := w.serve(name)
		for range each {
			go func() {
				c, err := connect(addr, "api.example.com:443")
				if c != nil {
					c.Close()
				}
				results <- result{name, err}
			}()
		}
	}
	asked := map[string]bool{}
	var held []ask
	for range members {
		a := <-w.asks
		if asked[a.Client] {
			t.Errorf("%s was asked for twice", a.Client)
		}
		asked[a.Client] = true
		held = append(held, a)
	}
	// Every connection waits before the first answer: none can ask a second time.
	testenv.Eventually(t, "all wait", func() bool { return w.proxy.Waiting() == members*each })
	for _, a := range held {
		a.answer <- proxy.Decision{Allow: a.Client != "m3", Grant: a.Client, Reason: "no"}
	}
	for range members * each {
		if r := <-results; (r.err != nil) != (r.member == "m3") {
			t.Errorf("%s: %v", r.member, r.err)
		}
	}
}

// A program that tries many hosts cannot flood the person with questions.
func TestManyHosts(t *testing.T) {
	w := newWorld(t)
	const hosts = 40
	results := make(chan error, hosts)
	for i := range hosts {
		go func() {
			_, err := connect(w.addr, fmt.Sprintf("h%d.example.com:443", i))
			results <- err
		}()
	}
	for range hosts - 32 {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "too many hosts") {
			t.Error(err)
		}
	}
	if n := w.proxy.Waiting(); n != 32 {
		t.Errorf("%d wait", n)
	}
	w.proxy.Grant([]proxy.Grant{{Host: "example.com", Deny: true}})
	for range 32 {
		<-results
	}
}

// A client that hangs up withdraws its question.
func TestHangUp(t *testing.T) {
	w := newWorld(t)
	for _, send := range []string{
		"CONNECT a.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://a.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x05\x01\x00\x05\x01\x00\x03\x0da.example.com\x01\xbb",
	} {
		c, err := net.Dial("tcp", w.addr)
		testenv.Must(t, err)
		_, err = io.WriteString(c, send)
		testenv.Must(t, err)
		a := <-w.asks
		c.Close()
		<-a.ctx.Done()
		testenv.Eventually(t, "it is on record", func() bool { _, ok := w.record.last(proxy.Refused); return ok })
		if got, _ := w.record.last(proxy.Refused); got.Reason != "the program gave up before anybody had answered" {
			t.Errorf("on record: %+v", got)
		}
	}
}

// call has the proxy serve one command. end ends it.
func (w *world) call(name string) (addr string, end func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(w.t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = w.proxy.ServeCall(l, name, nil) }()
	end = func() { l.Close(); <-done }
	w.t.Cleanup(end)
	return l.Addr().String(), end
}

// A command is asked about once: what was denied stays denied while it runs, the question of a program
// that gave up is that of its next try, and of no command that has ended. Another one of the same
// member asks anew.
func TestAskedOnce(t *testing.T) {
	w := newWorld(t)
	addr, end := w.call("ada")
	first := try(connect, addr, "no.example.com:443")
	(<-w.asks).answer <- proxy.Decision{Reason: "not this one"}
	for _, got := range []opened{<-first, <-try(connect, addr, "no.example.com:443"), <-try(connect, addr, "no.example.com:443")} {
		if got.err == nil || !strings.Contains(got.err.Error(), "not this one") {
			t.Errorf("%v", got.err)
		}
	}
	other, _ := w.call("ada")
	again := try(connect, other, "no.example.com:443")
	(<-w.asks).answer <- proxy.Decision{Allow: true}
	if got := <-again; got.err != nil {
		t.Errorf("another command: %v", got.err)
	}

	giveUp := func(target string) ask {
		c, err := net.Dial("tcp", addr)
		testenv.Must(t, err)
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", target)
		a := <-w.asks
		c.Close()
		testenv.Eventually(t, "it has given up", func() bool { return w.proxy.Waiting() == 0 })
		return a
	}
	late := giveUp("late.example.com:443")
	second := try(connect, addr, "late.example.com:443")
	testenv.Eventually(t, "the next try waits", func() bool { return w.proxy.Waiting() == 1 })
	late.answer <- proxy.Decision{Allow: true}
	if got := <-second; got.err != nil {
		t.Errorf("the next try: %v", got.err)
	}
	granted := giveUp("granted.example.com:443")
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "granted.example.com"}})
	<-granted.ctx.Done()
	w.proxy.NextCall()
	next := try(connect, addr, "no.example.com:443")
	(<-w.asks).answer <- proxy.Decision{Allow: true}
	if got := <-next; got.err != nil {
		t.Errorf("the next command: %v", got.err)
	}
	left := giveUp("left.example.com:443")
	end()
	<-left.ctx.Done()
}

// A reason of many lines, or a long one, is one line of the answer's head, and whole in its body.
func TestReasonIsOneLine(t *testing.T) {
	w := newWorld(t)
	reason := "no\r\nX-Injected: yes\x1b[2J" + strings.Repeat("ö", 400)
	done := try(connect, w.addr, "api.example.com:80")
	(<-w.asks).answer <- proxy.Decision{Reason: reason}
	got := <-done
	if got.err == nil {
		t.Fatal("it is open")
	}
	head, _, _ := strings.Cut(got.err.Error(), "waggle: the sandbox does not let this through to api.example.com:80: no\r\nX-Injected")
	if !strings.HasPrefix(head, "403 waggle: the sandbox does not let this through to api.example.com:80: no  X-Injected: yes [2Jö") || len(head) > 330 {
		t.Errorf("the head is %q", head)
	}
	if !strings.Contains(got.err.Error(), reason) {
		t.Errorf("the body is %q", got.err)
	}
}

// The end of the proxy cuts open and waiting connections.
func TestClose(t *testing.T) {
	w := newWorld(t)
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "api.example.com"}})
	c, err := connect(w.addr, "api.example.com:443")
	testenv.Must(t, err)
	defer c.Close()
	held := try(connect, w.addr, "other.example.com:443")
	<-w.asks
	testenv.Must(t, w.proxy.Close())
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("what was open still speaks")
	}
	if got := <-held; got.err == nil {
		t.Error("what waited was let through")
	}
	if c, err := net.Dial("tcp", w.addr); err == nil {
		c.Close()
		t.Error("the proxy still listens")
	}
}

// A client may send behind its CONNECT request before the answer has come.
func TestEarlyBytes(t *testing.T) {
	w := newWorld(t)
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "api.example.com"}})
	c, err := connectWith(w.addr, "api.example.com:443", "early\n")
	testenv.Must(t, err)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if got, err := bufio.NewReader(c).ReadString('\n'); got != "early\n" {
		t.Errorf("%q %v", got, err)
	}
}

// A granted name that leads into this machine is refused unless the address itself is granted.
func TestResolvedAddress(t *testing.T) {
	w := newWorld(t)
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com"}})
	for way, open := range ways {
		if _, err := open(w.addr, "inside.example.com:80"); err == nil {
			t.Errorf("%s: a name let it through to loopback", way)
		}
	}
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com"}, {ID: "by address", Host: "127.0.0.1", Port: "80"}})
	if _, err := forwarded(w.addr, "inside.example.com:80"); err != nil {
		t.Errorf("the address itself is granted: %v", err)
	}
	if _, err := connect(w.addr, "inside.example.com:81"); err == nil {
		t.Error("another port of the address is open")
	}
}

// TestDeniedByRule: a denial outweighs every grant, of the name and of the address that it has, and closes no other
// host of a grant with a wildcard. The refusal names the rule.
func TestDeniedByRule(t *testing.T) {
	w := newWorld(t)
	rule := proxy.Grant{Host: "a.example.com", Deny: true, Rule: "deny WebFetch(domain:a.example.com)"}
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com"}, rule})
	for way, open := range ways {
		for host, closed := range map[string]bool{"a.example.com:443": true, "x.a.example.com:443": true, "b.example.com:443": false} {
			if _, err := open(w.addr, host); (err != nil) != closed {
				t.Errorf("%s to %s: %v", way, host, err)
			}
		}
	}
	if no, ok := w.record.last(proxy.Refused); !ok || no.Reason != "the host is denied by a rule: "+rule.Rule {
		t.Errorf("%+v", no)
	}
	w.proxy.Grant([]proxy.Grant{{ID: "g", Host: "*.example.com"}, {ID: "no", Host: public.String(), Deny: true}})
	if _, err := connect(w.addr, "b.example.com:443"); err == nil {
		t.Error("the name led to an address that is denied")
	}
	if no, ok := w.record.last(proxy.Refused); !ok || no.Reason != "b.example.com is at "+public.String()+": the host is denied" {
		t.Errorf("%+v", no)
	}
}

// pipes is a listener without a network, for synctest.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// A grant until a time ends at that time: its open connections are cut.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		var far net.Conn
		p := proxy.New(proxy.Options{Now: time.Now, Own: func() []netip.Addr { return nil },
			Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
			Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
				near, f := net.Pipe()
				far = f
				return near, nil
			}})
		served := make(chan error, 1)
		go func() { served <- p.Serve(l, "ada") }()
		const left = time.Hour
		p.Grant([]proxy.Grant{{ID: "g", Host: "example.com", Until: time.Now().Add(left)}})
		c, s := net.Pipe()
		l.conns <- s
		go io.WriteString(c, "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n")
		buf := make([]byte, 200)
		if n, err := c.Read(buf); err != nil || !bytes.Contains(buf[:n], []byte("200")) {
			t.Fatalf("%q %v", buf[:n], err)
		}
		start := time.Now()
		if _, err := c.Read(buf); err == nil {
			t.Error("still open")
		}
		if took := time.Since(start); took < left-time.Minute || took > left { // the bubble's clock
			t.Errorf("cut after %v", took)
		}
		far.Close()
		p.Close()
		if err := <-served; !errors.Is(err, proxy.ErrClosed) {
			t.Error(err)
		}
	})
}

// Without a clock a grant that ends does not hold.
func TestNoClock(t *testing.T) {
	p := proxy.New(proxy.Options{})
	defer p.Close()
	p.Grant([]proxy.Grant{{Host: "example.com", Until: time.Now().Add(time.Hour)}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	done := make(chan error, 1)
	go func() { done <- p.Serve(l, "ada") }()
	if c, err := connect(l.Addr().String(), "example.com:443"); err == nil {
		c.Close()
		t.Error("it held")
	}
	p.Close()
	<-done
}
