//go:build unix

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

const topTeam = `team: api
sandbox: {mode: off}
members:
  - {name: alice, agent: exec}
  - {name: bob, agent: exec}
  - {name: carol, agent: exec}
tasks:
  - {subject: list, owner: alice, instructions: "ls; touch listed"}
  - {subject: count, owner: bob, instructions: "wc -l waggle.yaml; touch counted"}
  - {subject: clean, owner: carol, instructions: "rm -rf build7; touch cleaned"}
`

// screen is what the pane shows.
func (u *inTmux) screen() string {
	u.t.Helper()
	return u.tmux("capture-pane", "-p", "-t", u.pane)
}

// presses types one key.
func (u *inTmux) presses(key string) { u.key(key) }

// onScreen reports that a line of a screen, or its part beside the bar, has a text, whatever its gaps, or as much of it as
// has room before …, at least eight letters and two thirds.
func onScreen(screen, text string) bool {
	want := strings.Join(strings.Fields(text), " ")
	for l := range strings.Lines(screen) {
		for _, part := range strings.Split(l, "│") {
			got := strings.Join(strings.Fields(part), " ")
			if strings.Contains(got, want) {
				return true
			}
			cut, ok := strings.CutSuffix(got, "…")
			for n := len(want) - 1; ok && n >= 8 && n*3 >= len(want)*2; n-- {
				if strings.HasSuffix(cut, want[:n]) {
					return true
				}
			}
		}
	}
	return false
}

// shows waits until the screen has a text.
func (u *inTmux) shows(text string) {
	u.t.Helper()
	u.until("the screen shows "+text, func() bool { return onScreen(u.screen(), text) })
}

// answers presses a key until the screen has a text: a machine under load is late, and a key that
// was late does not count.
func (u *inTmux) answers(key, text string) {
	u.t.Helper()
	u.again(key+" brings "+text, 2*time.Second, func() bool { return onScreen(u.screen(), text) }, func() { u.presses(key) })
}

// again presses until a condition holds.
func (u *inTmux) again(what string, every time.Duration, holds func() bool, press func()) {
	u.t.Helper()
	var last time.Time
	u.until(what, func() bool {
		if holds() {
			return true
		}
		if time.Since(last) > every { // real clock: a key that was late does not count
			press()
			last = time.Now()
		}
		return false
	})
}

// handles waits until each of the members has a request in the list, and returns their handles.
func (u *inTmux) handles(members ...string) map[string]string {
	u.t.Helper()
	of := map[string]string{}
	u.until("all ask", func() bool {
		out, _ := u.waggle("pending", "--json")
		var doc struct {
			Pending []struct{ Member, Handle string }
		}
		if json.Unmarshal([]byte(out), &doc) != nil {
			return false
		}
		for _, q := range doc.Pending {
			if slices.Contains(members, q.Member) && asksInList(u.screen(), q.Member) {
				of[q.Member] = q.Handle
			}
		}
		return len(of) == len(members)
	})
	return of
}

// asksInList reports a row of an open request of a member on a screen.
func asksInList(screen, member string) bool {
	return slices.ContainsFunc(strings.Split(screen, "\n"), func(l string) bool {
		list, _, _ := strings.Cut(l, "│")
		f := strings.Fields(list)
		i := slices.Index(f, member)
		return i > 0 && strings.Trim(f[i-1], "123456789>") != "" && strings.Trim(f[i-1], "123456789>!.") == ""
	})
}

