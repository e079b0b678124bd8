//go:build unix

package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/caught"
	"waggle/internal/test/testenv"
	"waggle/protocol"
	"waggle/transport"
)

// listenAt serves each connection of a new socket with serve, and returns the path.
func listenAt(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(shortDir(t), "s.sock")
	l, err := net.Listen("unix", path)
	testenv.Must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
	return path
}

// TestListener: a program that is not waggle's gets the one frame without a token, in a directory that others may
// read, and its first line is the answer.
func TestListener(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 10)
	read := func(c net.Conn) {
		line, _ := bufio.NewReader(c).ReadString('\n')
		lines <- line
	}
	by := transport.Speaker{Name: "operator"}
	say := func(path, text string) (string, bool, error) {
		return transport.Listener(path).Say(t.Context(), by, "id-1", text)
	}
	kept := make(chan net.Conn, 1)
	for name, c := range map[string]struct {
		serve  func(net.Conn)
		answer string
		heard  bool
	}{
		"one line":           {func(c net.Conn) { read(c); fmt.Fprintln(c, `{"ok":true}`) }, `{"ok":true}`, true},
		"a line without end": {func(c net.Conn) { read(c); fmt.Fprint(c, "thanks") }, "thanks", true},
		"no answer":          {read, "", true},
		"a long answer":      {func(c net.Conn) { read(c); fmt.Fprint(c, strings.Repeat("x", 10_000)) }, strings.Repeat("x", 4<<10), true},
	} {
		path := listenAt(t, c.serve)
		testenv.Must(t, os.Chmod(filepath.Dir(path), 0o755))
		answer, heard, err := say(path, "hello")
		if err != nil || answer != c.answer || heard != c.heard {
			t.Errorf("%s: %.40q, heard %t, %v", name, answer, heard, err)
		}
		if l := <-lines; !strings.HasPrefix(l, `{"msgV":1,"msg_id":"id-1","type":"user","message":{"role":"user","content":"<cross-session-message`) || !strings.Contains(l, "hello") {
			t.Errorf("%s got %s", name, l)
		}
	}
	silent := listenAt(t, func(c net.Conn) { read(c); kept <- c; c.Read(make([]byte, 1)) }) // returns when Say hangs up
	if answer, heard, err := say(silent, "hello"); err != nil || answer != "" {
		t.Errorf("silent: %q, heard %t, %v", answer, heard, err)
	}
	// A listener that hangs up without reading may not have the words: that is an error.
	early := listenAt(t, func(net.Conn) {})
	if _, heard, err := say(early, strings.Repeat("x", 900_000)); err == nil || heard {
		t.Errorf("hung up early: heard %t, %v", heard, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	testenv.Must(t, os.WriteFile(file, nil, 0o600))
	if _, _, err := say(file, "x"); !errors.As(err, new(*transport.NotSocketError)) {
		t.Errorf("a file: %v", err)
	}
	var missing *transport.NotFoundError
	if _, _, err := say(file+"-none", "x"); !errors.As(err, &missing) {
		t.Errorf("nothing: %v", err)
	}
	dead := deadSocket(t, filepath.Join(filepath.Dir(early), "dead.sock"))
	if _, _, err := say(dead, "x"); !errors.As(err, &missing) || missing.Hint == "" {
		t.Errorf("a dead socket: %v", err)
	}
}

// TestWordsEnd: a client that waits for the end of its connection, without ending its own side, gets it once its words
// are in the mailbox; after a frame without words the connection stays.
func TestWordsEnd(t *testing.T) {
	t.Parallel()
	p, h := newDirs(t), newHost("ann")
	s := serveWho(t, p, "ann", h, nil)
	c := connect(t, s.Path())
	c.c.SetReadDeadline(time.Now().Add(deadline))
	c.say(`{"type":"auth","token":"x"}`)
	c.say(frame(t, "m1", "one"))
	c.say(frame(t, "m2", "two"))
	if _, err := c.r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("not closed: %v", err)
	}
	if n := len(h.entries(t, "ann")); n != 2 {
		t.Errorf("%d messages, want 2", n)
	}
	c = connect(t, s.Path())
	c.say(`{"type":"auth","token":"x"}`)
	c.c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := c.r.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("closed before any words: %v", err)
	}
}

// deadSocket makes a socket on which no process listens.
func deadSocket(t *testing.T, path string) string {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	testenv.Must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
	return path
}

// TestDead: the socket of a program that was killed is found and removed with its key; a socket
// with a listener, and a file that is not a socket, stay.
func TestDead(t *testing.T) {
	t.Parallel()
	p := newDirs(t)
	s := serve(t, p, "ann", newHost("ann"))
	killed := deadSocket(t, p.Path("bob"))
	file := p.Path("eve")
	for _, f := range []string{file, filepath.Join(p.Keys, "bob.json")} {
		testenv.Must(t, os.WriteFile(f, []byte("{}"), 0o600))
	}
	// A program that another test starts has a copy of the listener until its exec.
	testenv.Eventually(t, "only the socket of the killed program is dead", func() bool {
		dead, err := p.Dead()
		testenv.Must(t, err)
		return slices.Equal(dead, []string{killed})
	})
	for path, want := range map[string]bool{killed: true, s.Path(): false, file: false} {
		if got, err := p.RemoveDead(path); got != want || err != nil {
			t.Errorf("remove %s: %v, %v", path, got, err)
		}
	}
	if got, err := p.RemoveDead(killed); got || err != nil {
		t.Errorf("again: %v, %v", got, err)
	}
	for path, want := range map[string]bool{killed: false, filepath.Join(p.Keys, "bob.json"): false, s.Path(): true, filepath.Join(p.Keys, "ann.json"): true, file: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if dead, err := (transport.SocketDirs{Dir: filepath.Join(p.Dir, "none"), Keys: p.Keys}).Dead(); err != nil || len(dead) > 0 {
		t.Errorf("no directory: %q, %v", dead, err)
	}
}

// tripping is a host that panics over a message.
type tripping struct{ *host }

func (tripping) Take(context.Context, transport.Peer, protocol.Address, protocol.Envelope) (transport.Receipt, error) {
	panic("tripped")
}

// TestSocketPanics: a panic over a message ends the serving, with the reason, and not the program.
func TestSocketPanics(t *testing.T) {
	t.Parallel()
	p := newDirs(t)
	s, err := transport.Listen(options(p, "ann", tripping{newHost("ann")}))
	testenv.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	c := dial(t, p, s)
	if _, err := c.Send(t.Context(), protocol.Address{}, message("m1", "x")); err == nil {
		t.Error("it was taken")
	}
	select {
	case err := <-served:
		if p := caught.Of(err); p == nil || p.Value != "tripped" {
			t.Errorf("serving ended with %v", err)
		}
	case <-time.After(deadline):
		t.Fatal("it serves on")
	}
	testenv.Must(t, s.Close())
}
