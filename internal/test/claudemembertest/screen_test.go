//go:build unix

package claudemembertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// The journeys J1, J2 and J5 with members that are real clients. The person types into a shell on a terminal, and answers
// on the full screen by keys alone.

// person is who plays a journey.
type person struct {
	*reader
	w              *world
	shop           string // the project
	commands, keys int    // what was typed; a key that is pressed again because the machine was late counts once
}

// journey is a journey and what it costs the person, at 80x24 and at 120x40.
type journey struct {
	name           string
	commands, keys int
}

// play plays the journey at both sizes with the newest client and a model of its own.
func (j journey) play(t *testing.T, next func(p *person) claudetest.Next, plays func(p *person)) {
	testenv.Long(t)
	for _, size := range []string{"80x24", "120x40"} {
		t.Run(size, func(t *testing.T) {
			p := &person{}
			p.w, p.shop = newShop(t, claudetest.NewModel(t, next(p)))
			p.w.H.Script("npm", "echo \"$@\" >>"+filepath.Join(p.w.H.Root, "npm.log")+"\n")
			p.reader = &reader{t: t, s: p.w.H.StartProgram(p.shop, []string{"WAGGLE_SANDBOX=off", "ENV=", "PS1=> "}, "sh")}
			cols, rows, _ := strings.Cut(size, "x")
			p.types("", 0, "tmux resize-window -x "+cols+" -y "+rows)
			t.Cleanup(func() { p.w.Run("down", "--force") })
			began := time.Now()
			plays(p)
			testenv.Measured(t, "journey %s, real clients, at %s: %d commands, %d keys, %.1f s", j.name, size, p.commands, p.keys, time.Since(began).Seconds())
			if p.commands != j.commands || p.keys > j.keys {
				t.Errorf("%d commands and %d keys, want %d and at most %d", p.commands, p.keys, j.commands, j.keys)
			}
		})
	}
}

// does types a command that ends by itself.
func (p *person) does(line string, shows ...string) {
	p.t.Helper()
	p.commands++
	p.types("", 0, line, shows...)
}

// opens opens the full screen.
func (p *person) opens(line, shows string) {
	p.t.Helper()
	p.commands++
	p.begins("", line)
	p.s.WaitScreen(shows)
}

// key presses a key until the screen shows a pattern. What stands on the screen before an answer stands long enough.
func (p *person) key(key, shows string) {
	p.t.Helper()
	p.keys++
	p.presses(key, shows)
}

// tabs goes on to the next one that needs the person, until it is the one that the screen shall show.
func (p *person) tabs(shows string) {
	p.t.Helper()
	p.w.until("Tab comes to "+shows, func() bool {
		if strings.Contains(p.s.Screen(), shows) {
			return true
		}
		p.keys++
		p.s.Keys("Tab")
		time.Sleep(300 * time.Millisecond) // real clock: the person looks
		return false
	})
}

// words types a text as a person does into the line with this label, and Enter, which ends the line.
func (p *person) words(label, text string) {
	p.t.Helper()
	for _, c := range text {
		time.Sleep(60 * time.Millisecond) // real clock: a person types
		p.s.Type(string(c))
	}
	time.Sleep(200 * time.Millisecond) // real clock: an Enter that comes with a key is a program's
	p.keys += len(text) + 1
	var last time.Time
	p.w.until("the line "+label+" ends", func() bool {
		on := strings.Contains(p.s.Screen(), label)
		if on && time.Since(last) > 2*time.Second { // real clock: a key that was late does not count
			last = time.Now()
			p.s.Keys("Enter")
		}
		return !on
	})
}

// leaves leaves the screen.
func (p *person) leaves() {
	p.t.Helper()
	p.key("q", fmt.Sprintf(`(?m)^0 ended %d$`, p.times))
	p.ends(0)
}

// ran is how many calls of npm with a script have run.
func (p *person) ran(script string) int {
	data, _ := os.ReadFile(filepath.Join(p.w.H.Root, "npm.log")) // before the first call there is none
	return strings.Count(string(data), script)
}

// asks waits until so many requests are open, and returns the handle of each member's.
func (p *person) asks(n int) map[string]string {
	p.t.Helper()
	open := map[string]string{}
	p.w.until(fmt.Sprintf("%d ask", n), func() bool {
		var doc struct {
			Pending []struct{ Member, Handle string }
		}
		testenv.Must(p.t, json.Unmarshal([]byte(p.w.OK("pending", "--json")), &doc))
		clear(open)
		for _, q := range doc.Pending {
			open[q.Member] = q.Handle
		}
		return len(open) == n
	})
	return open
}