// One request is allowed on the screen, one denied with a reason, and one of high risk is allowed by
// its handle. q leaves the screen, and the team goes on.
func TestTop(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, topTeam)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "api")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top")
	handles := u.handles("alice", "bob", "carol")
	u.presses("Home")                   // the riskiest; the cursor is on the one that was asked first
	u.shows("type " + handles["carol"]) // the riskiest is selected
	u.answers("a", "high risk: type "+handles["carol"])
	for _, c := range strings.ToLower(handles["carol"]) {
		time.Sleep(60 * time.Millisecond) // real clock: a person types
		u.presses(string(c))
	}
	time.Sleep(60 * time.Millisecond) // real clock: the same
	u.answers("Enter", "2 need you")
	asks := regexp.MustCompile(`api/(alice|bob) asks`)
	u.until("another request is selected", func() bool { return asks.MatchString(u.screen()) })
	first := asks.FindStringSubmatch(u.screen())[1]
	second := map[string]string{"alice": "bob", "bob": "alice"}[first]
	u.answers("a", "1 need you")
	u.shows("api/" + second + " asks")
	u.answers("d", "deny "+handles[second]+", because")
	u.tmux("send-keys", "-l", "-t", "%0", "not today")
	time.Sleep(100 * time.Millisecond) // real clock: a person types
	u.answers("Enter", "failed")       // the task of the denied call
	u.answers("q", "> waggle top")
	u.types("waggle")
	u.shows("need you")
	u.answers("n", "new task")
	u.words("exec: touch begun")
	u.answers("Enter", "no git checkout") // a member without a worktree is made by new --here only
	u.presses("q")
	out, code := u.waggle("status")
	if code != 0 || !strings.Contains(out, "a process leads it") {
		t.Errorf("%d: %s", code, out)
	}
	for name, want := range map[string]string{"carol": "allow", first: "allow", second: "deny"} {
		out, code := u.waggle("show", handles[name])
		if code != 0 || !strings.Contains(out, want+" by operator (top)") {
			t.Errorf("%s: %d: %s", name, code, out)
		}
	}
	if out, _ := u.waggle("show", handles[second]); !strings.Contains(out, "not today") {
		t.Error(out)
	}
}

// For screen readers the same is asked in lines.
func TestTopPlain(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, topTeam)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "api")
	u.types("waggle top --plain")
	u.shows("rm -rf build7")
	u.shows("it deletes files")
	u.shows("and Enter = allow once")
	if strings.Contains(u.screen(), "d and Enter = deny") { // its handle begins with D
		u.until("d and Enter bring the reason", func() bool {
			if !strings.Contains(u.screen(), "deny, because") {
				u.presses("d")
				time.Sleep(700 * time.Millisecond) // real clock: a key that answers stays alone
				u.presses("Enter")
				time.Sleep(700 * time.Millisecond) // real clock: it is drawn
			}
			return strings.Contains(u.screen(), "deny, because")
		})
	} else {
		u.answers("d", "deny, because")
	}
	time.Sleep(100 * time.Millisecond) // real clock: a person types
	u.answers("Enter", "carol: failed")
	u.shows("next: waggle why carol --team api")
	u.shows("a = allow once")
	u.answers("a", "allowed once")
	u.presses("C-c")
	u.until("it ends", func() bool { return strings.HasSuffix(strings.TrimSpace(u.screen()), ">") })
	if out, code := u.waggle("status"); code != 0 || !strings.Contains(out, "a process leads it") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestTopPlainPlan: in lines of text too, a revised plan is shown with what differs from the one before.
func TestTopPlainPlan(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, planned)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "plans")
	u.types("waggle top --plain")
	u.shows("allow it? ")
	if s := u.screen(); strings.Contains(s, "since the revision before") {
		t.Error(s)
	}
	u.answers("d", "deny, because")
	u.words("add undo")
	u.presses("Enter")
	u.shows("a plan, revision 2")
	u.answers("v", "changes since the revision before")
	u.shows("  | +2. undo when it fails")
	u.answers("a", "dan: ready")
}

// TestTopTwoScreens: two open screens show an answer that a command gave. The test measures the time from the
// answer's record to the screens. The figure is that of the best of several answers: others use the machine too.
func TestTopTwoScreens(t *testing.T) {
	testenv.Long(t)
	u := newTmux(t, topTeam)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "api")
	u.tmux("split-window", "-d", "-h", "-t", "%0", "env", "ENV=", "PS1=> ", "sh")
	u.tmux("send-keys", "-t", "%0", "waggle top", "Enter")
	u.tmux("send-keys", "-t", "%1", "waggle top", "Enter")
	panes := []string{"%0", "%1"}
	at := func(pane string) string { return u.tmux("capture-pane", "-p", "-t", pane) }
	handles := u.handles("alice", "bob", "carol")
	u.until("both show all", func() bool {
		return asksInList(at("%1"), "alice") && asksInList(at("%1"), "carol")
	})
	best, apart := time.Hour, time.Hour
	for _, name := range []string{"alice", "bob", "carol"} {
		u.does(0, "deny", handles[name], "--team", "api")
		shown := map[string]time.Time{}
		u.until("both show the answer", func() bool {
			for _, p := range panes {
				if shown[p].IsZero() && !asksInList(at(p), name) {
					shown[p] = time.Now()
				}
			}
			return len(shown) == len(panes)
		})
		var doc struct{ Answer struct{ At time.Time } }
		testenv.Must(t, json.Unmarshal([]byte(u.does(0, "show", handles[name], "--json", "--team", "api")), &doc))
		t.Logf("%s: %s and %s after its record", name, shown["%0"].Sub(doc.Answer.At), shown["%1"].Sub(doc.Answer.At))
		best = min(best, max(shown["%0"].Sub(doc.Answer.At), shown["%1"].Sub(doc.Answer.At)))
		apart = min(apart, shown["%0"].Sub(shown["%1"]).Abs())
	}
	for _, p := range panes {
		u.until(p+" says who answered", func() bool { return strings.Contains(at(p), "denied by operator (deny)") })
	}
	testenv.Measured(t, "an answer by command is on two screens %d ms after its record, looked at every 20 ms (aim: 200 ms); they differ for %d ms (aim: 1 s)", best.Milliseconds(), apart.Milliseconds())
}

