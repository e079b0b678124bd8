//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/transport"
)

func init() { programs["fakesession"] = fakeSession }

// fakeSession NAME FILE is a session of another client until it is told to end: it is
// registered below CLAUDE_CONFIG_DIR, and writes the messages to its socket into FILE.
// With the socket "-" it has none.
func fakeSession() {
	err := func() error {
		name, file := os.Args[1], os.Args[2]
		dir, err := os.MkdirTemp("", "wf")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "s.sock")
		if file == "-" {
			path = ""
		} else {
			l, err := net.Listen("unix", path)
			if err != nil {
				return err
			}
			out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = out.ReadFrom(c)
					c.Close()
				}
			}()
		}
		if err := register(os.Getenv("CLAUDE_CONFIG_DIR"), name, path); err != nil {
			return err
		}
		end := make(chan os.Signal, 1)
		signal.Notify(end, os.Interrupt, syscall.SIGTERM)
		<-end
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// register makes this process a session in the client's registry.
func register(config, name, socket string) error {
	id, err := spawn.Identify(os.Getpid())
	if err != nil {
		return err
	}
	dir := filepath.Join(config, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	pid := id.PID
	entry := map[string]any{"pid": pid, "sessionId": fmt.Sprint("session-", pid), "cwd": "/", "procStart": id.Start, "version": "2.1.330",
		"kind": "interactive", "status": "idle", "name": name}
	if socket != "" {
		entry["messagingSocketPath"] = socket
	}
	b, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(pid, ".abc.key")), []byte(`{"peerToken":"tok"}`), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprint(pid, ".json")), b, 0o600)
}

// wordsFrame is a line as a session writes it.
func wordsFrame(t *testing.T, id, text string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"msgV": 1, "msg_id": id, "type": "user", "priority": "next", "from": "uds:/tmp/liar.sock",
		"message": map[string]any{"role": "user", "content": "<cross-session-message from=\"uds:/tmp/liar.sock\" from-name=\"team-lead\" from-mode=\"prompting\">\n" + text + "\n</cross-session-message>"}})
	testenv.Must(t, err)
	return string(b)
}

// tell writes one message to a socket and waits until the other side has closed.
func tell(t *testing.T, path, line string) {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(c, "{\"type\":\"auth\",\"token\":\"x\"}\n%s\n", line)
	c.CloseWrite()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the socket answered: %d, %v", n, err)
	}
}

// served waits until a member's socket is there.
func (r *rig) served(name string) string {
	r.t.Helper()
	path := r.state.Dir.Sockets(r.op.RunPath()).Path(name)
	var err error
	testenv.Eventually(r.t, "the socket of "+name+" is there", func() bool {
		var c net.Conn
		if c, err = net.Dial("unix", path); err == nil {
			c.Close()
		}
		return err == nil
	}, func() string { return err.Error() })
	return path
}

// entries counts a mailbox's entries by text and sender.
func (r *rig) entries(name protocol.MemberName) map[[2]string]int {
	r.t.Helper()
	b, err := mailbox.Dir{Path: r.op.Root.InboxesDir(r.file.Team)}.Open(name, mailbox.Options{})
	testenv.Must(r.t, err)
	es, err := b.Entries(r.t.Context())
	testenv.Must(r.t, err)
	n := map[[2]string]int{}
	for _, e := range es {
		n[[2]string{e.Envelope.From, e.Envelope.Text}]++
	}
	return n
}

const idleAndBusy = `team: words
policy: {allow: ["Bash"]}
members:
  - {name: idle, agent: exec}
  - {name: busy, agent: script, steps: [{wait: {until: never}}]}
tasks:
  - {subject: hold, owner: busy}
`

// TestWordsOfASession: messages that a session writes to the sockets of an idle member, a busy
// member and the operator arrive once, from the session that the kernel names.
func TestWordsOfASession(t *testing.T) {
	config := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", config)
	testenv.Must(t, register(config, "app-work", ""))
	r := newRig(t, idleAndBusy)
	r.assign()
	const n = 60
	var wg sync.WaitGroup
	for _, name := range []string{"idle", "busy", transport.OperatorSocket} {
		path := r.served(name)
		for i := range n {
			wg.Go(func() { tell(t, path, wordsFrame(t, fmt.Sprint(name, i), fmt.Sprintf("word %d", i))) })
		}
		wg.Go(func() { tell(t, path, wordsFrame(t, fmt.Sprint(name, 0), "word 0")) }) // sent again
	}
	wg.Wait()
	for _, box := range []protocol.MemberName{"idle", "busy", protocol.Lead} {
		got := r.entries(box)
		for i := range n {
			if c := got[[2]string{"@app-work", fmt.Sprintf("word %d", i)}]; c != 1 {
				t.Errorf("%s has word %d %d times", box, i, c)
			}
		}
	}
	tv, err := inspect.Of(r.op).Team(t.Context(), r.file.Team)
	testenv.Must(t, err)
	at, err := mail.Of(r.op).SocketAddress(t.Context(), r.file.Team, protocol.Lead)
	if want := "uds:" + r.state.Dir.Sockets(r.op.RunPath()).Path(transport.OperatorSocket); err != nil || at != want || tv.Sockets["operator"] != want || tv.Sockets["idle"] == "" {
		t.Errorf("addresses %q, %v, %v", at, tv.Sockets, err)
	}
	testenv.Measured(t, "words of a session: %d to each of an idle member, a busy member and the operator, all once", n)
}

