//go:build linux

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"waggle/internal/face/ask"
	"waggle/internal/test/testenv"
)

// shellSession is a shell with job control on a terminal: the commands under test are its
// jobs. It runs every line that it reads.
type shellSession struct {
	*terminal
	dir  string
	seen int // how much of the output was waited for
}

const shellLoop = `set -m; while read -r line; do eval "$line"; echo "[status $?]"; done`

func newShellSession(t *testing.T, env ...string) *shellSession {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	s := &shellSession{dir: dir}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", shellLoop)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "NO_COLOR=1", "TMPDIR=" + dir,
		"WAGGLE_ROOT=" + filepath.Join(dir, "root"), "WAGGLE_STATE=" + filepath.Join(dir, "state"), "W=" + binary(t) + " --no-color",
		standVar + "=" + filepath.Join(dir, "stand")}, env...)...)
	owns(t, dir)
	s.terminal = startTerminal(t, cmd)
	return s
}

// newTeamSession is a session with a team file, whose team ends with the test.
func newTeamSession(t *testing.T, file string) *shellSession {
	t.Helper()
	s := newShellSession(t)
	s.file(file)
	t.Cleanup(func() { s.sweep() })
	return s
}

// up brings the team up in the background.
func (s *shellSession) up() {
	s.t.Helper()
	s.press("$W up -d w.yaml\n")
	s.next("[status 0]")
}

// next waits until the terminal has shown a text behind what was waited for before.
func (s *shellSession) next(text string) {
	s.t.Helper()
	s.nextOf(text)
}

// nextOf waits for one of several texts, and says which came first.
func (s *shellSession) nextOf(texts ...string) string {
	s.t.Helper()
	deadline := time.After(time.Minute)
	for {
		all := s.text()
		first, at := "", len(all)
		for _, x := range texts {
			if i := strings.Index(all[s.seen:], x); i >= 0 && s.seen+i < at {
				first, at = x, s.seen+i
			}
		}
		if first != "" {
			s.seen = at + len(first)
			return first
		}
		select {
		case <-s.more:
		case <-deadline:
			s.t.Fatalf("the terminal never showed %q behind byte %d:\n%s", texts, s.seen, all)
		}
	}
}

const (
	tooEarly = "typed too early"
	hintEnds = "= deny: " // "d" or, where the handle begins with D, "d and Enter" before it
)

// stood waits as long as a question has to stand before a key counts: the rule under test
// is about the real clock.
func (s *shellSession) stood() { <-time.After(ask.Stand + 50*time.Millisecond) }

// key presses a key when keys count, and waits for what it brings. A machine that is busy
// may count from later than this test does.
func (s *shellSession) key(k, brings string) {
	s.t.Helper()
	for {
		s.seen = len(s.text()) // it may have been painted twice
		s.press(k)
		if s.nextOf(brings, tooEarly) == brings {
			return
		}
		s.next(hintEnds)
		s.stood()
	}
}

// refused presses keys that are no answer, and waits until the prompt has said so.
func (s *shellSession) refused(k, says string) {
	s.t.Helper()
	s.key(k, says)
	s.next(hintEnds)
}

// enter presses Enter as a person does, some time after the last key. A program's Enter comes at once.
func (s *shellSession) enter() {
	<-time.After(ask.Settle * 2)
	s.press("\r")
}

// long lets every question stand for an hour before a key counts. It is called before the question is
// painted for which a key shall be too early.
func (s *shellSession) long() {
	s.t.Helper()
	writeFile(s.t, filepath.Join(s.dir, "stand"), "1h")
}

// tooSoon presses a key for a question that has not stood long enough, after long: not at once, so that
// a key that counts before the time of the question is found.
func (s *shellSession) tooSoon(k string) {
	s.t.Helper()
	s.stood()
	s.press(k)
	s.usual()
	s.next(tooEarly)
	s.next(hintEnds)
}

// usual ends what long began: a question that stands has stood long enough after the usual time. Keys that
// were typed before are read and dropped then.
func (s *shellSession) usual() {
	s.t.Helper()
	testenv.Must(s.t, os.Remove(filepath.Join(s.dir, "stand")))
}

