//go:build unix

package terminal_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/spawn/spawntest"
	"waggle/spawn/terminal"
)

// fakeITerm names, for the two programs below, the directory that replaces a Mac: its socket, its
// profiles, its faults, and the arguments that it2 was called with.
const fakeITerm = "WAGGLE_FAKE_ITERM"

// The faults: files in that directory.
const (
	goneAPI   = "no-api"   // it2 cannot reach iTerm2
	nonsense  = "nonsense" // it2 says something else of a split
	noCommand = "no-run"   // iTerm2 makes the split and runs no command
	homeAsNew = "home"     // it2 names the home session as the new one
	late      = "late"     // iTerm2 loads a profile late
)

const homeSession = "11111111-2222-3333-4444-555555555555"

// iterm is an iTerm2 of the test: a process of its own, with an it2 beside it.
type iterm struct {
	t        testing.TB
	dir, it2 string
	app      *exec.Cmd
	env      []string
}

func newITerm(t testing.TB) *iterm {
	t.Helper()
	exe, err := os.Executable()
	testenv.Must(t, err)
	dir := shortDir(t)
	f := &iterm{t: t, dir: dir, it2: filepath.Join(dir, "it2"), env: []string{fakeITerm + "=" + dir, "ITERM_SESSION_ID=w0t0p0:" + homeSession, "HOME=" + dir}}
	testenv.Must(t, os.Symlink(exe, f.it2))
	testenv.Must(t, os.MkdirAll(f.profiles(), 0o700))
	f.start()
	return f
}

func (f *iterm) profiles() string {
	return filepath.Join(f.dir, "Library", "Application Support", "iTerm2", "DynamicProfiles")
}

func (f *iterm) start() {
	f.t.Helper()
	exe, err := os.Executable()
	testenv.Must(f.t, err)
	cmd := exec.Command(exe, "iterm")
	cmd.Env, cmd.Stderr = append(os.Environ(), f.env...), os.Stderr
	testenv.Must(f.t, cmd.Start())
	f.app = cmd
	f.t.Cleanup(func() { f.quit(cmd) })
	spawntest.Await(f.t, "iTerm2", func() bool {
		c, err := net.Dial("unix", filepath.Join(f.dir, "sock"))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (f *iterm) quit(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_ = os.Remove(filepath.Join(f.dir, "sock"))
}

func (f *iterm) wrong(what string) {
	f.t.Helper()
	testenv.Must(f.t, os.WriteFile(filepath.Join(f.dir, what), nil, 0o600))
}

// call runs it2 as a person would.
func (f *iterm) call(args ...string) string {
	f.t.Helper()
	cmd := exec.Command(f.it2, args...)
	cmd.Env = f.env
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("it2 %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// shows asks that these are the sessions, by their ids.
func (f *iterm) shows(want ...string) {
	f.t.Helper()
	var ids []string
	var list []fakeSession
	testenv.Must(f.t, json.Unmarshal([]byte(f.call("session", "list", "--json")), &list))
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	if d := cmp.Diff(want, ids); d != "" {
		f.t.Errorf("sessions (-want +got):\n%s", d)
	}
}

// calls are what it2 was called with, those of the test itself included.
func (f *iterm) calls() (all [][]string) {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, "calls"))
	testenv.Must(f.t, err)
	for line := range strings.Lines(string(b)) {
		var args []string
		testenv.Must(f.t, json.Unmarshal([]byte(line), &args))
		all = append(all, args)
	}
	return all
}

// last is the last content of a removed profile that iTerm2 read from the directory of profiles.
func (f *iterm) last() map[string]any {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, "last"))
	testenv.Must(f.t, err)
	var p map[string]any
	testenv.Must(f.t, json.Unmarshal(b, &p))
	return p
}

func (f *iterm) options() terminal.ITerm2Options {
	return terminal.ITerm2Options{Options: options(f.t), Program: f.it2, Env: f.env, Home: homeSession}
}

// itermPrograms is the start of the two, and returns in every other program.
func itermPrograms() {
	switch dir := os.Getenv(fakeITerm); {
	case dir == "":
	case filepath.Base(os.Args[0]) == "it2":
		syscall.Exit(it2Main(dir, os.Args[1:])) // os.Exit of a race build takes a second
	case len(os.Args) == 2 && os.Args[1] == "iterm":
		syscall.Exit(itermMain(dir))
	}
}

// it2Main is it2: it writes down what it was called with and asks iTerm2.
func it2Main(dir string, args []string) int {
	fail := func(code int, what any) int {
		fmt.Fprintln(os.Stderr, "Error:", what)
		return code
	}
	line, err := json.Marshal(args)
	if err != nil {
		return fail(1, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fail(1, err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fail(1, err)
	}
	if exists(filepath.Join(dir, goneAPI)) {
		return fail(2, "Not running inside iTerm2 or Python API not enabled.")
	}
	c, err := net.Dial("unix", filepath.Join(dir, "sock"))
	if err != nil {
		return fail(2, err)
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(args); err != nil {
		return fail(2, err)
	}
	var a answer
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return fail(2, err)
	}
	if a.Code != 0 {
		return fail(a.Code, a.Text)
	}
	fmt.Println(a.Text)
	return 0
}

type answer struct {
	Code int
	Text string
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// fakeSession is a session of the fake iTerm2, as it2 lists it.
type fakeSession struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	tty  *os.File
	pid  int
}

// fakeApp is the fake iTerm2 itself.
type fakeApp struct {
	dir      string
	mu       sync.Mutex
	seen     map[string]bool // files of profiles that it has taken up
	sessions []*fakeSession
}

func itermMain(dir string) int {
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "iterm:", err)
		return 1
	}
	a := &fakeApp{dir: dir, seen: map[string]bool{}, sessions: []*fakeSession{{ID: homeSession, Name: "home"}}}
	for {
		c, err := l.Accept()
		if err != nil {
			return 1
		}
		go func() {
			defer c.Close()
			var args []string
			if json.NewDecoder(c).Decode(&args) == nil {
				_ = json.NewEncoder(c).Encode(a.do(args))
			}
		}()
	}
}

// do is one call, spelled as it2 0.2 spells it.
func (a *fakeApp) do(args []string) answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	opt := func(name string) string {
		if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	at := -1
	if id := opt("-s"); id != "" {
		if at = slices.IndexFunc(a.sessions, func(s *fakeSession) bool { return s.ID == id }); at < 0 {
			return answer{3, "Session '" + id + "' not found"}
		}
	}
	switch strings.Join(args[:min(2, len(args))], " ") {
	case "session list":
		b, err := json.Marshal(a.sessions)
		if err != nil {
			return answer{1, err.Error()}
		}
		return answer{0, string(b)}
	case "session split":
		return a.split(at, opt("-p"))
	case "session get-var":
		if at < 0 || a.sessions[at].pid == 0 {
			return answer{0, "Variable 'pid' not set"}
		}
		return answer{0, fmt.Sprint(a.sessions[at].pid)}
	case "session restart": // a person starts another program in it
		a.sessions[at].pid = os.Getpid()
		return answer{0, "Session restarted"}
	case "session close":
		if s := a.sessions[at]; s.tty != nil {
			_ = s.tty.Close()
		}
		a.sessions = slices.Delete(a.sessions, at, at+1)
		return answer{0, "Session closed"}
	}
	return answer{2, "no such command"}
}

// split is a new session after another, with a profile.
func (a *fakeApp) split(at int, name string) answer {
	p, ok := a.profile(name)
	if at < 0 || !ok {
		return answer{3, "iTerm2 API error: INVALID_PROFILE_NAME"}
	}
	var b [16]byte
	_, _ = rand.Read(b[:])
	s := &fakeSession{ID: fmt.Sprintf("%X-%X-%X-%X-%X", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), Name: name}
	if !exists(filepath.Join(a.dir, noCommand)) {
		if err := s.run(p["Command"].(string)); err != nil {
			return answer{1, err.Error()}
		}
	}
	a.sessions = slices.Insert(a.sessions, at+1, s)
	switch {
	case exists(filepath.Join(a.dir, nonsense)):
		return answer{0, "Split it."}
	case exists(filepath.Join(a.dir, homeAsNew)):
		return answer{0, "Created new pane: " + homeSession}
	}
	return answer{0, "Created new pane: " + s.ID}
}

// run starts a command like iTerm2: split into words by its own rules, in a terminal that it reads,
// in its own environment.
func (s *fakeSession) run(command string) error {
	argv := itermWords(command)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "ITERM_SESSION_ID=w0t0p1:"+s.ID, "TERM=xterm-256color")
	tty, err := pty.StartWithAttrs(cmd, &pty.Winsize{Cols: 90, Rows: 30}, &syscall.SysProcAttr{Setsid: true, Setctty: true})
	if err != nil {
		return err
	}
	// A file of the poller, so that closing it does not wait for its reader.
	fd, err := syscall.Dup(int(tty.Fd()))
	if err == nil {
		syscall.CloseOnExec(fd)
		err = syscall.SetNonblock(fd, true)
	}
	_ = tty.Close()
	if err != nil {
		return err
	}
	tty = os.NewFile(uintptr(fd), "terminal")
	s.tty, s.pid = tty, cmd.Process.Pid
	go func() { _, _ = io.Copy(io.Discard, tty) }()
	go func() { _ = cmd.Wait() }()
	return nil
}

