//go:build unix

package pane_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"waggle/internal/face/pane"
	"waggle/internal/test/testenv"
	"waggle/spawn"
)

// direct runs programs as spawn does.
type direct struct{}

func (direct) Run(ctx context.Context, c spawn.Command) (spawn.Exit, error) { return c.Run(ctx) }

// terminal is a terminal whose other side the test has.
func terminal(t *testing.T) (ours *os.File, theirs *os.File, shown func() string) {
	t.Helper()
	ours, theirs, err := pty.Open()
	testenv.Must(t, err)
	var mu sync.Mutex
	var out bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 1024)
		for {
			n, err := ours.Read(buf)
			mu.Lock()
			out.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		theirs.Close()
		_, _ = io.WriteString(ours, "\r") // whoever reads keys sees that it is closed
		wg.Wait()
		ours.Close()
	})
	return ours, theirs, func() string { mu.Lock(); defer mu.Unlock(); return out.String() }
}

// A program has a terminal of its own, of the size of ours: it gets the typed keys, and its output is
// shown and known. After its end the next program has a terminal.
func TestRun(t *testing.T) {
	ours, theirs, shown := terminal(t)
	testenv.Must(t, pty.Setsize(ours, &pty.Winsize{Cols: 90, Rows: 20}))
	p := pane.New(theirs, theirs)
	for _, word := range []string{"first", "second"} {
		_, before := p.Shown()
		ended := make(chan spawn.Exit, 1)
		go func() {
			exit, err := p.Run(t.Context(), direct{}, spawn.Command{Argv: []string{"/bin/sh", "-c", "stty size </dev/tty; echo ready; read word; echo got $word; exit 7"},
				Env: os.Environ()})
			if err != nil {
				t.Error(err)
			}
			ended <- exit
		}()
		testenv.Eventually(t, "it is ready", func() bool {
			lines, wrote := p.Shown()
			return wrote > before && strings.Contains(strings.Join(lines, "\n"), "ready")
		})
		if _, err := io.WriteString(ours, word+"\r"); err != nil {
			t.Fatal(err)
		}
		if exit := <-ended; exit.Code != 7 {
			t.Errorf("it ends with %+v", exit)
		}
		lines, wrote := p.Shown()
		if all := strings.Join(lines, "\n"); !strings.Contains(all, "20 90") || !strings.Contains(all, "got "+word) || wrote == 0 {
			t.Errorf("it shows %q", all)
		}
	}
	testenv.Eventually(t, "the pane shows both", func() bool { return strings.Contains(shown(), "got first") && strings.Contains(shown(), "got second") })
}

// The end of the context ends the program and the processes that it started.
func TestRunEnded(t *testing.T) {
	_, theirs, _ := terminal(t)
	p := pane.New(theirs, theirs)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Run(ctx, direct{}, spawn.Command{Argv: []string{"/bin/sh", "-c", "echo ready; sleep 1000"}, Env: os.Environ(), Grace: spawn.Grace{Term: time.Second, Kill: time.Second}})
		ended <- err
	}()
	testenv.Eventually(t, "it is ready", func() bool { lines, _ := p.Shown(); return len(lines) > 0 })
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("the end is %v", err)
	}
}

// A process that a program leaves running on its terminal does not delay its end.
func TestRunLeft(t *testing.T) {
	_, theirs, _ := terminal(t)
	p := pane.New(theirs, theirs)
	left := filepath.Join(t.TempDir(), "left")
	exit, err := p.Run(t.Context(), direct{}, spawn.Command{Argv: []string{"/bin/sh", "-c", "trap '' HUP; setsid sleep 1000 & echo $! >" + left + "; exit 3"}, Env: os.Environ()})
	if err != nil || exit.Code != 3 {
		t.Errorf("%+v, %v", exit, err)
	}
	b, err := os.ReadFile(left)
	testenv.Must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	testenv.Must(t, err)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("what it left has ended before: %v", err)
	}
}
