//go:build unix

package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/transport"
)

func TestSocketSend(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann", "eve")
	s := serve(t, p, "ann", h)
	c := dial(t, p, s)
	if c.Team() != "api" || c.Name() != "ann" {
		t.Errorf("the socket says it is %s of %s", c.Name(), c.Team())
	}
	text := "<b>hello</b> \u2028 \"you\"\n"
	for i := range 3 {
		env := message(fmt.Sprint("m", i), text)
		got, err := c.Send(t.Context(), protocol.Address{}, env)
		if want := (transport.Receipt{MsgID: env.MsgID, State: transport.Written, Ahead: i}); err != nil || got != want {
			t.Fatalf("receipt %+v, %v, want %+v", got, err, want)
		}
	}
	// The same again is the same; another one under its id is refused.
	if got, err := c.Send(t.Context(), address(t, "ann@api"), message("m1", text)); err != nil || got.Ahead != 1 {
		t.Errorf("the same again: %+v, %v", got, err)
	}
	for to, env := range map[string]protocol.Envelope{"ann": message("m1", "other"), "eve": message("m9", text), "ann@web": message("m9", text)} {
		if _, err := c.Send(t.Context(), address(t, to), env); !errors.As(err, new(*transport.RefusedError)) {
			t.Errorf("to %s: %v, want a refusal", to, err)
		}
	}
	for _, env := range []protocol.Envelope{{From: "bob", MsgID: "x"}, {Text: "x", MsgID: "x"}, {From: "bob", Text: "x"}, message("x", "\xff")} {
		if _, err := c.Send(t.Context(), protocol.Address{}, env); !errors.As(err, new(*transport.RefusedError)) {
			t.Errorf("%+v: %v, want a refusal", env, err)
		}
	}
	entries := h.entries(t, "ann")
	if len(entries) != 3 || entries[0].Envelope.Text != text || entries[0].Envelope.Read {
		t.Errorf("the mailbox holds %d entries, the first %q", len(entries), entries[0].Envelope.Text)
	}
	if h.woken != 3 || len(h.entries(t, "eve")) != 0 {
		t.Errorf("woken %d times, want 3", h.woken)
	}
}

// TestSocketFailures: an error of the host arrives at the client with its type, and the same
// message may be tried again.
func TestSocketFailures(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	c := dial(t, p, serve(t, p, transport.OperatorSocket, h))
	code := func(want transport.Code) func(error) bool {
		return func(err error) bool {
			var e *transport.RemoteError
			return errors.As(err, &e) && e.Code == want
		}
	}
	missing := func(err error) bool { var e *transport.NotFoundError; return errors.As(err, &e) }
	refused := func(err error) bool { var e *transport.RefusedError; return errors.As(err, &e) }
	for _, tc := range []struct {
		to   string
		fail error
		is   func(error) bool
	}{
		{"ann", &atomicfile.LockedError{Path: "/x"}, code(transport.CodeLocked)},
		{"ann", fmt.Errorf("gone: %w", fs.ErrNotExist), missing},
		{"ann", errors.New("disk"), code(transport.CodeFailed)},
		{"ann", &transport.RefusedError{Why: "full"}, refused},
		{"ann", fmt.Errorf("append: %w", &mailbox.LimitError{What: "Count"}), refused},
		{"nobody", nil, missing},
		{"uds:/x.sock", nil, refused},
		{"", nil, refused},
	} {
		h.mu.Lock()
		h.fail = tc.fail
		h.mu.Unlock()
		var to protocol.Address
		if tc.to != "" {
			to = address(t, tc.to)
		}
		if _, err := c.Send(t.Context(), to, message("m1", "hello")); !tc.is(err) {
			t.Errorf("%s with %v: %v", tc.to, tc.fail, err)
		}
	}
	h.fail = nil
	if r, err := c.Send(t.Context(), address(t, "ann"), message("m1", "hello")); err != nil || r.Ahead != 0 {
		t.Errorf("at last: %+v, %v", r, err)
	}
	testenv.Must(t, c.Ping(t.Context()))
}

