package mail_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/transport"
)

// registerSession makes the process of this test a session of a client without a socket.
func registerSession(t *testing.T, name string) (config string) {
	t.Helper()
	id := testenv.Value(spawn.Identify(os.Getpid()))(t)
	config = t.TempDir()
	testenv.Must(t, os.MkdirAll(filepath.Join(config, "sessions"), 0o700))
	text := fmt.Sprintf(`{"pid":%d,"sessionId":"s-1","cwd":"/w","procStart":%q,"version":"2.1.330","kind":"interactive","status":"idle","name":%q}`, id.PID, id.Start, name)
	testenv.Must(t, os.WriteFile(filepath.Join(config, "sessions", fmt.Sprint(id.PID, ".json")), []byte(text), 0o600))
	return config
}

func TestSendSessionRefuses(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.ClaudeDir = registerSession(t, "api-work")
	for _, c := range []struct {
		to   string
		m    mail.Message
		code operator.Kind
		says string
	}{
		{"api-work", mail.Message{Text: ""}, operator.Usage, "nothing to send"},
		{"api-work", mail.Message{Text: "hi", ID: someID}, operator.Usage, "words and no more"},
		{"api-work", mail.Message{Text: "hi", Priority: record.PriorityInterrupt}, operator.Usage, "words and no more"},
		{"api-work", mail.Message{Text: "hi", Expires: time.Second}, operator.Usage, "words and no more"},
		{"api-work", mail.Message{Text: "hi", Want: mail.Acknowledged}, operator.Usage, "words and no more"},
		{"api-work", mail.Message{Text: "hi", As: "a b"}, operator.Usage, "a b"},
		{"other", mail.Message{Text: "hi"}, operator.NotFound, "no session other runs"},
	} {
		_, err := mail.Of(op).SendSession(t.Context(), c.to, c.m)
		operatortest.Fails(t, err, c.code, c.says)
	}
	sent, err := mail.Of(op).SendSession(t.Context(), "api-work", mail.Message{Text: "hi"})
	if err != nil || len(sent) != 1 || sent[0].State != mail.Failed || sent[0].To != "@api-work" {
		t.Fatalf("%+v, %v", sent, err)
	}
	operatortest.Fails(t, mail.Exit(sent), operator.Refused, "session api-work takes no messages")
	if said, err := mail.Of(op).Said(""); err != nil || len(said) != 0 {
		t.Errorf("%+v, %v", said, err)
	}
}

func TestSessionsAreCalledByTheirNames(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	if mail.Of(op).HasSession("api-work") {
		t.Error("without a client there is a session")
	}
	op.ClaudeDir = registerSession(t, "api-work")
	for what, want := range map[string]bool{"api-work": true, fmt.Sprint(os.Getpid()): true, "s-1": true, "api": false, "": false} {
		if mail.Of(op).HasSession(what) != want {
			t.Errorf("%q: %v", what, !want)
		}
	}
	of := mail.SessionsOf(op.ClaudeDir)
	if here, none := of(transport.Peer{PID: os.Getpid()}), of(transport.Peer{}); here != "@api-work" || none != "" {
		t.Errorf("%q, %q", here, none)
	}
}

// A message to a session is found by its id, with its outcome; its text is not kept.
func TestSaid(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.ClaudeDir = registerSession(t, "api-work")
	store := session.At(op.Home.Path, op.Minter.Now)
	rows := store.List(op.ClaudeDir, session.Looking(nil)).Called("api-work")
	if len(rows) != 1 {
		t.Fatalf("%+v", rows)
	}
	said := session.Said{MsgID: someID, SHA256: record.HashText("hi"), Bytes: 2, From: "operator", Socket: "/s", State: string(mail.Queued)}
	testenv.Must(t, store.BeginSaying(t.Context(), op.Writer(), rows[0], said))
	said.State, said.Detail = string(mail.Written), "read"
	testenv.Must(t, store.Say(t.Context(), op.Writer(), rows[0].ID, said))
	for _, id := range []string{someID, someID[:8]} {
		got, err := mail.Of(op).Said(id)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %+v, %v", id, got, err)
		}
		if m := got[0]; m.MsgID != someID || m.State != mail.Written || m.Detail != "read" || m.Session != string(rows[0].ID) || m.Bytes != 2 || m.SHA256 != said.SHA256 || m.At.IsZero() || m.Socket != "/s" || m.From != "operator" {
			t.Errorf("%+v", m)
		}
	}
	if got, err := mail.Of(op).Said(someID[:5]); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// host takes nothing.
type host struct{}

func (host) Take(context.Context, transport.Peer, protocol.Address, protocol.Envelope) (transport.Receipt, error) {
	return transport.Receipt{}, os.ErrPermission
}
func (host) Refused(context.Context, transport.Refusal) {}

// Addresses lists the sockets of a team at which a process answers.
func TestAddresses(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no Unix sockets with keys")
	}
	op := operatortest.New(t)
	run, err := os.MkdirTemp("", "w") // a socket's path is short
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(run) })
	op.RunDir = run
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	s := tm.State()
	if at, err := mail.Of(op).Addresses(s); err != nil || len(at) != 0 {
		t.Errorf("%v, %v", at, err)
	}
	_, err = mail.Of(op).SocketAddress(t.Context(), "api", protocol.Lead)
	operatortest.Fails(t, err, operator.NotFound, "no process of team api serves a socket for team-lead now")
	_, err = mail.Of(op).SocketAddress(t.Context(), "gone", protocol.Lead)
	operatortest.Fails(t, err, operator.NotFound, "gone")
	socket, err := transport.Listen(transport.SocketOptions{Dirs: s.Dir.Sockets(op.RunPath()), Name: transport.OperatorSocket, Team: "api", Host: host{}, Rand: rand.Reader, Now: op.Minter.Now})
	testenv.Must(t, err)
	if at, err := mail.Of(op).SocketAddress(t.Context(), "api", protocol.Lead); err != nil || at != "uds:"+socket.Path() {
		t.Errorf("%q, %v", at, err)
	}
	if at, err := mail.Of(op).Addresses(s); err != nil || len(at) != 1 || at[transport.OperatorSocket] != "uds:"+socket.Path() {
		t.Errorf("%v, %v", at, err)
	}
	testenv.Must(t, socket.Close())
	if at, err := mail.Of(op).Addresses(s); err != nil || len(at) != 0 {
		t.Errorf("%v, %v", at, err)
	}
}