// TestTopEdits: an input is changed in the person's editor, shown, allowed, and runs instead. The keys
// are those of the person.
func TestTopEdits(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, "team: edits\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: make, owner: ann, instructions: \"touch wrong; touch also\"}]\n")
	writeFile(t, filepath.Join(u.dir, "config.yaml"), "keys: {allow: [o], new: [y]}\n")
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "edits")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	for name, text := range map[string]string{"slow": "", "edit.sh": "if [ -e slow ]; then rm slow; echo it waits; sleep 600; fi\nsed -i s/wrong/right/ \"$1\"\n"} {
		writeFile(t, filepath.Join(u.dir, name), text)
	}
	u.types("EDITOR='sh edit.sh' waggle top --config config.yaml")
	u.shows("edits/ann asks")
	u.presses("e")
	u.shows("it waits")
	u.presses("C-c") // for the editor, which has the terminal
	u.shows("nothing was decided: ")
	u.presses("e")
	u.shows("this runs instead of what was asked")
	u.shows("| touch right; touch also")
	h := u.handles("ann")["ann"]
	u.answers("o", "type "+h+" and Enter") // the real paths of the new input are not known yet
	u.words(strings.ToLower(h))
	u.presses("Enter")
	u.shows("make: completed")
	if !exists(u.dir, "right") {
		t.Error("it did not run")
	}
	if exists(u.dir, "wrong") {
		t.Error("what was asked ran too")
	}
	u.leaves()
	writeFile(t, filepath.Join(u.dir, "config.yaml"), "keys: {alow: [o]}\n")
	u.types("clear; waggle top --config config.yaml")
	u.shows("there is no command alow")
}

const worked = `team: worked
sandbox: {mode: off}
check: "grep -q two made.txt"
policy: {allow: ["Bash(sh make.sh)"]}
members: [{name: ann, agent: exec, worktree: true}]
tasks: [{subject: change, owner: ann, instructions: "sh make.sh"}]
`