// TestScreenFirst (J1): from a screen without a team a person starts a member, answers its question, reads what it has
// changed, and merges it.
func TestScreenFirst(t *testing.T) {
	journey{"J1, first five minutes", 3, 24}.play(t, func(p *person) claudetest.Next {
		return func(r claudetest.Request) claudetest.Turn {
			trees, _ := filepath.Glob(filepath.Join(p.w.H.Home, ".local", "share", "waggle", "worktrees", "*", "*"))
			switch {
			case r.Turns() == 0:
				return claudetest.AskUserQuestion(claudetest.Question{Question: "Which greeting?", Header: "Greeting", Options: []string{"hello", "good day"}})
			case r.Turns() == 1 && len(trees) == 1 && strings.Contains(fmt.Sprint(r.Results()), "good day"):
				return claudetest.Write(filepath.Join(trees[0], "greeting.txt"), "good day\n")
			}
			return claudetest.Say("all done")
		}
	}, func(p *person) {
		p.opens("waggle", `0 need you`)
		p.key("n", `new task`)
		p.words("new task", "add a greeting")
		p.s.WaitScreen(`Which greeting`)
		p.key("a", `your answer \(`)
		p.words("your answer (", "2")
		p.w.until("the member has done it", func() bool {
			return strings.Contains(p.w.Run("diff", "add-greeting").Out, "+good day") && strings.HasPrefix(p.w.Run("why", "add-greeting").Out, "add-greeting  ready ")
		})
		p.key("Down", `(?i)\[Output\]`)
		p.key("v", `\+good day`)
		p.key("g", `Enter merges`)
		p.key("Enter", `merged \S+ into main`)
		p.leaves()
		if data, err := os.ReadFile(filepath.Join(p.shop, "greeting.txt")); err != nil || string(data) != "good day\n" {
			p.t.Errorf("after the merge: %q, %v", data, err)
		}
		p.does("waggle down")
		p.does("waggle gc", "nothing is left")
	})
}

// npm is a call of the project's program, which is of medium risk.
func npm(script string, i int) claudetest.Turn {
	return claudetest.Bash(fmt.Sprintf("npm run %s -- %d", script, i))
}

// TestScreenEight (J2): eight members ask forty things, eight at once. The person answers those that are alike by batches, a
// question by a number, two calls of high risk by their handles, and denies one with a reason, which reaches its model.
func TestScreenEight(t *testing.T) {
	const members = 8
	alone := map[int]claudetest.Turn{
		1: claudetest.AskUserQuestion(claudetest.Question{Question: "Which side?", Header: "Side", Options: []string{"Left", "Right"}}),
		2: claudetest.Bash("git push --force origin HEAD"),
		3: claudetest.Bash("git push --force origin main"),
		4: claudetest.Bash("npm publish"),
	}
	scripts, file := map[string]claudetest.Next{}, "team: eight\nsandbox: {mode: off}\nmembers:\n"
	tasks := "tasks:\n"
	for i := 1; i <= members; i++ {
		third, ok := alone[i]
		if !ok {
			third = npm("test", i)
		}
		scripts[fmt.Sprintf("do part %d", i)] = claudetest.Script(npm("build", i), npm("lint", i), third, npm("docs", i), npm("size", i), claudetest.Say("all done"))
		file += fmt.Sprintf("  - {name: m%d, agent: claude, worktree: true}\n", i)
		tasks += fmt.Sprintf("  - {subject: part %d, owner: m%d, instructions: do part %d}\n", i, i, i)
	}
	journey{"J2, eight agents ask forty things", 3, 90}.play(t, func(*person) claudetest.Next { return claudetest.ByMarker(scripts) }, func(p *person) {
		p.w.H.WriteFile(filepath.Join(p.shop, "team.yaml"), file+tasks, 0o600)
		p.does("waggle up --detach team.yaml")
		p.opens("waggle", `[1-8] need you`)
		all := func(script string) {
			p.t.Helper()
			p.asks(members)
			p.batch(members)
			p.w.until("they have run", func() bool { return p.ran(script) == members })
		}
		all("build")
		all("lint")
		open := p.asks(members)
		for _, name := range []string{"m2", "m3"} { // the riskiest
			h := open[name]
			p.tabs("eight/" + name + " asks")
			p.key("a", "high risk: type "+h)
			p.words("high risk: type", strings.ToLower(h))
		}
		p.tabs("eight/m1 asks")
		p.key("a", `your answer \(`)
		p.words("your answer (", "2")
		p.tabs("eight/m4 asks")
		because := "deny " + open["m4"] + ", because"
		p.key("d", because)
		p.words(because, "not today")
		p.tabs("npm run test")
		p.batch(4)
		all("docs")
		all("size")
		p.s.WaitScreen("8 ready")
		if log := p.w.OK("log", "eight", "--kind", "decided", "--json"); strings.Count(log, `"via": "top"`) != 5*members {
			p.t.Errorf("not everything was decided on the screen:\n%s", log)
		}
		p.leaves()
		if n := p.ran("publish"); n != 0 {
			p.t.Error("the denied call has run")
		}
		told, chosen := false, false
		for _, r := range p.w.M.Requests() {
			for _, b := range r.Results() {
				told = told || b.IsError && strings.Contains(b.Text, "not today")
				chosen = chosen || strings.Contains(b.Text, "Right")
			}
		}
		if !told || !chosen {
			p.t.Errorf("the models were told the reason: %t, and the answer: %t", told, chosen)
		}
		p.does("waggle down")
	})
}

