package terminal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/spawn"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

// server is a tmux server of the test, or where one will be.
type server struct {
	t               testing.TB
	program, socket string
	env             []string
}

func newServer(t testing.TB) *server {
	t.Helper()
	program := testenv.Require(t, "tmux")
	dir := shortDir(t)
	s := &server{t, program, filepath.Join(dir, "s"), []string{"PATH=" + os.Getenv("PATH"), "TERM=screen", "HOME=" + dir}}
	t.Cleanup(func() { _, _ = s.try("kill-server") })
	return s
}

func (s *server) try(args ...string) (string, error) {
	cmd := exec.Command(s.program, append([]string{"-u", "-S", s.socket}, args...)...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s *server) run(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	// The server that was to end may end before it answers.
	if err != nil && !(strings.HasPrefix(args[0], "kill-") && strings.Contains(out, "server exited")) {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return out
}

// panes are the ids of all panes.
func (s *server) panes() []string {
	s.t.Helper()
	return strings.Fields(s.run("list-panes", "-a", "-F", "#{pane_id}"))
}

func (s *server) identity() spawn.Identity {
	s.t.Helper()
	pid, err := strconv.Atoi(s.run("display-message", "-p", "#{pid}"))
	testenv.Must(s.t, err)
	id, err := spawn.Identify(pid)
	testenv.Must(s.t, err)
	return id
}

// held is what is known of a process that was started in a directory.
func held(t testing.TB, dir string, p *spawn.Process) *terminal.Held {
	t.Helper()
	list, err := terminal.List(dir)
	testenv.Must(t, err)
	for _, h := range list {
		if h.Process == p.Identity() {
			return &h
		}
	}
	return nil
}

func (s *server) options(o terminal.TmuxOptions) terminal.TmuxOptions {
	o.Options, o.Program, o.Socket, o.Env = options(s.t), s.program, s.socket, s.env
	if o.Session == "" {
		o.Session = "waggle-test"
	}
	return o
}

func TestTmuxBackend(t *testing.T) {
	t.Parallel()
	spawntest.TestBackend(t, terminal.Tmux(newServer(t).options(terminal.TmuxOptions{})))
}

func TestTmuxWindows(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := terminal.Tmux(s.options(terminal.TmuxOptions{Windows: true}))
	for _, name := range []string{"ann", "bob"} {
		spec := spawntest.Spec(t, spawntest.ModeBlock)
		spec.Title = name
		spawntest.Start(t, b, spec)
	}
	if got := s.run("list-windows", "-a", "-F", "#{session_name} #{window_panes}"); got != "waggle-test 1\nwaggle-test 1" {
		t.Errorf("windows:\n%s", got)
	}
}

// Inside tmux, as a person starts it: panes beside theirs, titled and coloured; one
// is closed, and only that one; when all are, everything is as it was.
func TestTmuxInside(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "180", "-y", "50")
	s.run("new-window", "-d", "-t", "mine", "-n", "other")
	home := s.run("display-message", "-p", "-t", "mine:0", "#{pane_id}")
	before := s.run("list-panes", "-a", "-F", "#{session_name} #{window_id} #{pane_id} #{pane_width}x#{pane_height} #{pane-border-status} #{pane-border-format} #{main-pane-width}")
	o := s.options(terminal.TmuxOptions{Home: home, Session: "api"})
	b := terminal.Tmux(o)
	colors := []string{"red", "blue", "green", "magenta"}
	var ps []*spawn.Process
	for i, name := range []string{"ann", "bob", "cleo", "dora"} {
		spec := spawntest.Spec(t, spawntest.ModePolite)
		spec.Title, spec.Color = name, colors[i]
		ps = append(ps, spawntest.Start(t, b, spec))
	}
	if got := s.run("list-panes", "-t", home, "-F", "#{@waggle-name} #{pane_left}"); got != "0\nann 81\nbob 81\ncleo 81\ndora 81" {
		t.Errorf("names and left edges of the panes, top to bottom:\n%s", got)
	}
	for i, p := range ps {
		id := p.Place().Pane.ID
		want := []string{"ann", "bob", "cleo", "dora"}[i]
		want = want + " | #[fg=" + colors[i] + "] " + want + " #[default]"
		if got := s.run("display-message", "-p", "-t", id, "#{pane_title} | #{E:pane-border-format}"); got != want {
			t.Errorf("pane %s has the title and border %q, want %q", id, got, want)
		}
		testenv.Must(t, terminal.TmuxState(t.Context(), "tmux", os.Environ(), *p.Place().Pane, "needs #{you}"))
		want = strings.Replace(want, " #[default]", ": needs _{you} #[default]", 1)
		if got := s.run("display-message", "-p", "-t", id, "#{pane_title} | #{E:pane-border-format}"); got != want {
			t.Errorf("pane %s has with its state %q, want %q", id, got, want)
		}
	}
	if st := s.run("show-options", "-wv", "-t", home, "pane-border-status"); st != "top" {
		t.Errorf("titles are not shown: %s", st)
	}

	close := func(p *spawn.Process) {
		t.Helper()
		if h := held(t, o.Dir, p); h == nil || h.Gone() {
			t.Fatalf("%+v of a process that runs", h)
		} else if err := h.Close(t.Context(), s.program, s.env); err == nil {
			t.Fatal("closed while it runs")
		}
		spawntest.End(t, p.Identity())
		spawntest.Wait(t, p)
		h := held(t, o.Dir, p)
		if h == nil || !h.Gone() || !h.Ended {
			t.Fatalf("%+v of a process that has ended", h)
		}
		testenv.Must(t, h.Close(t.Context(), s.program, s.env))
		if held(t, o.Dir, p) != nil {
			t.Error("it is not forgotten")
		}
	}
	all := s.panes()
	close(ps[1])
	want := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == ps[1].Place().Pane.ID })
	if got := s.panes(); !slices.Equal(got, want) {
		t.Errorf("panes %v, want %v", got, want)
	}
	// A second close, or one with another id, does nothing.
	at := func(pane string) spawn.Place {
		place := ps[1].Place()
		other := *place.Pane
		other.ID = pane
		place.Pane = &other
		return place
	}
	for _, p := range []spawn.Place{ps[1].Place(), at(home), at(ps[0].Place().Pane.ID)} {
		testenv.Must(t, terminal.ClosePane(t.Context(), s.program, s.env, p))
	}
	if got := s.panes(); !slices.Equal(got, want) {
		t.Errorf("panes %v, want %v", got, want)
	}
	for _, i := range []int{0, 2, 3} {
		close(ps[i])
	}
	if after := s.run("list-panes", "-a", "-F", "#{session_name} #{window_id} #{pane_id} #{pane_width}x#{pane_height} #{pane-border-status} #{pane-border-format} #{main-pane-width}"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// A window that the person has split stays as it is: members get their own.
func TestTmuxSplitHome(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", "180", "-y", "50")
	s.run("split-window", "-d", "-t", "mine")
	home := s.run("display-message", "-p", "-t", "mine:0", "#{pane_id}")
	layout := s.run("display-message", "-p", "-t", home, "#{window_layout}")
	b := terminal.Tmux(s.options(terminal.TmuxOptions{Home: home, Session: "api"}))
	for range 2 {
		spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	}
	if now := s.run("display-message", "-p", "-t", home, "#{window_layout}"); now != layout {
		t.Errorf("the person's window changed from %s to %s", layout, now)
	}
	if got := s.run("list-windows", "-a", "-F", "#{window_panes}"); got != "2\n2" {
		t.Errorf("panes by window: %s", got)
	}
}

// A pane stays when its process ends, with what it said; and closing it ends the
// process.
func TestTmuxEnds(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	b := terminal.Tmux(s.options(terminal.TmuxOptions{}))
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeExit, "7"))
	if e := spawntest.Wait(t, p); e.Code != 7 {
		t.Errorf("%+v, want code 7", e)
	}
	spawntest.Await(t, "a pane that stayed", func() bool {
		return s.run("display-message", "-p", "-t", p.Place().Pane.ID, "#{pane_dead}") == "1"
	})
	q := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	s.run("kill-pane", "-t", q.Place().Pane.ID)
	spawntest.Wait(t, q)
	if q.Identity().Alive() {
		t.Error("the process outlived its pane")
	}
}