// asks waits for a question and returns its handle; typed says that the handle is asked
// for.
func (s *shellSession) asks() (handle string, typed bool) {
	s.t.Helper()
	from := s.seen
	s.next("allow it? ")
	m := regexp.MustCompile(`\n([2-9A-Z]{4,})  \w+ risk  \S+ asks: `).FindAllStringSubmatch(s.text()[from:s.seen], -1)
	if m == nil {
		s.t.Fatalf("no handle is shown:\n%s", s.text()[from:])
	}
	typed = s.nextOf("type ", "a = allow once") == "type "
	s.next(hintEnds)
	return m[len(m)-1][1], typed
}

// repainted waits until a question is shown anew.
func (s *shellSession) repainted(handle string) {
	s.t.Helper()
	s.next("\n" + handle + "  ")
	s.next(hintEnds)
}

// verdict is a decided record.
type verdict struct{ ID, Decision, By, Via string }

// verdicts reads every decision of a person or of the clock from the leader's journals.
func (s *shellSession) verdicts() (all []verdict) {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") || !strings.Contains(path, "leader") {
			return nil // a file that is removed during the walk is no journal of a leader
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
			var r struct {
				Kind string
				Body json.RawMessage
			}
			var v verdict
			if json.Unmarshal(lines.Bytes(), &r) == nil && r.Kind == "decided" && json.Unmarshal(r.Body, &v) == nil {
				all = append(all, v)
			}
		}
		return nil
	})
	testenv.Must(s.t, err)
	return all
}

// typedHere is the decisions that came from the prompt.
func (s *shellSession) typedHere() (all []verdict) {
	for _, v := range s.verdicts() {
		if v.Via == "prompt" {
			all = append(all, v)
		}
	}
	return all
}

// decided waits until so many decisions came from the prompt, and returns the last.
func (s *shellSession) decided(n int) verdict {
	s.t.Helper()
	var all []verdict
	testenv.Eventually(s.t, fmt.Sprintf("%d decisions from the prompt", n), func() bool { all = s.typedHere(); return len(all) >= n },
		func() string { return fmt.Sprintf("%d are there:\n%s", len(all), s.text()) })
	return all[n-1]
}

// none fails when more than n decisions came from the prompt.
func (s *shellSession) none(what string, n int) {
	s.t.Helper()
	if all := s.typedHere(); len(all) != n {
		s.t.Fatalf("%s: the prompt has decided %v, want %d decisions\n%s", what, all, n, s.text())
	}
}

// modes is the terminal's modes, by the end that the test holds.
func (s *shellSession) canonical() bool {
	s.t.Helper()
	t, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	testenv.Must(s.t, err)
	return t.Lflag&unix.ICANON != 0 && t.Lflag&unix.ECHO != 0
}

// job is the process in the foreground.
func (s *shellSession) job() int {
	s.t.Helper()
	g, err := unix.IoctlGetInt(int(s.tty.Fd()), unix.TIOCGPGRP)
	if err != nil || g == s.cmd.Process.Pid {
		s.t.Fatalf("no job is in the foreground: %d, %v\n%s", g, err, s.text())
	}
	return g
}

// elsewhere runs waggle apart from the terminal.
func (s *shellSession) elsewhere(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), binary(s.t), args...)
	cmd.Dir, cmd.Env = s.dir, s.cmd.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("waggle %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// file writes the team file.
func (s *shellSession) file(text string) {
	s.t.Helper()
	writeFile(s.t, filepath.Join(s.dir, "w.yaml"), text)
}

const promptTeam = `team: prompt
sandbox: {mode: off}
members:
  - {name: hal, agent: exec}
  - {name: alice, agent: exec}
  - {name: bob, agent: exec}
  - {name: carl, agent: exec}
tasks:
  - {subject: h, owner: hal, instructions: 'rm -rf made-h'}
  - {subject: a, owner: alice, instructions: 'touch made-a'}
  - {subject: b, owner: bob, instructions: 'touch made-b'}
  - {subject: c, owner: carl, instructions: 'touch made-c'}
`

// asking are the commands that ask about a team's requests. before is done first, and the
// command is the line that asks.
var asking = []struct {
	name    string
	before  func(*shellSession)
	command string
}{
	{"run", nil, `$W run w.yaml`},
	{"up", nil, `$W up w.yaml`},
	{"attach", func(s *shellSession) {
		s.up()
	}, `$W attach`},
	{"resume", func(s *shellSession) {
		s.press("$W up w.yaml\n")
		s.next("is up")
		s.asks()
		s.die()
	}, `$W resume`},
}

// die kills the job, and checks the terminal: the job leaves it without echo, and the next
// start of waggle turns canonical mode and echo on again.
func (s *shellSession) die() {
	s.t.Helper()
	if s.canonical() {
		s.t.Error("canonical mode or echo is on while a question stands")
	}
	testenv.Must(s.t, syscall.Kill(s.job(), syscall.SIGKILL))
	s.next("[status 137]")
	s.press("$W version\n")
	s.next("[status 0]")
	if !s.canonical() {
		s.t.Error("the next start of waggle has not turned canonical mode and echo on")
	}
}

// TestPromptMatrix does everything to a prompt that is no answer, and then answers it, on
// each command that asks. After each step the journal says what was decided.
func TestPromptMatrix(t *testing.T) {
	testenv.Long(t)
	for _, c := range testenv.Rows(t, asking, 1) {
		t.Run(c.name, func(t *testing.T) {
			s := newTeamSession(t, promptTeam)
			if c.before != nil {
				c.before(s)
			}
			// A whole line and half a line, from before the question.
			s.press(c.command + "\na\na")
			s.matrix(t)
		})
	}
}

// sweep ends the team that a test leaves behind.
func (s *shellSession) sweep() {
	cmd := exec.Command(binary(s.t), "down", "--force") //nolint:noctx // after the test
	cmd.Dir, cmd.Env = s.dir, s.cmd.Env
	if out, err := cmd.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("no team")) && !bytes.Contains(out, []byte("error")) {
		s.t.Logf("down: %v\n%s", err, out)
	}
}