// batch allows so many requests that are alike, page by page.
func (p *person) batch(n int) {
	p.t.Helper()
	p.key("b", fmt.Sprintf(`Batch of %d`, n))
	more := func() string { return moreLines.FindString(p.s.Screen()) }
	for left := more(); left != ""; left = more() {
		time.Sleep(700 * time.Millisecond) // real clock: a page stands half a second
		p.keys++
		p.s.Keys("Space")
		p.w.until("the next page comes", func() bool { return more() != left })
	}
	time.Sleep(700 * time.Millisecond) // real clock: the same
	p.key("a", fmt.Sprintf(`%d requests`, n))
}

// moreLines says that a request has more lines than the screen.
var moreLines = regexp.MustCompile(`\d+ more lines to read`)

// TestScreenHeadless (J5): a run without a person ends with what nobody may answer, and leaves no process after SIGTERM. Where
// a screen is open and the run waits, its person answers there, and the report names what allowed each call.
func TestScreenHeadless(t *testing.T) {
	const file = `team: release
sandbox: {mode: off}
policy: {allow: ["Bash(npm run build:*)"]}
members: [{name: bob, agent: claude, worktree: true}]
tasks: [{subject: make, owner: bob, instructions: make the release}]
`
	held := make(chan struct{})
	defer close(held)
	journey{"J5, headless", 2, 3}.play(t, func(p *person) claudetest.Next {
		script := claudetest.Script(npm("build", 1), npm("docs", 1), claudetest.Say("all done"))
		return func(r claudetest.Request) claudetest.Turn {
			if _, err := os.Stat(filepath.Join(p.shop, "slow")); err == nil && r.Turns() == 0 {
				return claudetest.Say("all done").Held(held)
			}
			return script(r)
		}
	}, func(p *person) {
		p.w.H.WriteFile(filepath.Join(p.shop, "ci.yaml"), file, 0o600)
		run := func(args ...string) *exec.Cmd { // without a terminal
			cmd := p.w.H.Command(p.w.Bin, append([]string{"run", "ci.yaml", "--headless", "--timeout", "5m"}, args...)...)
			cmd.Dir = p.shop
			return cmd
		}
		before := len(p.w.H.Processes())
		gone := func() {
			p.t.Helper()
			p.w.until("no process is left", func() bool { return len(p.w.H.Processes()) == before })
		}
		out, err := run("--report", "out").CombinedOutput()
		if code := exitCode(err); code != 3 || !strings.Contains(string(out), "npm run docs") {
			p.t.Errorf("nobody may answer: exit %d: %s", code, out)
		}
		gone()
		p.w.H.WriteFile(filepath.Join(p.shop, "slow"), "", 0o600)
		had := len(p.w.M.Requests())
		slow := run()
		testenv.Must(p.t, slow.Start())
		p.w.until("its client works", func() bool { return len(p.w.M.Requests()) > had })
		testenv.Must(p.t, slow.Process.Signal(syscall.SIGTERM))
		if code := exitCode(slow.Wait()); code == 0 {
			p.t.Error("a run that SIGTERM ended is green")
		}
		gone()
		testenv.Must(p.t, os.Remove(filepath.Join(p.shop, "slow")))
		attended := run("--wait", "5m", "--report", "out")
		p.commands++
		testenv.Must(p.t, attended.Start())
		p.opens("waggle top", "1 need you")
		p.tabs("release/bob asks") // where the screen began before bob asked, the cursor is on another row
		p.key("a", "0 need you")
		if code := exitCode(attended.Wait()); code != 0 {
			p.t.Errorf("exit %d", code)
		}
		p.leaves()
		report, err := os.ReadFile(filepath.Join(p.shop, "out", "report.txt"))
		testenv.Must(p.t, err)
		for _, want := range []string{`allow by rules \(allow Bash\(npm run build:\*\)\) +Bash npm run build`, `allow by operator +Bash npm run docs`} {
			if !regexp.MustCompile(want).Match(report) {
				p.t.Errorf("the report has no %s:\n%s", want, report)
			}
		}
	})
}

// exitCode is the exit code of a program that has run.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
