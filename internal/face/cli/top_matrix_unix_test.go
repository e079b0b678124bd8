//go:build unix

package cli_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

const matrixTeam = `team: matrix
sandbox: {mode: off}
members:
  - {name: hal, agent: exec}
  - {name: alice, agent: exec}
  - {name: bob, agent: exec}
  - {name: carl, agent: exec}
  - {name: dora, agent: exec}
  - {name: eve, agent: exec}
  - {name: fay, agent: exec}
tasks:
  - {subject: h, owner: hal, instructions: 'rm -rf made-h'}
  - {subject: a, owner: alice, instructions: 'touch made-a'}
  - {subject: b, owner: bob, instructions: 'touch made-b'}
  - {subject: c, owner: carl, instructions: 'touch made-c'}
  - {subject: d, owner: dora, instructions: "printf '\x1b]2;owned\x07\x1b[2J\rls' > made-d"}
  - {subject: e, owner: eve, instructions: 'touch made-e'}
  - {subject: f, owner: fay, instructions: 'rm -rf made-f'}
`

// matrix is a person at waggle top in a pane.
type matrix struct {
	*inTmux
	handles map[string]string
}

// sees waits until the pane has a text.
func (m *matrix) sees(text string) {
	m.t.Helper()
	m.until("the pane shows "+text, func() bool { return strings.Contains(m.screen(), text) })
}

// settle lets time pass, which the screen counts.
func (m *matrix) settle(d time.Duration) { time.Sleep(d) } // real clock: the screen's

// opens starts waggle top in a pane of its own, which is what m looks at from now on.
func (m *matrix) opens(env ...string) {
	m.t.Helper()
	args := append([]string{"new-window", "-d", "-P", "-F", "#{pane_id}"}, "env")
	m.pane = strings.TrimSpace(m.tmux(append(append(args, env...), binary(m.t), "top")...))
	m.size(120, 40)
}

func (m *matrix) size(w, h int) {
	m.tmux("resize-window", "-t", m.pane, "-x", strconv.Itoa(w), "-y", strconv.Itoa(h))
}

// pid is the process in the pane.
func (m *matrix) pid() int {
	m.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(m.tmux("display-message", "-p", "-t", m.pane, "#{pane_pid}")))
	testenv.Must(m.t, err)
	return pid
}

// on puts the cursor on a member's request, and lets it stand.
func (m *matrix) on(name string) {
	m.t.Helper()
	row := regexp.MustCompile(`(?m)^([1-9])([ >])(!!|! |\. |ok) ` + name + ` `)
	m.until("the cursor is on "+name, func() bool {
		r := row.FindStringSubmatch(m.screen())
		if r != nil && r[2] == ">" {
			return true
		}
		if r != nil {
			m.key(r[1])
		}
		m.settle(100 * time.Millisecond)
		return false
	})
	m.settle(700 * time.Millisecond)
}