func (s *shellSession) matrix(t *testing.T) {
	// All members ask; the prompt shows the riskiest request in the end.
	var handle string
	for typed := false; !typed; {
		handle, typed = s.asks()
	}
	step := func(name string, f func()) {
		ok := t.Run(name, func(t *testing.T) {
			s.t = t
			f()
		})
		if s.t = t; !ok {
			t.FailNow()
		}
	}
	step("stale lines", func() {
		s.stood()
		s.none("what was typed before the question", 0)
	})
	step("bare Enter", func() {
		s.refused("\r", "Enter is no answer")
		s.none("Enter", 0)
	})
	step("burst", func() {
		s.refused(handle+"\r", "one key at a time")
		s.none("a burst", 0)
	})
	step("paste", func() {
		s.refused("\x1b[200~"+handle+"\r\x1b[201~", "one key at a time")
		s.none("a paste", 0)
	})
	step("wrong handle", func() {
		s.stood() // no key within Settle of the paste
		s.key("a", "a")
		<-time.After(ask.Settle * 2)
		s.refused("\r", "a is not "+handle)
		s.none("a wrong handle", 0)
	})
	step("resize", func() {
		s.long()
		testenv.Must(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 30, Cols: 90}))
		s.repainted(handle)
		s.tooSoon(handle[:1])
		s.none("a key right after a resize", 0)
	})
	step("stop and continue", func() {
		s.press("\x1a")
		s.next("[status ")
		if !s.canonical() {
			t.Error("a stopped prompt leaves the terminal without echo")
		}
		s.long()
		s.press("fg\n")
		s.repainted(handle)
		s.tooSoon(handle[:1])
		s.none("a key right after SIGCONT", 0)
	})
	step("background", func() {
		s.press("\x1a")
		s.next("[status ")
		s.press("bg\n")
		s.next("[status 0]")
		s.press("read -r got; echo \"the shell has $got\"\n" + handle + "\n")
		s.next("the shell has " + handle)
		s.next("[status 0]")
		s.none("a line for the shell", 0)
		s.press("fg\n")
		s.repainted(handle)
	})
	step("handle", func() {
		s.stood()
		for _, c := range strings.ToLower(handle) { // in any case
			s.key(string(c), string(c))
		}
		s.enter()
		if v := s.decided(1); v.Decision != "allow" || v.By != "operator" {
			t.Errorf("decided %+v", v)
		}
	})
	first, typed := s.asks()
	if typed {
		t.Fatalf("a question that is not of high risk asks for its handle:\n%s", s.text())
	}
	step("another terminal's answer", func() {
		s.long()
		s.elsewhere("deny", first, "-m", "no")
		s.next(first + " is not asked here any more: deny by operator, from elsewhere")
		s.press("a")
		first, _ = s.asks()
		s.usual()
		s.stood()
		s.none("a key for what was answered elsewhere", 1)
	})
	step("withdrawal", func() {
		member := s.memberOf(first)
		s.long()
		s.elsewhere("stop", member, "--grace", "1ms", "--force")
		s.next(first + " is not asked here any more")
		s.press("a")
		first, _ = s.asks()
		s.usual()
		s.stood()
		s.none("a key for what was withdrawn", 1)
	})
	step("kill", func() { s.die() })
}

