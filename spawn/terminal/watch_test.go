//go:build unix

package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

// events are what a watch has told.
type events struct {
	t    *testing.T
	mu   sync.Mutex
	all  []terminal.Event
	stop context.CancelFunc
	done chan error
}

func watch(t *testing.T, o terminal.WatchOptions) *events {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	e := &events{t: t, stop: stop, done: make(chan error, 1)}
	go func() {
		e.done <- terminal.Watch(ctx, o, func(one terminal.Event) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.all = append(e.all, one)
		})
	}()
	t.Cleanup(stop)
	return e
}

// took returns what was told so far, as words, and forgets it.
func (e *events) took() (words []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.all {
		words = append(words, strings.TrimSpace(string(one.What)+" "+one.Pane))
	}
	e.all = nil
	return words
}

// tells waits until exactly these events have been reported since the last call.
func (e *events) tells(want ...string) {
	e.t.Helper()
	var got []string
	spawntest.Await(e.t, fmt.Sprintf("%q, so far %q", want, got), func() bool {
		got = append(got, e.took()...)
		select {
		case err := <-e.done: // put back for ends
			e.done <- err
			if got = append(got, e.took()...); len(got) < len(want) {
				e.t.Fatalf("ended with %v after %q, not %q", err, got, want)
			}
		default:
		}
		return len(got) >= len(want)
	})
	if d := cmp.Diff(want, got); d != "" {
		e.t.Errorf("told (-want +got):\n%s", d)
	}
}

func (e *events) ends() error {
	e.t.Helper()
	var err error
	spawntest.Await(e.t, "the end of the watch", func() bool {
		select {
		case err = <-e.done:
			return true
		default:
			return false
		}
	})
	return err
}

func (s *server) watched() terminal.WatchOptions {
	return terminal.WatchOptions{Program: s.program, Env: s.env, Socket: s.socket, Server: s.identity()}
}

// Each event of a pane is reported once, in every session of the server, until it ends.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-n", "home", "-x", "180", "-y", "50")
	b := terminal.Tmux(s.options(terminal.TmuxOptions{Windows: true, Home: "%0"}))
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	one := p.Place().Pane.ID
	e := watch(t, s.watched())
	e.tells("opened %0", "opened "+one, "watching")
	q := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	two := q.Place().Pane.ID
	e.tells("opened " + two)
	spawntest.End(t, p.Identity())
	e.tells("exited " + one)
	s.run("respawn-pane", "-t", one, "sleep 60")
	e.tells("opened " + one)
	s.run("rename-window", "-t", two, "new name") // and what moves is no event
	s.run("join-pane", "-d", "-s", two, "-t", one)
	s.run("new-session", "-d", "-s", "other", "-n", "other", "-x", "80", "-y", "20")
	e.tells("opened %3")
	s.run("move-window", "-s", one, "-t", "other:7")
	s.run("kill-pane", "-t", one) // the person closes one, then its window
	e.tells("closed " + one)
	s.run("kill-window", "-t", two)
	e.tells("closed " + two)
	spawntest.Wait(t, q)
	s.run("kill-session", "-t", "mine") // where the watch is attached
	e.tells("closed %0")
	s.run("new-window", "-d", "-t", "other:", "-n", "last")
	e.tells("opened %4")
	s.run("kill-server")
	e.tells("gone")
	if err := e.ends(); err != nil {
		t.Errorf("the watch of a server that has ended: %v", err)
	}
}

// A watch has no visible effect: the person's window keeps its size, their session its environment,
// and no client is left.
func TestWatchUnnoticed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-n", "home", "-x", "180", "-y", "50")
	s.run("set-option", "-g", "window-size", "smallest")
	person := exec.Command(s.program, "-u", "-S", s.socket, "attach-session")
	person.Env = append(slices.Clone(s.env), "TERM=xterm")
	tty, err := pty.StartWithSize(person, &pty.Winsize{Cols: 133, Rows: 44})
	testenv.Must(t, err)
	go func() { _, _ = tty.WriteTo(discard{}) }()
	t.Cleanup(func() {
		_ = person.Process.Kill()
		_ = person.Wait()
		_ = tty.Close()
	})
	clients := func() []string {
		return strings.Fields(s.run("list-clients", "-F", "#{client_control_mode}"))
	}
	spawntest.Await(t, "the person", func() bool { return len(clients()) == 1 })
	state := func() string {
		return s.run("list-windows", "-a", "-F", "#{window_id} #{window_width}x#{window_height} #{window_layout}") + "\n" +
			s.run("show-environment", "-t", "mine") + "\n" + s.run("list-sessions", "-F", "#{session_name} #{session_windows}")
	}
	before := state()
	o := s.watched()
	o.Env = append(slices.Clone(o.Env), "DISPLAY=:77", "TMUX="+s.socket+",1,0")
	e := watch(t, o)
	e.tells("opened %0", "watching")
	if got := clients(); !slices.Equal(got, []string{"0", "1"}) && !slices.Equal(got, []string{"1", "0"}) {
		t.Errorf("clients in control mode: %v", got)
	}
	if now := state(); now != before {
		t.Errorf("before:\n%s\nwatched:\n%s", before, now)
	}
	e.stop()
	if err := e.ends(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	spawntest.Await(t, "no client left", func() bool { return slices.Equal(clients(), []string{"0"}) })
	if now := state(); now != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, now)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// Another run of tmux at the same socket, with panes of the same ids, is not the