// here is the members whose requests were decided on a screen, in their order.
func (m *matrix) here() (names []string) {
	m.t.Helper()
	for name, h := range m.handles {
		if out, _ := m.waggle("show", h, "--team", "matrix"); strings.Contains(out, "by operator (top)") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// begins begins the line for the handle of a member's request.
func (m *matrix) begins(name string) {
	m.t.Helper()
	m.on(name)
	m.until("a asks for the handle", func() bool {
		if !strings.Contains(m.screen(), "high risk: type "+m.handles[name]) {
			m.key("a")
			m.settle(time.Second)
		}
		return strings.Contains(m.screen(), "high risk: type "+m.handles[name])
	})
}

// enters presses Enter until the pane has a text: a key that a busy machine delivers beside others is not
// taken.
func (m *matrix) enters(text string) {
	m.t.Helper()
	m.until("Enter shows "+text, func() bool {
		if !strings.Contains(m.screen(), text) {
			m.key("Enter")
			m.settle(time.Second)
		}
		return strings.Contains(m.screen(), text)
	})
}

// noAnswers are the steps that answer no request on the screen, whatever else they do there.
var noAnswers = []struct {
	name string
	do   func(m *matrix)
}{
	{"typed before the question is drawn", func(m *matrix) {
		m.opens()
		m.key("a")
		m.sees("asks: Bash")
		m.key("a")
		m.settle(700 * time.Millisecond)
		if strings.Contains(m.screen(), "high risk: type ") { // where the one of high risk is selected
			m.t.Error("the key was taken")
		}
	}},
	{"typed as soon as it is shown", func(m *matrix) {
		m.on("alice")
		m.key("j", "a") // at once: a busy machine would let time pass between two of them
	}},
	{"held", func(m *matrix) { m.on("alice"); m.key("-N", "20", "a") }},
	{"pasted", func(m *matrix) {
		m.on("alice")
		m.tmux("set-buffer", "a")
		m.tmux("paste-buffer", "-p", "-t", m.pane)
		m.sees("nothing is taken of what was pasted")
	}},
	{"pasted without marks", func(m *matrix) {
		m.on("alice")
		m.tmux("set-buffer", "ls\ny\n")
		m.tmux("paste-buffer", "-t", m.pane)
		m.settle(time.Second)
		m.key("Escape")
	}},
	{"before another key", func(m *matrix) { m.on("alice"); m.key("a", "Home") }},
	{"behind another key", func(m *matrix) { m.on("alice"); m.key("k", "a") }},
	{"Enter", func(m *matrix) { // it only looks into
		m.on("alice")
		m.key("Enter")
		m.until("the request has the whole screen", func() bool { return !strings.Contains(m.screen(), "│") })
		m.settle(time.Second)
		m.key("Enter")
	}},
	{"right after a resize", func(m *matrix) { m.on("alice"); m.size(90, 30); m.key("a") }},
	{"where it does not stand whole", func(m *matrix) {
		m.on("alice")
		m.size(60, 10)
		m.sees("more lines to read")
		m.settle(time.Second)
		m.key("a")
		m.settle(time.Second)
		m.key("-N", "12", "Space") // no page is passed over
		m.settle(100 * time.Millisecond)
		m.key("a")
	}},
	{"on a screen that is too small", func(m *matrix) {
		m.on("alice")
		m.size(30, 8)
		m.sees("the screen needs")
		m.settle(time.Second)
		m.key("a")
	}},
	{"while it was stopped", func(m *matrix) {
		m.on("alice")
		m.settle(4 * time.Second)
		testenv.Must(m.t, syscall.Kill(m.pid(), syscall.SIGSTOP))
		m.key("a")
		m.settle(700 * time.Millisecond)
		testenv.Must(m.t, syscall.Kill(m.pid(), syscall.SIGCONT))
	}},
	{"a wrong handle", func(m *matrix) {
		m.begins("hal")
		m.words("oooo")
		m.enters("oooo is not " + m.handles["hal"])
		m.key("Escape")
	}},
	{"a handle of another request of high risk", func(m *matrix) {
		m.begins("hal")
		m.words(m.handles["fay"])
		m.enters(m.handles["fay"] + " is not " + m.handles["hal"])
		m.key("Escape")
	}},
	{"a handle that is pasted", func(m *matrix) {
		m.begins("hal")
		m.tmux("set-buffer", m.handles["hal"])
		m.tmux("paste-buffer", "-p", "-t", m.pane)
		m.settle(300 * time.Millisecond)
		m.key("Enter")
		m.settle(300 * time.Millisecond)
		m.key("Escape")
	}},
	{"a handle with its Enter at once", func(m *matrix) {
		m.begins("hal")
		m.tmux("set-buffer", m.handles["hal"]+"\r")
		m.tmux("paste-buffer", "-r", "-t", m.pane)
		m.settle(300 * time.Millisecond)
		m.key("Escape")
	}},
	{"a handle across a resize", func(m *matrix) {
		m.begins("hal")
		m.words(m.handles["hal"])
		m.size(100, 30)
		m.key("Enter")
		m.settle(300 * time.Millisecond)
		m.key("Escape")
	}},
	{"Ctrl-C behind the handle", func(m *matrix) {
		m.begins("hal")
		m.words(m.handles["hal"])
		m.key("C-c")
		m.settle(600 * time.Millisecond)
		m.key("Enter")
		m.settle(300 * time.Millisecond)
		m.key("Enter")
		m.sees("matrix/hal asks")
	}},
	{"a hangup behind the handle", func(m *matrix) { m.ends(syscall.SIGHUP) }},
	{"SIGTERM behind the handle", func(m *matrix) { m.ends(syscall.SIGTERM) }},
	{"SIGKILL behind the handle", func(m *matrix) { m.ends(syscall.SIGKILL) }},
	{"NO_COLOR", func(m *matrix) {
		m.opens("NO_COLOR=1")
		m.on("hal")
		if s := m.tmux("capture-pane", "-p", "-e", "-t", m.pane); regexp.MustCompile("\x1b\\[([0-9]+;)*[349][0-7]").MatchString(s) || !strings.Contains(s, "!! hal") {
			m.t.Errorf("colours, or no mark:\n%q", s)
		}
		m.key("a")
		m.sees("high risk: type ")
		m.key("Escape")
	}},
	{"control bytes in a command", func(m *matrix) {
		m.on("dora")
		s := m.screen()
		if title := m.tmux("display-message", "-p", "-t", m.pane, "#{pane_title}"); strings.Contains(title, "owned") || !strings.Contains(s, `]2;owned`) || !strings.Contains(s, "matrix/dora asks") {
			m.t.Errorf("title %q:\n%s", title, s)
		}
	}},
}

// ends kills the screen after a handle was typed and before Enter. The team goes on.
func (m *matrix) ends(sig syscall.Signal) {
	m.t.Helper()
	m.opens()
	m.begins("hal")
	m.words(m.handles["hal"])
	testenv.Must(m.t, syscall.Kill(m.pid(), sig))
	pane := m.pane
	m.until("the screen has ended", func() bool {
		return !strings.Contains(m.tmux("list-panes", "-a", "-F", "#{pane_id} "), pane+" ")
	})
	if out := m.does(0, "status", "--team", "matrix"); !strings.Contains(out, "a process leads it") {
		m.t.Error(out)
	}
	m.opens()
}

// oneAnswer are the steps that answer one request, or whose request is answered elsewhere. wants are the
// members whose requests are decided on a screen afterwards.
var oneAnswer = []struct {
	name  string
	wants []string
	do    func(m *matrix)
}{
	{"answered elsewhere under the cursor", nil, func(m *matrix) {
		m.on("bob")
		m.does(0, "deny", m.handles["bob"], "-m", "no", "--team", "matrix")
		m.sees("denied by operator (deny)")
		m.settle(time.Second)
		m.key("a")
		m.sees("this one was answered")
	}},
	{"withdrawn under the cursor", nil, func(m *matrix) {
		m.on("carl")
		m.does(0, "stop", "carl", "--grace", "1ms", "--force", "--team", "matrix")
		m.sees("not asked any more")
		m.settle(time.Second)
		m.key("a")
	}},
	{"answered elsewhere behind its handle", nil, func(m *matrix) {
		m.begins("fay")
		m.words(m.handles["fay"])
		m.does(0, "deny", m.handles["fay"], "-m", "no", "--team", "matrix")
		m.sees("denied by operator (deny)")
		m.key("Enter")
		m.sees("nothing was decided")
	}},
	{"two screens at once", []string{"eve"}, func(m *matrix) {
		m.on("eve")
		first := m.pane
		m.opens()
		m.on("eve")
		m.tmux("send-keys", "-t", first, "a", ";", "send-keys", "-t", m.pane, "a")
		m.until("it has run", func() bool { return m.made("made-e") })
		for _, p := range []string{first, m.pane} {
			m.until("both screens say so", func() bool {
				return !regexp.MustCompile(`(?m)^[1-9 ][ >](!!|! |\. ) eve `).MatchString(m.tmux("capture-pane", "-p", "-t", p))
			})
		}
		if out := m.does(0, "log", "matrix", "--kind", "decided", "--json"); strings.Count(out, m.handles["eve"]) > 1 {
			m.t.Error(out)
		}
	}},
	{"a leader that is gone", []string{"alice", "eve"}, func(m *matrix) {
		m.on("alice")
		m.lead(syscall.SIGKILL)
		m.sees("nobody leads it")
		m.settle(time.Second)
		m.key("a")
		m.until("it is decided", func() bool { return slices.Contains(m.here(), "alice") })
		m.does(0, "resume", "--detach", "matrix")
		m.until("what was allowed has run", func() bool { return m.made("made-a") })
	}},
	{"a handle", []string{"alice", "eve", "hal"}, func(m *matrix) {
		m.begins("hal")
		m.words(strings.ToLower(m.handles["hal"]))
		m.settle(200 * time.Millisecond)
		m.key("Enter")
		m.until("it is decided", func() bool { return slices.Contains(m.here(), "hal") })
	}},
}

// made reports that a member's file is there.
func (m *matrix) made(name string) bool { return exists(m.dir, name) }

// lead sends a signal to the process that leads the team.
func (m *matrix) lead(sig syscall.Signal) {
	m.t.Helper()
	out := m.does(0, "status", "--json", "--team", "matrix")
	pid := regexp.MustCompile(`"leader":\s*\{[^}]*"pid":\s*([0-9]+)`).FindStringSubmatch(out)
	if pid == nil {
		m.t.Fatal(out)
	}
	n, err := strconv.Atoi(pid[1])
	if err == nil {
		err = syscall.Kill(n, sig)
	}
	testenv.Must(m.t, err)
}

// TestTopMatrix does everything to the full screen in a real terminal that is no answer, and then runs the
// steps of oneAnswer. After each step the records say what was decided on a screen. No other test runs beside
// it: on a busy machine a key that must come too soon comes late.
func TestTopMatrix(t *testing.T) {
	testenv.Long(t)
	m := &matrix{inTmux: newTmux(t, matrixTeam)}
	m.does(0, "up", "--detach", "waggle.yaml")
	defer m.waggle("down", "--force", "matrix")
	m.until("all ask", func() bool { return m.asked("matrix") == 7 })
	m.types("waggle top")
	m.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	m.handles = m.inTmux.handles("hal", "alice", "bob", "carl", "dora", "eve", "fay")
	m.leaves()
	m.opens()
	step := func(name string, wants []string, do func(m *matrix)) {
		ok := t.Run(name, func(t *testing.T) {
			m.t = t
			do(m)
			m.settle(600 * time.Millisecond)
			if got := m.here(); !slices.Equal(got, wants) {
				t.Errorf("decided on a screen: %q, not %q\n%s", got, wants, m.screen())
			}
			m.size(120, 40)
			m.key("Escape") // what was said
		})
		if m.t = t; !ok {
			t.FailNow()
		}
	}
	for _, c := range testenv.Rows(t, noAnswers, 6) {
		step(c.name, nil, c.do)
	}
	for _, c := range oneAnswer {
		step(c.name, c.wants, c.do)
	}
}