// memberOf returns the member that asks, by the first paint of a handle.
func (s *shellSession) memberOf(handle string) string {
	s.t.Helper()
	m := regexp.MustCompile(`\n` + handle + `  \w+ risk  \w+/(\w+) asks: `).FindStringSubmatch(s.text())
	if m == nil {
		s.t.Fatalf("%s is not shown with its member:\n%s", handle, s.text())
	}
	return m[1]
}

// TestPromptDeadline: the system denies a question whose time is over; keys that are
// typed for it do not answer the next one.
func TestPromptDeadline(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, c := range testenv.Rows(t, asking, 1) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShellSession(t)
			deadline, tasks := "4s", 5 // of questions that are over before they are shown there are more
			if c.before != nil {       // the team lives before the command that asks does
				deadline = "10s"
			}
			file := "team: prompt\nsandbox: {mode: off}\ndeadline: " + deadline + "\nmembers: [{name: alice, agent: exec}]\ntasks:\n"
			for i := range tasks {
				file += fmt.Sprintf("  - {subject: t%d, owner: alice, instructions: touch made-%d}\n", i, i)
			}
			s.file(file)
			t.Cleanup(func() { s.sweep() })
			if c.before != nil {
				c.before(s)
			}
			s.press(c.command + "\n")
			one, _ := s.asks()
			s.long()
			s.next(one + " is not asked here any more: its time is over")
			s.press("a\r")
			two, _ := s.asks()
			s.press("a")
			s.usual() // the keys are dropped, whether the question's time is over meanwhile or not
			over := two + " is not asked here any more: its time is over"
			if s.nextOf(tooEarly, over) == tooEarly {
				s.next(over)
			}
			s.none("keys for what was over", 0)
			for _, v := range s.verdicts() {
				if v.Decision != "deny" || v.By != "system" {
					t.Errorf("decided %+v", v)
				}
			}
		})
	}
}

// TestPromptBash: in an interactive bash, Ctrl-Z stops waggle. After bg the shell edits lines
// and reads them while waggle runs on. After fg waggle asks anew.
func TestPromptBash(t *testing.T) {
	testenv.Long(t)
	bash := testenv.Require(t, "bash")
	t.Parallel()
	s := newTeamSession(t, confirmTeam)
	s.press("exec " + bash + " --norc --noprofile -i\n")
	s.press("PS1='ready''> '; HISTFILE=\n")
	s.next("ready> ")
	s.press("$W run w.yaml\n")
	handle, _ := s.asks()
	s.press("\x1a")
	s.next("Stopped")
	s.next("ready> ")
	s.press("stty -a | tr ' ' '_'\n")
	s.next("_icanon")
	s.next("_echo_")
	s.next("ready> ")
	s.press("bg\n")
	s.next("ready> ")
	s.press("echo whale\x7f\x7f\x7fole; read got; echo the shell has $got\n")
	s.next("whole\r\n")
	s.press("a\n")
	s.next("the shell has a\r\n")
	s.next("ready> ")
	s.none("a line for the shell", 0)
	s.press("fg\n")
	s.repainted(handle)
	s.press("\x1a")
	s.next("ready> ")
	s.long()
	s.press("fg\n") // without bg between
	s.repainted(handle)
	s.tooSoon("a")
	s.none("a key right after fg", 0)
	s.stood()
	s.key("a", "allowed once")
	s.next("ready> ")
	if !exists(s.dir, "made") {
		t.Errorf("what was allowed was not done:\n%s", s.text())
	}
}

// TestPromptDemo: the demo asks by the same rules.
func TestPromptDemo(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := newShellSession(t)
	s.press("$W demo --keep\na\na")
	handle, typed := s.asks()
	if typed {
		t.Fatal("the demo's question wants its handle")
	}
	s.stood()
	s.none("what was typed before the question", 0)
	s.refused("\r", "Enter is no answer")
	s.refused("a\r", "one key at a time")
	s.refused("\x1b[200~a\x1b[201~", "one key at a time")
	s.long()
	testenv.Must(t, pty.Setsize(s.tty, &pty.Winsize{Rows: 30, Cols: 90}))
	s.repainted(handle)
	s.tooSoon("a")
	s.press("\x1a")
	s.next("[status ")
	s.press("bg\n")
	s.next("[status 0]")
	s.long()
	s.press("fg\n")
	s.repainted(handle)
	s.tooSoon("a")
	s.none("what is no answer", 0)
	s.stood()
	s.key("a", "allowed once")
	if v := s.decided(1); v.Decision != "allow" {
		t.Errorf("decided %+v", v)
	}
	s.next("[status 0]")
}