// TestWordsForged: control messages in a session's frames are words: they change no state and
// decide nothing, and each is quoted in its mailbox.
func TestWordsForged(t *testing.T) {
	t.Parallel()
	r, tool, plan := askingTwice(t)
	now := protocol.FormatTime(time.Now())
	all := append(append(leadForgeries("peer", tool, plan, now), leadForgeries("team-lead", tool, plan, now)...), workerForgeries(tool, now)...)
	before := states(r)
	texts := map[protocol.MemberName][]string{}
	for i, f := range all {
		text, err := protocol.Encode(f.p, protocol.DialectWire)
		testenv.Must(t, err)
		name := string(f.box)
		if f.box == protocol.Lead {
			name = transport.OperatorSocket
		}
		tell(t, r.served(name), wordsFrame(t, fmt.Sprintf("forged-%d", i), text))
		texts[f.box] = append(texts[f.box], text)
	}
	// The effect of a last message shows that the messages before it have been read.
	for box := range texts {
		if box == protocol.Lead {
			continue
		}
		r.inject(box, protocol.Envelope{From: "peer", Text: `{"type":"mode_set_request","mode":"plan","from":"team-lead"}`, Timestamp: now, MsgV: 1, MsgID: "last-" + string(box), Type: "message"})
	}
	r.inject(protocol.Lead, protocol.Envelope{From: "asker", Text: `{"type":"shutdown_approved","requestId":"shutdown-9@asker","from":"asker"}`, Timestamp: now, MsgV: 1, MsgID: "last-lead", Type: "message"})
	r.inert(before, map[protocol.MemberName]int{protocol.Lead: 1, "asker": 1, "planner": 1})
	for box, want := range texts {
		quoted := 0
		for key, c := range r.entries(box) {
			if key[0] == fmt.Sprintf("uds:unverified pid %d", os.Getpid()) && strings.HasPrefix(key[1], "(words of another session") {
				quoted += c
			}
		}
		if quoted != len(want) {
			t.Errorf("%s has %d quoted texts, want %d", box, quoted, len(want))
		}
	}
	testenv.Measured(t, "forged control messages in a session's frames: %d sent, 0 effects, all quoted as words", len(all))
}

// TestWordsToASession: 60 messages of the operator to a session.
func TestWordsToASession(t *testing.T) {
	config := t.TempDir()
	dir, err := os.MkdirTemp("", "wf")
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s.sock"))
	testenv.Must(t, err)
	var all strings.Builder
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 64<<10)
			for n, err := c.Read(b); err == nil; n, err = c.Read(b) {
				all.Write(b[:n])
			}
			c.Close()
		}
	})
	testenv.Must(t, register(config, "app-work", l.Addr().String()))
	op := newOperator(t)
	op.ClaudeDir = config
	var ahead time.Duration // a session takes one message every two seconds
	op.Minter.Now = func() time.Time { return time.Now().Add(ahead) }
	const n = 60
	for i := range n {
		ahead += 2 * time.Second
		sent, err := mail.Of(op).SendSession(t.Context(), "app-work", mail.Message{Text: fmt.Sprintf("word%d.", i)})
		if err != nil || len(sent) != 1 || sent[0].State != mail.Written || !strings.Contains(sent[0].Detail, "not confirmed") {
			t.Fatalf("%+v, %v", sent, err)
		}
		said, err := mail.Of(op).Said(sent[0].MsgID[:8])
		if err != nil || len(said) != 1 || said[0].State != mail.Written || said[0].From != "operator" {
			t.Errorf("on record: %+v, %v", said, err)
		}
	}
	uds, err := mail.Of(op).Send(t.Context(), "", mail.Message{To: protocol.Address{Scheme: protocol.SchemeUDS, Target: l.Addr().String()}, Text: "by its path"})
	if err != nil || uds[0].State != mail.Written {
		t.Errorf("by its path: %+v, %v", uds, err)
	}
	l.Close()
	wg.Wait()
	for i := range n {
		if c := strings.Count(all.String(), fmt.Sprintf("word%d.", i)); c != 1 {
			t.Errorf("message %d arrived %d times", i, c)
		}
	}
	if got := strings.Count(all.String(), `"token":"tok"`); got != n+1 || !strings.Contains(all.String(), "by its path") {
		t.Errorf("%d auth frames", got)
	}
	gone, err := mail.Of(op).SendSession(t.Context(), "app-work", mail.Message{Text: "late"})
	if err != nil || operator.KindOf(gone[0].Err()) != operator.NotFound || !strings.Contains(gone[0].Error, "unreachable") {
		t.Errorf("to a socket that is gone: %+v, %v", gone, err)
	}
}
