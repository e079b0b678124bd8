package tui_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waggle/internal/face/ask"
	"waggle/internal/face/tui"
	"waggle/internal/test/testenv"
)

// TestPanic: when what the screen runs beside the keys panics, the terminal is as it was before, and the panic goes on.
func TestPanic(t *testing.T) {
	far, tty, err := pty.Open()
	testenv.Must(t, err)
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	}()
	modes := func() unix.Termios {
		m, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		testenv.Must(t, err)
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
	testenv.Must(t, tty.Close())
	told, err := io.ReadAll(far) // EIO: all was read, and nobody writes
	if !errors.Is(err, unix.EIO) || !bytes.HasSuffix(told, []byte(ask.ScreenOff)) {
		t.Errorf("the terminal was told %q, %v", told, err)
	}
}

// TestTakeFails: what a client that failed has written stays until Enter, and no longer than the screen: a signal ends both.
func TestTakeFails(t *testing.T) {
	testenv.Long(t)
	for _, how := range []string{"enter", "signal"} {
		t.Run(how, func(t *testing.T) {
			far, tty, err := pty.Open()
			testenv.Must(t, err)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- tui.Lend(ctx, tty, exec.Command("sh", "-c", "echo no such session; exit 4")) }()
			var told strings.Builder
			for buf := make([]byte, 4096); !strings.Contains(told.String(), "Enter goes back to the screen"); {
				n, err := far.Read(buf)
				testenv.Must(t, err)
				told.Write(buf[:n])
			}
			if !strings.Contains(told.String(), "no such session") || len(ended) > 0 {
				t.Errorf("ended %d: %q", len(ended), told.String())
			}
			if how == "signal" {
				stop()
			} else if _, err := far.WriteString("\r"); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "it goes on", func() bool { return len(ended) > 0 })
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "exit status 4") {
				t.Error(err)
			}
			_ = errors.Join(tty.Close(), far.Close()) // the read that a signal leaves ends with them
		})
	}
}