// However many start at once, each gets a pane, in more windows than one when they
// no longer fit.
func TestTmuxMany(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := newServer(t)
	b := terminal.Tmux(s.options(terminal.TmuxOptions{}))
	n := testenv.Scale(12, 24)
	errs := make(chan error, n)
	for i := range n {
		spec := spawntest.Spec(t, spawntest.ModeBlock)
		spec.Title = "m" + strconv.Itoa(i)
		go func() {
			p, err := b.Start(t.Context(), spec)
			if err == nil {
				t.Cleanup(func() { spawntest.End(t, p.Identity()); <-p.Done() })
			}
			errs <- err
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := len(s.panes()); got != n {
		t.Errorf("%d panes, want %d", got, n)
	}
}

// TestTmuxFits: the pane beside which members are shown keeps 80 columns and 20 rows; where that is
// not possible, TmuxFits reports it before a start.
func TestTmuxFits(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, c := range []struct {
		width, height int
		fits          bool
	}{{121, 21, true}, {120, 50, false}, {200, 20, false}, {300, 60, true}} {
		s := newServer(t)
		s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "-x", strconv.Itoa(c.width), "-y", strconv.Itoa(c.height))
		s.run("set-option", "-g", "status", "off")
		s.run("resize-window", "-t", "mine", "-x", strconv.Itoa(c.width), "-y", strconv.Itoa(c.height))
		home := s.run("display-message", "-p", "-t", "mine:0", "#{pane_id}")
		o := s.options(terminal.TmuxOptions{Home: home, Session: "api"})
		env := append(slices.Clone(o.Env), "TMUX="+s.socket+","+strconv.Itoa(s.identity().PID)+",0", "TMUX_PANE="+home)
		for _, when := range []string{"alone", "beside one"} {
			if fits, err := terminal.TmuxFits(t.Context(), s.program, env); fits != c.fits || err != nil {
				t.Errorf("%dx%d, %s: %v, %v", c.width, c.height, when, fits, err)
			}
			spawntest.Start(t, terminal.Tmux(o), spawntest.Spec(t, spawntest.ModeBlock))
			var w, h int
			if _, err := fmt.Sscan(s.run("display-message", "-p", "-t", home, "#{pane_width} #{pane_height}"), &w, &h); err != nil {
				t.Fatal(err)
			}
			if c.fits && (w < 80 || h < 20) {
				t.Errorf("%dx%d, %s: the home pane has %dx%d", c.width, c.height, when, w, h)
			}
			if !c.fits {
				break
			}
		}
	}
}

// When the home pane is gone members get panes in its session; when its server is gone, or another
// one runs there, that is an error.
func TestTmuxHomeGone(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "other")
	s.run("new-session", "-d", "-s", "mine", "-x", "180", "-y", "50")
	s.run("new-window", "-d", "-t", "mine")
	home := s.run("display-message", "-p", "-t", "mine:1", "#{pane_id}")
	session := strings.TrimPrefix(s.run("display-message", "-p", "-t", "mine", "#{session_id}"), "$")
	s.run("new-session", "-d", "-s", "third")
	o := s.options(terminal.TmuxOptions{Home: home, Session: "api"})
	o.Env = append(slices.Clone(o.Env), "TMUX="+s.socket+","+strconv.Itoa(s.identity().PID)+","+session, "TMUX_PANE="+home)
	testenv.Must(t, terminal.TmuxHere(t.Context(), s.program, o.Env))
	s.run("kill-pane", "-t", home)
	b := terminal.Tmux(o)
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	q := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	if got := s.run("list-panes", "-a", "-F", "#{session_name} #{window_name} #{pane_id}", "-f", "#{@waggle-session}"); got !=
		"mine api "+p.Place().Pane.ID+"\nmine api "+q.Place().Pane.ID {
		t.Errorf("panes:\n%s", got)
	}
	server := s.identity()
	s.run("kill-server")
	spawntest.Await(t, "the server's end", func() bool { return !server.Alive() })
	for _, when := range []string{"no server", "another server"} {
		r, err := b.Start(t.Context(), spawntest.Spec(t, spawntest.ModeBlock))
		if err == nil {
			spawntest.End(t, r.Identity())
			t.Fatalf("%s: started", when)
		}
		if !strings.Contains(err.Error(), "has ended: start again from a tmux that runs") {
			t.Errorf("%s: %v", when, err)
		}
		if err := terminal.TmuxHere(t.Context(), s.program, o.Env); err == nil {
			t.Errorf("%s: it is here", when)
		}
		if when == "no server" {
			s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine")
		}
	}
	if got := s.panes(); len(got) != 1 {
		t.Errorf("panes in the other server: %v", got)
	}
}