// raw reads and writes a socket line by line.
type raw struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func connect(t *testing.T, path string) raw {
	t.Helper()
	c, err := net.Dial("unix", path)
	testenv.Must(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(deadline))
	return raw{t, c, bufio.NewReader(c)}
}

func (r raw) say(line string) { fmt.Fprintln(r.c, line) } // the other side may have hung up

// hear returns the next line, "" at the end.
func (r raw) hear() string {
	r.t.Helper()
	line, err := r.r.ReadString('\n')
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		r.t.Fatal("no answer")
	}
	return strings.TrimSpace(line)
}

// TestSocketWithoutToken: a peer without the token has no effect, and is recorded once.
func TestSocketWithoutToken(t *testing.T) {
	t.Parallel()
	p, h, s := serveAnn(t)
	serve(t, p, "bob", h)
	other, _ := transport.Token([]string{p.Keys}, p.Path("bob"))
	env, err := json.Marshal(message("m1", "forged"))
	testenv.Must(t, err)
	send := fmt.Sprintf(`{"id":2,"op":"send","envelope":%s}`, env)
	firsts := []string{
		send,
		`{"waggle":1,"op":"hello"}`,
		`{"waggle":1,"op":"hello","token":""}`,
		`{"waggle":1,"op":"hello","token":"wrong"}`,
		`{"waggle":1,"op":"hello","Token":"` + other + `"}`,
		`{"waggle":1,"op":"hello","token":"` + other + `"}`,
		`{"waggle":1,"op":"hello","token":["x"]}`,
		"not JSON",
		strings.Repeat("x", 1<<20),
	}
	for _, first := range firsts {
		r := connect(t, s.Path())
		r.say(first)
		r.say(send)
		if answer := r.hear(); !strings.Contains(answer, `"code":"denied"`) {
			t.Errorf("%.50s: %q", first, answer)
		}
		if rest := r.hear(); rest != "" {
			t.Errorf("%.50s: and then %q", first, rest)
		}
	}
	connect(t, s.Path()).c.Close() // a connection without a line is not recorded
	got := h.refusals(t, len(firsts))
	if len(got) != len(firsts) {
		t.Errorf("%d records, want %d", len(got), len(firsts))
	}
	for _, r := range got {
		if r.Peer.UID != os.Geteuid() || r.Peer.PID != os.Getpid() || r.At != s.Path() || r.Why == "" {
			t.Errorf("record %+v", r)
		}
	}
	if n := len(h.entries(t, "ann")); n != 0 || h.woken != 0 {
		t.Errorf("%d entries, woken %d times", n, h.woken)
	}
}