// repository makes the directory one of git, with a script that adds a line to a file, and returns
// a function that runs git there.
func (u *inTmux) repository(git string) func(args ...string) string {
	u.t.Helper()
	run := func(args ...string) string {
		u.t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir = u.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			u.t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	for name, text := range map[string]string{"made.txt": "one\n", "make.sh": "echo zwei >> made.txt\n", ".gitignore": "/root\n/s\n/t\n/trees\n"} {
		writeFile(u.t, filepath.Join(u.dir, name), text)
	}
	run("init", "-q", "-b", "main")
	run("config", "user.name", "A Person")
	run("config", "user.email", "person@example.com")
	run("add", ".")
	run("commit", "-q", "-m", "first")
	return run
}

// TestTopMerges: the screen shows a member's uncommitted change, takes a comment on a line of it, and merges it.
// A check that fails leaves the branch as it is.
func TestTopMerges(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	git := testenv.Require(t, "git")
	u := newTmux(t, worked)
	run := u.repository(git)
	first := run("rev-parse", "main")
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "worked")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top")
	u.until("it asks or is done", func() bool {
		if strings.Contains(u.screen(), "worked/ann asks") {
			u.presses("a")
			time.Sleep(time.Second) // real clock: one key at a time
		}
		return strings.Contains(u.screen(), "change: completed             +1 -0")
	})
	u.presses("End")
	u.presses("v")
	u.shows("+zwei")
	// A merge of another process is on this screen, with the next command.
	u.does(1, "merge", "ann", "--team", "worked", "-m", "try")
	u.shows("1 need you")
	u.shows("not merged: the check failed")
	u.presses("g")
	u.shows("Enter merges")
	u.words("try")
	u.presses("Enter")
	u.shows("ann was not merged, main is as it was")
	u.shows("1 need you")
	if now := run("rev-parse", "main"); now != first {
		t.Fatalf("main is %s", now)
	}
	u.presses("c")
	u.shows("choose a line")
	u.presses("End")
	u.presses("c")
	u.shows("comment on made.txt:2")
	u.words("say two")
	u.presses("Enter")
	u.shows("# say two")
	u.presses("S")
	u.shows("1 comment sent to ann")
	if out := u.does(0, "inbox", "ann", "--team", "worked"); !strings.Contains(out, "made.txt:2") || !strings.Contains(out, "> +zwei") || !strings.Contains(out, "say two") {
		t.Error(out)
	}
	tree := run("worktree", "list", "--porcelain")
	path, _, _ := strings.Cut(strings.TrimPrefix(tree[strings.LastIndex(tree, "worktree "):], "worktree "), "\n")
	writeFile(t, filepath.Join(path, "made.txt"), "one\ntwo\n")
	u.presses("g")
	u.shows("Enter merges")
	u.words("two")
	u.presses("Enter")
	u.shows("merged ann into main")
	if now := run("show", "main:made.txt"); now != "one\ntwo" {
		t.Errorf("made.txt is %q", now)
	}
}

// TestTopPlainMerges: in lines, a member's work is shown when it is done, and merged by y.
func TestTopPlainMerges(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	git := testenv.Require(t, "git")
	u := newTmux(t, strings.Replace(worked, "grep -q two", "grep -q zwei", 1))
	run := u.repository(git)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "worked")
	u.types("waggle top --plain")
	u.shows("+zwei")
	u.shows("merge the work of ann?")
	writeFile(t, filepath.Join(u.dir, "made.txt"), "dirty\n")
	u.does(6, "merge", "ann", "--team", "worked")
	u.shows("ann was not merged: ")
	u.shows("waggle merge ann --team worked")
	run("checkout", "-q", "--", "made.txt")
	u.answers("n", "ann keeps its work: waggle review ann")
	u.presses("C-c")
	u.until("it ends", func() bool { return strings.HasSuffix(strings.TrimSpace(u.screen()), ">") })
	// A comment on a line of it, by its number, is one message with file, line and quoted code.
	u.types("clear; waggle top --plain")
	u.shows("7 +zwei")
	u.shows("merge the work of ann? [y/N] c = comment on a line")
	u.answers("c", "number of the line")
	u.words("7 say two")
	u.presses("Enter")
	u.shows("comment on made.txt:2, +zwei: say two")
	u.answers("s", "1 comment sent to ann")
	if out := u.does(0, "inbox", "ann", "--team", "worked"); !strings.Contains(out, "made.txt:2") || !strings.Contains(out, "> +zwei") || !strings.Contains(out, "say two") {
		t.Error(out)
	}
	u.presses("C-c")
	u.until("it ends", func() bool { return strings.HasSuffix(strings.TrimSpace(u.screen()), ">") })
	u.types("clear; waggle top --plain")
	u.shows("merge the work of ann?")
	u.answers("y", "merged ann into main")
	if now := run("show", "main:made.txt"); now != "one\nzwei" {
		t.Errorf("made.txt is %q", now)
	}
}

// TestTopRows: on the real screen a member that works has the last line of its output in its row, and
// one whose setup failed needs the person, with the next command.
func TestTopRows(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	git := testenv.Require(t, "git")
	u := newTmux(t, `team: rows
sandbox: {mode: off}
policy: {allow: [Bash]}
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec, worktree: {setup: ["false"]}}
tasks: [{subject: walk, owner: ann, instructions: "echo first; echo second; sleep 600"}]
`)
	u.repository(git)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "rows")
	u.tmux("resize-window", "-t", "mine:", "-x", "160", "-y", "40")
	u.types("waggle top")
	u.shows("walk: second")
	u.presses("Home")
	u.shows("blocked: setup: ")
	u.shows("next: waggle peek bob --team rows")
	u.shows("1 failed   1 working")
}