// A person continues in our server after all members' panes are closed: the next members get panes
// there.
func TestTmuxKeptByPerson(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	o := s.options(terminal.TmuxOptions{})
	b := terminal.Tmux(o)
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeExit, "0"))
	s.run("new-window", "-d", "-t", "waggle-test:")
	spawntest.Wait(t, p)
	testenv.Must(t, held(t, o.Dir, p).Close(t.Context(), s.program, s.env))
	spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	if got := s.run("list-windows", "-a", "-F", "#{session_name} #{window_panes}"); got != "waggle-test 1\nwaggle-test 1" {
		t.Errorf("windows:\n%s", got)
	}
}

// A pane is closed only while its server, its id and its holder are the recorded
// ones, and never when it is our own: not one of a server that was started again
// and gave the same ids.
func TestTmuxClosesOnlyOurs(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	o := s.options(terminal.TmuxOptions{})
	b := terminal.Tmux(o)
	p := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeExit, "0"))
	spawntest.Wait(t, p)
	spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock)) // keeps the server
	place := p.Place()
	stays := func(what string, env []string, change func(*spawn.Place)) {
		t.Helper()
		pane, holder, at := *place.Pane, *place.Holder, place
		at.Pane, at.Holder = &pane, &holder
		change(&at)
		if err := terminal.ClosePane(t.Context(), s.program, env, at); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Contains(s.panes(), place.Pane.ID) {
			t.Fatalf("closed: %s", what)
		}
	}
	stays("a pane of another holder", s.env, func(p *spawn.Place) { p.Holder.Start = "1" })
	stays("a pane of a holder with another pid", s.env, func(p *spawn.Place) { p.Holder.PID++ })
	stays("a pane of a server with another start", s.env, func(p *spawn.Place) { p.Pane.Server.Start = "1" })
	stays("a pane of a server of another boot", s.env, func(p *spawn.Place) { p.Pane.Server.Boot = "x" })
	stays("no pane", s.env, func(p *spawn.Place) { p.Pane.ID = "" })
	stays("our own pane", append(slices.Clone(s.env), "TMUX="+s.socket+",1,0", "TMUX_PANE="+place.Pane.ID), func(*spawn.Place) {})

	s.run("kill-server")
	spawntest.Await(t, "the server's end", func() bool { return !place.Pane.Server.Alive() })
	q := spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeExit, "0"))
	spawntest.Wait(t, q)
	spawntest.Start(t, b, spawntest.Spec(t, spawntest.ModeBlock))
	if q.Place().Pane.ID != place.Pane.ID {
		t.Fatalf("the new server's first pane is %s, the old one's was %s", q.Place().Pane.ID, place.Pane.ID)
	}
	stays("a pane of the same id in a server that was started again", s.env, func(*spawn.Place) {})
	// Even when that server's pane says that it is of the recorded holder.
	s.run("set-option", "-p", "-t", place.Pane.ID, "@waggle-holder", strconv.Itoa(place.Holder.PID)+"."+place.Holder.Start)
	stays("a pane with a copied mark", s.env, func(*spawn.Place) {})
}