// profile finds one by name. One file that cannot be read spoils all.
func (a *fakeApp) profile(name string) (found map[string]any, ok bool) {
	files, _ := filepath.Glob(filepath.Join(a.dir, "Library", "*", "*", "*", "*.json"))
	for _, file := range files {
		if !a.seen[file] && exists(filepath.Join(a.dir, late)) {
			a.seen[file] = true
			continue
		}
		var p struct{ Profiles []map[string]any }
		b, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || json.Unmarshal(b, &p) != nil {
			return nil, false
		}
		for _, one := range p.Profiles {
			if one["Name"] == name {
				found, ok = one, true
				if b, err = json.Marshal(one); err == nil {
					_ = os.WriteFile(filepath.Join(a.dir, "last"), b, 0o600)
				}
			}
		}
	}
	return found, ok
}

// itermWords splits a command as iTerm2 does: at spaces, outside of quotes, with backslashes for
// single characters; a ~ at the start of a bare word is the home directory.
func itermWords(s string) (words []string) {
	var word []rune
	in, quoted, escaped := false, false, false
	for _, r := range s {
		switch {
		case escaped:
			if i := strings.IndexRune("ntar", r); i >= 0 {
				r = []rune{'\n', '\t', '\a', '\r'}[i]
			}
			word, in, escaped = append(word, r), true, false
		case r == '\\':
			escaped = true
		case r == '"':
			quoted, in = !quoted, true
		case r == ' ' && !quoted:
			if in {
				words, word, in = append(words, string(word)), nil, false
			}
		case r == '~' && !in:
			word, in = append(word, []rune(os.Getenv("HOME"))...), true
		default:
			word, in = append(word, r), true
		}
	}
	if in {
		words = append(words, string(word))
	}
	return words
}

// hasCall reports whether it2 was called with these words, in this order, among
// others.
func hasCall(calls [][]string, words ...string) bool {
	return slices.ContainsFunc(calls, func(c []string) bool {
		for _, w := range words {
			i := slices.Index(c, w)
			if i < 0 {
				return false
			}
			c = c[i+1:]
		}
		return true
	})
}
