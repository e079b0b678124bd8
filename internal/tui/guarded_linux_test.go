package tui_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waggle/internal/ask"
	"waggle/internal/tui"
)

// TestPanic: when what the screen runs beside the keys panics, the terminal is as it was before, and the panic goes on.
func TestPanic(t *testing.T) {
	far, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(far.Close(), tty.Close()); err != nil {
			t.Error(err)
		}
	}()
	modes := func() unix.Termios {
		m, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	before := modes()
	func() {
		defer func() {
			if p := recover(); p != "trouble" {
				t.Errorf("recovered %v", p)
			}
		}()
		tui.Guarded(t, tty, func() {
			if modes() == before {
				t.Error("the screen has not begun")
			}
			panic("trouble")
		})
	}()
	if after := modes(); after != before {
		t.Errorf("modes %+v, want %+v", after, before)
	}
	told := make([]byte, 4096)
	if n, err := far.Read(told); err != nil || !bytes.HasSuffix(told[:n], []byte(ask.ScreenOff)) {
		t.Errorf("the terminal was told %q, %v", told[:n], err)
	}
}