func TestInTmux(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tmux, pane, socket string
		ok                 bool
	}{
		{"/tmp/tmux-0/default,123,0", "%1", "/tmp/tmux-0/default", true},
		{"/tmp/a,b,123,0", "%12", "/tmp/a,b", true},
		{"", "%1", "", false},
		{"/tmp/x,1,0", "", "/tmp/x", false},
		{"/tmp/x,1,0", "1", "/tmp/x", false},
		{"/tmp/x,1,0", "%1;x", "/tmp/x", false},
		{"relative,1,0", "%1", "relative", false},
		{"/tmp/x", "%1", "", false},
	} {
		socket, pane, ok := terminal.InTmux([]string{"A=b", "TMUX=" + c.tmux, "TMUX_PANE=" + c.pane})
		if ok != c.ok || socket != c.socket || pane != c.pane {
			t.Errorf("%+v: %q, %q, %v", c, socket, pane, ok)
		}
	}
}

// TestTmuxPaneOf: the pane of a process is the one whose own process is nearest above it, and its screen is what it shows.
func TestTmuxPaneOf(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	env := s.options(terminal.TmuxOptions{}).Env
	if _, ok := terminal.TmuxPaneOf(t.Context(), s.program, env, s.socket, []int{os.Getpid()}); ok {
		t.Error("a pane without a server")
	}
	s.run("-f", "/dev/null", "new-session", "-d", "-s", "mine", "echo one screen; exec sleep 3600")
	s.run("new-window", "-d", "-t", "mine", "exec sleep 3600")
	pid, err := strconv.Atoi(s.run("display-message", "-p", "-t", "mine:0", "#{pane_pid}"))
	testenv.Must(t, err)
	p, ok := terminal.TmuxPaneOf(t.Context(), s.program, env, s.socket, []int{os.Getpid(), pid, 1})
	if !ok || p.ID != s.run("display-message", "-p", "-t", "mine:0", "#{pane_id}") || p.Server != s.identity() || p.Socket != s.socket {
		t.Fatalf("%+v, %v", p, ok)
	}
	spawntest.Await(t, "the screen", func() bool {
		text, err := terminal.TmuxScreen(t.Context(), s.program, env, p)
		return err == nil && strings.HasPrefix(text, "one screen\n")
	})
	if _, ok := terminal.TmuxPaneOf(t.Context(), s.program, env, s.socket, []int{os.Getpid(), 1}); ok {
		t.Error("the pane of another process")
	}
}