// server that was asked for; none is started.
func TestWatchOtherServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine")
	o := s.watched()
	s.run("kill-server")
	spawntest.Await(t, "the server's end", func() bool { return !o.Server.Alive() })
	e := watch(t, o)
	e.tells("gone")
	testenv.Must(t, e.ends())
	if out, err := s.try("list-sessions"); err == nil {
		t.Errorf("a server was started: %s", out)
	}
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine")
	e = watch(t, o)
	e.tells("gone")
	testenv.Must(t, e.ends())
}

// A session that ends when its last client leaves is not made to end by our leaving,
// and a session of ours does not end for that; our server ends with its last session.
func TestWatchLetsSessionsLive(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	conf := filepath.Join(filepath.Dir(s.socket), ".tmux.conf")
	testenv.Must(t, os.WriteFile(conf, []byte("set -g destroy-unattached on\nset -s exit-unattached on\nset -s exit-empty off\n"), 0o600))
	p := spawntest.Start(t, terminal.Tmux(s.options(terminal.TmuxOptions{})), spawntest.Spec(t, spawntest.ModeBlock))
	e := watch(t, s.watched())
	e.tells("opened %0", "watching")
	e.stop()
	if err := e.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	spawntest.Await(t, "no client left", func() bool { return s.run("list-clients") == "" })
	if !p.Identity().Alive() || s.run("list-sessions", "-F", "#{session_name}") != "waggle-test" {
		t.Error("the session did not live")
	}
	if _, err := p.Stop(t.Context(), spawn.Grace{}); err != nil {
		t.Error(err)
	}
	_, _ = s.try("kill-session", "-t", "waggle-test") // it may have ended with its pane
	spawntest.Await(t, "no server without sessions", func() bool { _, err := s.try("list-sessions"); return err != nil })
}

// Output of a later tmux does no harm: unknown notifications, a line without end, an answer to a
// command that was not sent. A refused command is an error.
func TestWatchStrangeTmux(t *testing.T) {
	t.Parallel()
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	fake := func(attached, answer string) terminal.WatchOptions {
		t.Helper()
		dir := t.TempDir()
		script := `#!/bin/sh
case "$*" in *list-sessions*) echo '$0 ` + attached + ` ` + strconv.Itoa(self.PID) + `'; exit;; esac
printf '%%begin 1 1 0\n%%end 1 1 0\n%%what-is-this %%9\n\n%%end of nothing\n'
head -c 3000000 /dev/zero | tr '\0' x; echo
n=1
while read -r line; do
	n=$((n+1))
	echo "%begin 1 $n 1"
	case "$line" in list-panes*) ` + answer + `;; *) echo "%end"; echo "%begin 1 1 1";; esac
	echo "%end 1 $n 1"
done
`
		program := filepath.Join(dir, "tmux")
		testenv.Must(t, testenv.Executable(program, []byte(script)))
		return terminal.WatchOptions{Program: program, Env: []string{"PATH=" + os.Getenv("PATH")}, Socket: "/nowhere", Server: self}
	}
	good := "echo 'waggle-pane " + strconv.Itoa(self.PID) + " %0 0'"
	e := watch(t, fake("1 on", good))
	e.tells("opened %0", "watching")
	e.stop()
	if err := e.ends(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := watch(t, fake("0 on", good)).ends(); err == nil || !strings.Contains(err.Error(), "last client") {
		t.Errorf("watched: %v", err)
	}
	for answer, want := range map[string]string{
		`echo no; echo "%error 1 $n 1"`: "tmux: no",
		"echo 'waggle-pane x'":          "of a pane",
		"while :; do echo 'waggle-pane 1 %0 0 @0 $0:0 aaaaaaaaaaaaaa'; done": "does not end",
	} {
		if err := watch(t, fake("0 off", answer)).ends(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
}