// TestSocketRefusalsAreLimited: repeated refusals do not fill a journal, and the unrecorded ones
// are counted.
func TestSocketRefusalsAreLimited(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	at := time.Now()
	var mu sync.Mutex
	o := options(p, "ann", h)
	o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return at }
	s, err := transport.Listen(o)
	testenv.Must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() { s.Serve(t.Context()) })
	knock := func() {
		r := connect(t, s.Path())
		r.say("{}")
		r.hear()
		r.hear()
	}
	for range 100 {
		knock()
	}
	mu.Lock()
	at = at.Add(2 * time.Minute)
	mu.Unlock()
	knock()
	got := h.refusals(t, 61)
	if len(got) != 61 || got[60].More != 40 || !strings.Contains(got[60].String(), "40 more") {
		t.Errorf("%d records, the last is %v", len(got), got[len(got)-1])
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// TestSocketLines: a line outside of the protocol gets an error.
func TestSocketLines(t *testing.T) {
	t.Parallel()
	p, h, s := serveAnn(t)
	token, _ := transport.Token([]string{p.Keys}, s.Path())
	r := connect(t, s.Path())
	r.say(`{"waggle":2,"op":"hello","token":"` + token + `"}`)
	if got := r.hear(); !strings.Contains(got, `"code":"version"`) {
		t.Errorf("another version: %s", got)
	}
	r = connect(t, s.Path())
	r.say(`{"waggle":1,"op":"hello","token":"` + token + `","from_the_future":{}}`)
	if got, want := r.hear(), `{"waggle":1,"op":"hello","team":"api","name":"ann"}`; got != want {
		t.Errorf("hello: %s, want %s", got, want)
	}
	for say, want := range map[string]string{
		`{"id":7,"op":"ping"}`:        `{"id":7,"op":"ok"}`,
		`{"id":8,"op":"PING"}`:        `{"id":8,"op":"error","code":"invalid","message":"the operation \"PING\" is not known"}`,
		`{"id":9,"OP":"ping"}`:        `{"id":9,"op":"error","code":"invalid","message":"the operation \"\" is not known"}`,
		`[]`:                          `{"op":"error","code":"invalid","message":"not a JSON object"}`,
		"{\"id\":10,\"op\":\"\xff\"}": `{"op":"error","code":"invalid","message":"not UTF-8"}`,
		`{"id":11,"op":"send"}`:       `{"id":11,"op":"error","code":"invalid","message":"envelope: byte 0: unexpected end of JSON input"}`,
		`{"id":12,"op":"send","to":"a b","envelope":{"from":"b","text":"x","msg_id":"1"}}`: `"code":"invalid"`,
	} {
		r.say(say)
		if got := r.hear(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", say, got, want)
		}
	}
	r.say(`{"id":13,"op":"send","envelope":"` + strings.Repeat("x", 7<<20) + `"}`)
	if got := r.hear(); !strings.Contains(got, `"code":"too_large"`) {
		t.Errorf("too long a line: %s", got)
	}
	if got := r.hear(); got != "" {
		t.Errorf("and then %s", got)
	}
	if len(h.entries(t, "ann")) != 0 {
		t.Error("something was delivered")
	}
}

func TestSocketWatch(t *testing.T) {
	t.Parallel()
	p, _, s := serveAnn(t)
	c := dial(t, p, s)
	changes, err := c.Watch(t.Context())
	testenv.Must(t, err)
	for range 3 {
		s.Changed()
		select {
		case <-changes:
		case <-time.After(deadline):
			t.Fatal("no push")
		}
	}
	// Pushes and answers share the connection.
	s.Changed()
	if _, err := c.Send(t.Context(), protocol.Address{}, message("m1", "hello")); err != nil {
		t.Error(err)
	}
	testenv.Must(t, s.Close())
	for range changes { // until the end is told
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a ping after the end")
	}
}

// TestSocketManyClients: every message of many senders on many connections arrives
// once.
func TestSocketManyClients(t *testing.T) {
	t.Parallel()
	p, h, s := serveAnn(t)
	const clients, each = 20, 20
	var wg sync.WaitGroup
	for i := range clients {
		c := dial(t, p, s)
		for j := range each {
			wg.Go(func() {
				env := message(fmt.Sprint(i, "-", j/2), fmt.Sprint(i, "-", j/2)) // each twice
				if _, err := c.Send(t.Context(), protocol.Address{}, env); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	seen := map[string]int{}
	for _, e := range h.entries(t, "ann") {
		seen[e.Envelope.MsgID]++
	}
	if len(seen) != clients*each/2 {
		t.Errorf("%d messages, want %d", len(seen), clients*each/2)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
}

// TestSocketTooMany: a connection too many is told so and harms no other.
func TestSocketTooMany(t *testing.T) {
	t.Parallel()
	p, _, s := serveAnn(t)
	var all []*transport.Client
	for range 64 {
		all = append(all, dial(t, p, s)) // each has said hello, so the server has it
	}
	token, _ := transport.Token([]string{p.Keys}, s.Path())
	c, err := transport.Dial(t.Context(), s.Path(), token)
	var busy *transport.RemoteError
	if err == nil {
		c.Close()
		t.Error("there was room for one more")
	} else if !errors.As(err, &busy) || busy.Code != transport.CodeBusy {
		t.Error(err)
	}
	for _, c := range all {
		testenv.Must(t, c.Ping(t.Context()))
	}
}

func TestListenTwice(t *testing.T) {
	t.Parallel()
	p, h, s := serveAnn(t)
	if _, err := transport.Listen(options(p, "ann", h)); !errors.Is(err, transport.ErrServed) {
		t.Errorf("a second server: %v", err)
	}
	if err := dial(t, p, s).Ping(t.Context()); err != nil {
		t.Errorf("the first after that: %v", err)
	}
	for path, want := range map[string]os.FileMode{p.Dir: 0o700, p.Keys: 0o700, s.Path(): 0o600, filepath.Join(p.Keys, "ann.json"): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, fi.Mode(), err, want)
		}
	}
	testenv.Must(t, s.Close())
	for _, gone := range []string{s.Path(), filepath.Join(p.Keys, "ann.json")} {
		if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s after Close: %v", gone, err)
		}
	}
	again := serve(t, p, "ann", h)
	testenv.Must(t, dial(t, p, again).Ping(t.Context()))
}

// TestListenInTheWay: a path that is not a socket of ours is neither removed nor used.
func TestListenInTheWay(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	testenv.Must(t, os.Mkdir(p.Dir, 0o755))
	testenv.Must(t, os.WriteFile(p.Path("ann"), []byte("mine"), 0o600))
	if _, err := transport.Listen(options(p, "ann", h)); err == nil || !strings.Contains(err.Error(), "is in the way") {
		t.Errorf("a file at the path: %v", err)
	}
	if data, err := os.ReadFile(p.Path("ann")); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q, %v", data, err)
	}
	if fi, err := os.Stat(p.Dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v, want it private", fi.Mode(), err)
	}
	link := transport.SocketDirs{Dir: p.Dir + "2", Keys: p.Keys}
	testenv.Must(t, os.Symlink(p.Dir, link.Dir))
	if _, err := transport.Listen(options(link, "ann", h)); err == nil {
		t.Error("a link was taken for a directory")
	}
}

func TestSocketLongPath(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	p.Dir = filepath.Join(p.Dir, strings.Repeat("long/", 30))
	s := serve(t, p, "ann", h)
	if len(s.Path()) > 103 || !strings.HasPrefix(s.Path(), "/tmp/waggle-") || s.Path() != p.Path("ann") {
		t.Errorf("the socket lies at %s", s.Path())
	}
	to := protocol.Address{Scheme: protocol.SchemeUDS, Target: p.Path("ann")}
	if r, err := (transport.Sockets{Keys: []string{p.Keys}}).Send(t.Context(), to, message("m1", "hello")); err != nil || r.State != transport.Written {
		t.Errorf("%+v, %v", r, err)
	}
	if fi, err := os.Lstat(filepath.Dir(s.Path())); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", fi, err)
	}
	t.Cleanup(func() { os.Remove(filepath.Dir(p.Path("ann"))) })
}

// TestSockets: the sender says what is wrong with an address.
func TestSockets(t *testing.T) {
	t.Parallel()
	p, h, s := serveAnn(t)
	dir := filepath.Dir(p.Dir)
	file := filepath.Join(dir, "ann.json")
	testenv.Must(t, os.WriteFile(file, []byte("[]"), 0o600))
	dead := deadSocket(t, filepath.Join(dir, "dead.sock"))
	missing := func(err error) bool { var e *transport.NotFoundError; return errors.As(err, &e) }
	other := func(err error) bool { var e *transport.NotSocketError; return errors.As(err, &e) }
	sender := transport.Sockets{Keys: []string{p.Keys, filepath.Join(dir, "nothing")}}
	link := filepath.Join(dir, "link")
	testenv.Must(t, os.Symlink(p.Dir, link))
	for path, want := range map[string]func(error) bool{
		filepath.Join(dir, "none.sock"): missing,
		dead:                            missing,
		file:                            other,
		dir:                             other,
		s.Path():                        func(err error) bool { return err == nil },
		filepath.Join(link, "ann.sock"): func(err error) bool { return err == nil },
	} {
		_, err := sender.Send(t.Context(), protocol.Address{Scheme: protocol.SchemeUDS, Target: path}, message(path, "hello"))
		if !want(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := len(h.entries(t, "ann")); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
	if _, err := transport.Dial(t.Context(), s.Path(), "wrong"); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("a wrong token: %v", err)
	}
	h.refusals(t, 1)
	if _, err := transport.Dial(t.Context(), dead, "x"); !missing(err) {
		t.Errorf("a dead socket: %v", err)
	}
}

func init() {
	helpers["serve"] = func(args []string) error {
		h := newHost("ann")
		s, err := transport.Listen(options(transport.SocketDirs{Dir: args[0], Keys: args[1]}, "ann", h))
		if err != nil {
			return err
		}
		fmt.Println("ready")
		return s.Serve(context.Background())
	}
	helpers["knock"] = func(args []string) error {
		c, err := net.Dial("unix", args[0])
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Fprintf(c, `{"waggle":1,"op":"hello","token":%q}`+"\n", args[1])
		line, err := bufio.NewReader(c).ReadString('\n')
		fmt.Print(line)
		return err
	}
}

func helper(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "TRANSPORT_TEST_HELPER="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestStaleSocket: a killed server's socket is taken over at once; a live one's is not, also while
// its process is stopped and does not answer.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	cmd := helper("serve", p.Dir, p.Keys)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	before, err := os.Lstat(p.Path("ann"))
	testenv.Must(t, err)
	testenv.Must(t, cmd.Process.Signal(syscall.SIGSTOP))
	if _, err := transport.Listen(options(p, "ann", h)); !errors.Is(err, transport.ErrServed) {
		t.Errorf("beside a stopped server: %v", err)
	}
	if now, err := os.Lstat(p.Path("ann")); err != nil || !os.SameFile(before, now) {
		t.Errorf("the live socket was touched: %v", err)
	}
	testenv.Must(t, cmd.Process.Kill())
	cmd.Wait()
	if _, err := os.Lstat(p.Path("ann")); err != nil {
		t.Fatalf("the dead server left no socket: %v", err)
	}
	s := serve(t, p, "ann", h)
	if _, err := dial(t, p, s).Send(t.Context(), protocol.Address{}, message("m1", "hello")); err != nil {
		t.Error(err)
	}
}

// TestPlaceRemove: the sockets of dead servers are removed, served ones stay.
func TestPlaceRemove(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann", "bob")
	live := serve(t, p, "bob", h)
	cmd := helper("serve", p.Dir, p.Keys)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	if got, err := p.Served(); err != nil || !cmp.Equal(got, []string{"ann", "bob"}) {
		t.Errorf("served: %v, %v", got, err)
	}
	testenv.Must(t, p.Remove())
	if got, err := p.Served(); err != nil || !cmp.Equal(got, []string{"bob"}) {
		t.Errorf("served after Remove: %v, %v", got, err)
	}
	if _, err := os.Lstat(p.Path("ann")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the stale socket: %v", err)
	}
	testenv.Must(t, dial(t, p, live).Ping(t.Context()))
	testenv.Must(t, live.Close())
	if err := p.Remove(); err != nil {
		t.Errorf("remove: %v", err)
	}
}

// TestOtherUser: another user's process has no effect even with the token, and is
// recorded once. It can only be tried by root.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	p, h, s := serveAnn(t)
	token, _ := transport.Token([]string{p.Keys}, s.Path())
	// Open what keeps others out, or the test would end at the directory; and a copy
	// of the test binary, because its own directory is private.
	exe := filepath.Join(filepath.Dir(p.Dir), "knock")
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(testenv.Executable(exe, data), os.Chmod(filepath.Dir(p.Dir), 0o755), os.Chmod(p.Dir, 0o755), os.Chmod(s.Path(), 0o666))
	}
	testenv.Must(t, err)
	cmd := helper("knock", s.Path(), token)
	cmd.Path, cmd.Dir = exe, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"code":"denied"`) {
		t.Errorf("%s, %v", out, err)
	}
	got := h.refusals(t, 1)
	if len(got) != 1 || got[0].Peer.UID != 65534 || !strings.Contains(got[0].Why, "another user") {
		t.Errorf("records: %+v", got)
	}
	if len(h.entries(t, "ann")) != 0 {
		t.Error("it had an effect")
	}
}

// TestCloseBesideServe: Close may come before, while and after Serve begins.
func TestCloseBesideServe(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	for range 200 {
		s, err := transport.Listen(options(p, "ann", h))
		testenv.Must(t, err)
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context()) }()
		testenv.Must(t, s.Close())
		testenv.Must(t, <-served)
	}
}