// TestFollowTmux: a client tells of the output of a pane that is not the current one, and shows it. The person's windows stay as
// they are, and the client is gone when it is closed.
func TestFollowTmux(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	env := append(s.options(terminal.TmuxOptions{}).Env, "DISPLAY=:77")
	s.run("-f", "/dev/null", "new-session", "-d", "-x", "91", "-y", "33", "-s", "mine", "echo one screen; exec cat")
	s.run("new-window", "-t", "mine", "exec sleep 3600")
	pane := s.run("display-message", "-p", "-t", "mine:0", "#{pane_id}")
	const looks = "#{session_name} #{window_index} #{window_active} #{window_width}x#{window_height} #{pane_id}"
	before := s.run("list-panes", "-a", "-F", looks) + s.run("show-environment", "-t", "mine")
	p := spawn.Pane{Server: s.identity(), Socket: s.socket, ID: pane}
	f, err := terminal.FollowTmux(t.Context(), s.program, env, p)
	testenv.Must(t, err)
	defer f.Close()
	shows := func(want string) {
		t.Helper()
		spawntest.Await(t, want, func() bool {
			text, err := f.Screen(t.Context())
			testenv.Must(t, err)
			return strings.Contains(text, want)
		})
	}
	shows("one screen\n")
	for len(f.Changed()) > 0 {
		<-f.Changed()
	}
	s.run("send-keys", "-t", pane, "-l", "%end 1 1 1")
	s.run("send-keys", "-t", pane, "Enter")
	select {
	case <-f.Changed():
	case <-time.After(time.Minute):
		t.Fatal("output was not told")
	}
	shows("%end 1 1 1\n%end 1 1 1\n") // as it was typed and as it came back
	if after := s.run("list-panes", "-a", "-F", looks) + s.run("show-environment", "-t", "mine"); after != before {
		t.Errorf("the session was\n%s\nand is\n%s", before, after)
	}
	if got := s.run("list-clients", "-F", "#{client_readonly} #{client_control_mode}"); got != "1 1" {
		t.Errorf("clients: %q", got)
	}
	f.Close()
	spawntest.Await(t, "no client is left", func() bool { return s.run("list-clients") == "" })
	if _, open := <-f.Changed(); open {
		if _, open = <-f.Changed(); open {
			t.Error("the channel is open")
		}
	}
	if _, err := terminal.FollowTmux(t.Context(), s.program, env, spawn.Pane{Socket: s.socket, ID: "%99"}); err == nil {
		t.Error("a pane that is not there is followed")
	}
	other, err := terminal.FollowTmux(t.Context(), s.program, env, p)
	testenv.Must(t, err)
	defer other.Close()
	s.run("kill-server")
	for range other.Changed() { // until the client has ended
	}
	if _, err := other.Screen(t.Context()); err == nil {
		t.Error("the server is gone, and the pane was read")
	}
}