// TestPromptDemoElsewhere: an answer from another terminal and the end of the member end the
// demo's question. The demo leaves one question of medium risk to the person: two queued, a riskier one that comes first, and
// the handle do not exist there.
func TestPromptDemoElsewhere(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	type end struct {
		name string
		ends string // what the prompt says; | is or
		do   func(s *shellSession, handle string, at ...string)
	}
	for _, c := range testenv.Rows(t, []end{
		{"another terminal allows", "allow by operator, from elsewhere", func(s *shellSession, handle string, at ...string) {
			s.elsewhere(append([]string{"approve", handle}, at...)...)
			s.verdict("allow")
			s.next("[status 0]")
		}},
		{"another terminal denies", "deny by operator, from elsewhere", func(s *shellSession, handle string, at ...string) {
			s.elsewhere(append([]string{"deny", handle, "-m", "no"}, at...)...)
			s.verdict("deny")
			s.next("[status 0]")
		}},
		{"withdrawal", "its member has ended|abandoned: stopped", func(s *shellSession, _ string, at ...string) {
			s.elsewhere(append([]string{"stop", "ada", "--grace", "1ms", "--force"}, at...)...)
			s.next("ada ended too early")
			s.next("[status ")
		}},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShellSession(t)
			s.press("$W demo --keep\n")
			handle, _ := s.asks()
			at := s.demo()
			from := len(s.text())
			c.do(s, handle, append(at, "--team", "demo")...)
			if !regexp.MustCompile(handle + " is not asked here any more: (" + c.ends + ")").MatchString(s.text()[from:]) {
				t.Errorf("the prompt has not said %q:\n%s", c.ends, s.text())
			}
			s.none("what was answered elsewhere", 0)
			if !s.canonical() {
				t.Error("the terminal has no echo after the demo")
			}
		})
	}
}

// demo has the flags that say where the demo's team is.
func (s *shellSession) demo() []string {
	s.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(s.dir, "waggle-demo-*"))
	if err != nil || len(dirs) != 1 {
		s.t.Fatalf("the demo is in %q, %v", dirs, err)
	}
	return []string{"--root", filepath.Join(dirs[0], "root"), "--state", filepath.Join(dirs[0], "state")}
}

// verdict waits until the prompt has said that its question is gone, presses a key for
// it, and looks for the decision.
func (s *shellSession) verdict(want string) {
	s.t.Helper()
	s.next("is not asked here any more")
	s.press("a")
	for _, v := range s.verdicts() {
		if (v.Via == "approve" || v.Via == "deny") && v.Decision == want {
			return
		}
	}
	s.t.Errorf("decided %+v, want %s from elsewhere", s.verdicts(), want)
}

// TestPromptDemoKilled: after a demo was killed, the next start of waggle turns canonical mode and echo on again.
func TestPromptDemoKilled(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	s := newShellSession(t)
	s.press("$W demo\n")
	s.asks()
	at := s.demo()
	s.die()
	end := exec.CommandContext(t.Context(), binary(t), append([]string{"down", "demo", "--force"}, at...)...)
	end.Dir, end.Env = s.dir, s.cmd.Env
	if out, _ := end.CombinedOutput(); !strings.Contains(string(out), "team demo has ended") { // its questions were not answered: 3
		t.Errorf("down: %s", out)
	}
}

// TestPromptNoTerminal: input that is no terminal never answers.
func TestPromptNoTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"run", "up"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			s := newTeamSession(t, "team: prompt\nsandbox: {mode: off}\ndeadline: 1s\nmembers: [{name: alice, agent: exec}]\ntasks: [{subject: one, owner: alice, instructions: touch one}]\n")
			s.press(fmt.Sprintf("yes a | $W %s w.yaml\n", c))
			s.next("decided")
			s.none("a pipe", 0)
			if vs := s.verdicts(); len(vs) != 1 || vs[0].By != "system" {
				t.Errorf("decided %+v", vs)
			}
		})
	}
}
