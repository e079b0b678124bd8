package terminal_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

// view is an attached viewer, who types what is sent to them.
type view struct {
	screen testenv.Buffer
	keys   *io.PipeWriter
	done   chan error
}

func (v *view) has(text string) func() bool {
	return func() bool { return strings.Contains(v.screen.String(), text) }
}

func attach(t *testing.T, p *spawn.Process, o terminal.Screen) *view {
	t.Helper()
	in, keys := io.Pipe()
	v := &view{keys: keys, done: make(chan error, 1)}
	o.In, o.Out = in, &v.screen
	socket := p.Place().Socket
	spawntest.Await(t, "the socket", func() bool { _, err := os.Stat(socket); return err == nil })
	go func() { v.done <- terminal.Attach(t.Context(), socket, o) }()
	t.Cleanup(func() { _ = keys.Close() })
	return v
}

func (v *view) types(t *testing.T, keys string) {
	t.Helper()
	_, err := io.WriteString(v.keys, keys)
	testenv.Must(t, err)
}

func (v *view) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-v.done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("still attached")
		return nil
	}
}

// Two viewers see the same terminal with its recent output; both see what one types; one leaves,
// and the process runs until its input ends.
func TestAttach(t *testing.T) {
	t.Parallel()
	p := spawntest.Start(t, terminal.Process(options(t)), spawntest.Spec(t, spawntest.ModeCat))
	one := attach(t, p, terminal.Screen{})
	one.types(t, "hello\r")
	spawntest.Await(t, "the echo and the copy", one.has("hello\r\nhello\r\n"))
	two := attach(t, p, terminal.Screen{})
	spawntest.Await(t, "the past", two.has("hello\r\nhello\r\n"))
	two.types(t, "again\r")
	spawntest.Await(t, "what the other typed", one.has("again\r\nagain\r\n"))
	two.types(t, string([]byte{'x', terminal.Detach, 'y'}))
	if err := two.end(t); !errors.Is(err, terminal.ErrDetached) {
		t.Errorf("detached: %v", err)
	}
	if !p.Identity().Alive() {
		t.Fatal("the process ended when somebody left")
	}
	one.types(t, "\r\x04") // ends the half line, then the input
	if err := one.end(t); err != nil {
		t.Errorf("the process ended: %v", err)
	}
	if e := spawntest.Wait(t, p); e.Code != 0 {
		t.Errorf("%+v", e)
	}
	if one.has("y\r\n")() {
		t.Error("what was typed after leaving arrived")
	}
	if err := terminal.Attach(t.Context(), p.Place().Socket, terminal.Screen{Out: io.Discard}); err == nil {
		t.Error("attached to a process that has ended")
	}
}

// CloseInput ends the input once: a process that reads lines to their end ends, one that does not
// read continues, and one that reads single keys is refused.
func TestCloseInput(t *testing.T) {
	t.Parallel()
	b := terminal.Process(options(t))
	read := func(log, text string) {
		t.Helper()
		spawntest.Await(t, text, func() bool {
			b, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(b), text)
		})
	}
	cat := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeCat))
	testenv.Must(t, terminal.CloseInput(t.Context(), cat.Place()))
	if e := spawntest.Wait(t, cat); e != (spawn.Exit{}) {
		t.Errorf("who reads to the end: %+v", e)
	}
	if err := terminal.CloseInput(t.Context(), cat.Place()); err == nil {
		t.Error("closed the input of a process that has ended")
	}

	spec := spawntest.Spec(t, spawntest.ModeBlock)
	deaf := spawntest.Start(t, b, spec)
	for range 2 {
		testenv.Must(t, terminal.CloseInput(t.Context(), deaf.Place()))
	}

	spec = spawntest.Spec(t, spawntest.ModeBlock)
	script := "read line; echo \"got $line\"; read line || echo end; stty -icanon; echo keys; sleep 60"
	spec.Argv, spec.Env = []string{"/bin/sh", "-c", script}, []string{"PATH=" + os.Getenv("PATH")}
	sh := spawntest.Start(t, b, spec)
	v := attach(t, sh, terminal.Screen{})
	v.types(t, "words\r")
	read(spec.Log, "got words")
	testenv.Must(t, terminal.CloseInput(t.Context(), sh.Place()))
	read(spec.Log, "keys")
	read(spec.Log, "end")
	if err := terminal.CloseInput(t.Context(), sh.Place()); !errors.Is(err, terminal.ErrNoLines) {
		t.Errorf("of who reads keys: %v", err)
	}
	if !deaf.Identity().Alive() {
		t.Error("who does not read ended")
	}
	if err := terminal.CloseInput(t.Context(), spawn.Place{}); err == nil {
		t.Error("closed the input of a process without a terminal")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := terminal.CloseInput(ctx, deaf.Place()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
}

// A screen's size is the terminal's.
func TestAttachSize(t *testing.T) {
	t.Parallel()
	spec := spawntest.Spec(t, spawntest.ModeBlock)
	spec.Argv, spec.Env = []string{"/bin/sh", "-c", "while stty size; do sleep 0.05; done"}, []string{"PATH=" + os.Getenv("PATH")}
	p := spawntest.Start(t, terminal.Process(options(t)), spec)
	spawntest.Await(t, "the first size", func() bool {
		b, err := os.ReadFile(spec.Log)
		return err == nil && strings.Contains(string(b), "40 120\n")
	})
	resized := make(chan terminal.Size)
	v := attach(t, p, terminal.Screen{Size: terminal.Size{Cols: 33, Rows: 11}, Resized: resized})
	spawntest.Await(t, "the screen's size", v.has("11 33"))
	resized <- terminal.Size{Cols: 44, Rows: 22}
	spawntest.Await(t, "the new size", v.has("22 44"))
}

// A viewer that does not read delays no one.
func TestAttachStuck(t *testing.T) {
	t.Parallel()
	spec := spawntest.Spec(t, spawntest.ModeFlood, "8000000")
	p := spawntest.Start(t, terminal.Process(options(t)), spec)
	stuck := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- terminal.Attach(ctx, p.Place().Socket, terminal.Screen{Out: writer(func(b []byte) (int, error) {
			<-stuck
			return len(b), nil
		})})
	}()
	if e := spawntest.Wait(t, p); e.Code != 0 {
		t.Errorf("%+v", e)
	}
	close(stuck)
	cancel()
	<-done
	if fi, err := os.Stat(spec.Log); err != nil || fi.Size() < 8000000 {
		t.Errorf("the log has %v, %v", fi, err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestProcessBackend(t *testing.T) {
	t.Parallel()
	spawntest.TestBackend(t, terminal.Process(options(t)))
}
