//go:build unix

package cli_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/testenv"
	"waggle/machine"
	"waggle/policy"
	"waggle/record"
)

var update = flag.Bool("update", false, "write the golden files")

// The journeys of a user that lead over the full screen, in a terminal multiplexer, with the whole
// program. What the screen shows is compared at three sizes, without what differs from run to run.

var (
	journeyRow  = regexp.MustCompile(`^([ 1-9][ >])(!!|! |\. |\? |ok|  ) (\S+) +(\S+).*$`)
	journeyAge  = regexp.MustCompile(`\b\d+(\.\d)?(s|m\d\ds|h\d\dm|d)\b`)
	journeyPart = regexp.MustCompile(`\d+-\d+ of \d+|\d+ more lines`)
)

// steady is a screen without what differs from run to run: ages, handles, paths.
func steady(screen string, handles []string) string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(screen, "\n"), "\n") {
		list, pane, both := strings.Cut(l, "│")
		if m := journeyRow.FindStringSubmatch(list); m != nil && both {
			list = m[1] + m[2] + " " + m[3] + " " + m[4]
		}
		f := strings.Fields(pane)
		if !both {
			f = strings.Fields(l)
		}
		if len(f) > 0 && slices.Contains([]string{"env", "cwd", "word", "program"}, f[0]) || strings.HasPrefix(strings.TrimPrefix(pane, " "), "        + ") || !both && strings.HasPrefix(l, "        + ") {
			pane = " …"
			if !both {
				list = "…"
			}
		}
		if both {
			l = strings.TrimRight(list, " ") + "│" + pane
		} else {
			l = list
		}
		for _, h := range handles {
			l = strings.ReplaceAll(l, h, "HNDL")
		}
		l = journeyPart.ReplaceAllString(journeyAge.ReplaceAllString(l, "AGE"), "SOME")
		l = strings.TrimRight(l, " ")
		if strings.HasSuffix(l, "…") && len(out) > 0 && out[len(out)-1] == l || l == "│" {
			continue
		}
		out = append(out, l)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

// known are the handles of every request that was ever asked.
func (u *inTmux) known() (handles []string) {
	u.t.Helper()
	out, _ := u.waggle("pending", "--all", "--json")
	var doc struct{ Pending []struct{ Handle string } }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		u.t.Fatalf("%v: %s", err, out)
	}
	for _, p := range doc.Pending {
		handles = append(handles, p.Handle)
	}
	return handles
}

// sees compares the screen with its golden at three sizes. It has a text at each of them.
func (u *inTmux) sees(name, text string) {
	u.t.Helper()
	u.atEach(name, func(size string) string {
		_, h, _ := strings.Cut(size, "x")
		last := ""
		u.until(name+" shows "+text+" at "+size, func() bool {
			was := last
			last = u.screen()
			lines := strings.Split(strings.TrimRight(last, "\n"), "\n")
			return was == last && strings.Contains(last, text) && strconv.Itoa(len(lines)) == h
		})
		return last
	})
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
}

// atEach compares the screen at each of the three sizes with its golden. A screen that differs is read
// again for a minute: after a change of the size the frame before it is there for a while.
func (u *inTmux) atEach(name string, shown func(size string) string) {
	u.t.Helper()
	handles := u.known()
	for _, size := range []string{"80x24", "120x40", "300x80"} {
		w, h, _ := strings.Cut(size, "x")
		u.tmux("resize-window", "-t", "mine:", "-x", w, "-y", h)
		want, _ := os.ReadFile(goldenFile(name + "-" + size)) // golden says that there is none
		var got string
		testenv.WaitFor(time.Minute, func() bool { got = steady(shown(size), handles); return got == string(want) || *update })
		u.golden(name+"-"+size, got)
	}
}

func goldenFile(name string) string { return filepath.Join("testdata", "journeys", name+".golden") }

// golden compares a screen with its golden.
func (u *inTmux) golden(name, got string) {
	u.t.Helper()
	file := goldenFile(name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			u.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		u.t.Fatalf("%v: go test ./internal/cli -run Journey -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		u.t.Errorf("%s:\n%s", name, diff)
	}
}

// prints compares what a command writes with its golden at three sizes.
func (u *inTmux) prints(name, command string) {
	u.t.Helper()
	u.atEach(name, func(size string) string {
		u.types("clear; " + command + "; echo $? at " + size)
		last := ""
		u.until(name+" has ended at "+size, func() bool {
			last = u.screen()
			return regexp.MustCompile(`(?m)^\d+ at ` + size).MatchString(last)
		})
		first, _, _ := strings.Cut(last, " at "+size+"\n")
		return first
	})
}

// does runs a command that must end with an exit code, and returns what it wrote.
func (u *inTmux) does(code int, args ...string) string {
	u.t.Helper()
	out, got := u.waggle(args...)
	if got != code {
		u.t.Fatalf("waggle %s: exit %d instead of %d: %s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// leaves ends the screen.
func (u *inTmux) leaves() {
	u.t.Helper()
	var last time.Time
	u.until("the screen is left", func() bool {
		if strings.TrimSpace(u.tmux("display-message", "-p", "-t", "%0", "#{alternate_on}")) == "0" {
			return true
		}
		if time.Since(last) > 2*time.Second { // real clock: a key that was late does not count
			last = time.Now()
			u.presses("q")
		}
		return false
	})
}

// words types a text as a person does.
func (u *inTmux) words(text string) {
	for _, c := range text {
		time.Sleep(60 * time.Millisecond) // real clock: a person types
		u.tmux("send-keys", "-l", "-t", "%0", string(c))
	}
	time.Sleep(60 * time.Millisecond) // real clock: the same
}

// TestJourneyFirst (J1): a team of one, its request on the screen, the first answer, the end.
func TestJourneyFirst(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, "team: first\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: list, owner: ann, instructions: \"ls; touch listed\"}]\n")
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "first")
	u.types("waggle")
	u.handles("ann")
	u.sees("first-asks", "1 need you")
	u.answers("y", "list: completed")
	u.presses("G")
	u.sees("first-done", "waggle.yaml")
	u.leaves()
	u.does(0, "down", "first")
	if out := u.does(0, "gc"); !strings.Contains(out, "nothing is left") {
		t.Error(out)
	}
}

// asked is the number of open requests.
func (u *inTmux) asked(team string) int {
	out, code := u.waggle("pending", "--json", "--team", team)
	if code != 0 {
		return -1
	}
	return strings.Count(out, `"digest"`)
}

// batch answers all calls below high risk at once, and returns how many keys that took. The cursor is
// not on one of high risk.
func (u *inTmux) batch() (keys int) {
	u.t.Helper()
	key := func(k string) {
		time.Sleep(700 * time.Millisecond) // real clock: a page stands half a second
		keys++
		u.presses(k)
	}
	for !strings.Contains(u.screen(), "below high risk: y") && keys < 10 {
		key("b")
		time.Sleep(300 * time.Millisecond) // real clock: the screen is drawn
	}
	for strings.Contains(u.screen(), "Batch of") && keys < 40 {
		if strings.Contains(u.screen(), "more lines to read") {
			key("Space")
		} else {
			key("y")
		}
		time.Sleep(300 * time.Millisecond) // real clock: a key that answers stays alone
	}
	return keys
}

// TestJourneyEight (J2): eight members ask forty things. The one of high risk takes its handle, one is
// denied with a reason that reaches its member, and the others are answered in batches, each as it
// was shown.
func TestJourneyEight(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	members := []string{"m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"}
	file := "team: eight\nsandbox: {mode: off}\nmembers:\n"
	for _, m := range members {
		file += "  - {name: " + m + ", agent: exec}\n"
	}
	u := newTmux(t, file)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "eight")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	// One after the other, for their order on the screen.
	for i, m := range members {
		does := map[string]string{"m1": "rm -rf build1", "m8": "touch other"}[m]
		if does == "" {
			does = "touch made"
		}
		u.does(0, "task", "add", "first of "+m, "-i", does, "--owner", m, "--team", "eight")
		u.until(m+" asks", func() bool { return u.asked("eight") == i+1 })
	}
	u.types("waggle top")
	handles := u.handles(members...)
	began := time.Now()
	u.presses("g")
	u.sees("eight-asks", "eight/m1 asks")
	u.answers("y", "high risk: type "+handles["m1"])
	u.words(strings.ToLower(handles["m1"]))
	u.answers("Enter", "7 need you")
	on := func() bool {
		for _, l := range strings.Split(u.screen(), "\n") {
			if list, _, _ := strings.Cut(l, "│"); strings.Contains(list, ">") && strings.Contains(list, handles["m8"]) {
				return true
			}
		}
		return false
	}
	u.until("the cursor is on m8", func() bool {
		if !on() {
			u.presses("j")
			time.Sleep(100 * time.Millisecond) // real clock: a person types
		}
		if !on() && strings.Contains(u.screen(), ">  m1") {
			u.presses("g")
		}
		return on()
	})
	u.answers("x", "deny "+handles["m8"])
	u.words("not here")
	u.answers("Enter", "m8           failed") // its task, by the denial
	if out := u.does(0, "log", "m8@eight", "--kind", "answered", "--json"); !strings.Contains(out, "not here") {
		t.Error(out)
	}
	var more []string
	for i := range 32 {
		name := "made-" + strconv.Itoa(i)
		more = append(more, name)
		u.does(0, "task", "add", "make "+strconv.Itoa(i), "-i", "touch "+name, "--owner", members[i%7], "--team", "eight")
	}
	made := func() bool {
		for _, name := range more {
			if _, err := os.Stat(filepath.Join(u.dir, name)); err != nil {
				return false
			}
		}
		return true
	}
	batches, keys := 0, 0
	for ; !made() && batches < 12; batches++ {
		u.until("the members ask or are done", func() bool { return made() || u.asked("eight") >= 6 || u.asked("eight") > 0 && batches > 4 })
		if made() {
			break
		}
		keys += u.batch()
	}
	testenv.Measured(t, "40 requests of 8 members on the full screen: 38 in %d batches by %d keys, all in %d s", batches, keys, int(time.Since(began).Seconds()))
	if !made() {
		t.Error("not every call has run")
	}
	if _, err := os.Stat(filepath.Join(u.dir, "other")); err == nil {
		t.Error("the denied call has run")
	}
	u.leaves()
}

// TestJourneyHundred: of a hundred open requests of eight members those below high risk are answered on
// the screen with at most twenty keys, each exactly as it was asked. Those of high risk stay open.
func TestJourneyHundred(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	c := newCrowd(t, 8)
	alone := []string{"go list a", "go doc a", "go env A", "npm ls a", "npm why a", "make", "npm root", "go mod why a", "touch a", "less a", "pnpm list", "cargo tree", "gofmt -w a", "tee a", "touch b", "mkdir c", "cp a b", "go mod graph", "yarn list", "go vet"}
	for i := range 100 {
		of := mixed[i%len(mixed)]
		switch {
		case i%20 == 19:
			of = risky[i/20%len(risky)]
		case i >= 80: // alone
			of = func(int) (string, string, string) { return "Bash", "command", alone[(i-80)%len(alone)] }
		}
		tool, key, value := of(i)
		c.call(c.askers[i%8], tool, key, value)
	}
	u := newTmux(t, "")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top --root " + c.op.Root.Path + " --state " + c.op.Home.Path + " --team crowd")
	u.shows("100 need you")
	u.presses("6") // those of high risk are first
	u.shows("risk  crowd/")
	keys := 1 + u.batch()
	u.shows("95 requests allow") // decided and sent
	testenv.Measured(t, "95 of 100 open requests of 8 members on a full screen of 120x40: %d keys", keys)
	if keys > 20 {
		t.Errorf("%d keys", keys)
	}
	c.must(c.s.Journal.Refresh(t.Context()))
	answered := 0
	for _, r := range c.s.Lead.Requests {
		high := policy.RiskOf(policy.Call{Tool: r.Ask.Tool, Input: []byte(r.Ask.Input), Cwd: r.Ask.Cwd}) == policy.RiskHigh
		switch d := r.Decided; {
		case d == nil && !high:
			t.Errorf("%s is open: %s", r.Handle, r.Ask.Input)
		case d == nil:
		case high:
			t.Errorf("%s of high risk was answered: %+v", r.Handle, d)
		case d.Decision != record.DecisionAllow || d.Via != "top" || r.State != machine.RequestSent || d.Digest != r.Digest:
			t.Errorf("%s: %s, %+v", r.Handle, r.State, d)
		default:
			answered++
		}
	}
	if answered != 95 {
		t.Errorf("%d were answered", answered)
	}
	u.leaves()
}

// TestJourneyCrash (J3): every process is killed; the same requests are on the screen after resume.
func TestJourneyCrash(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, `team: crash
sandbox: {mode: off}
members: [{name: alice, agent: exec}, {name: carol, agent: exec}]
tasks:
  - {subject: list, owner: alice, instructions: "ls; touch listed"}
  - {subject: clean, owner: carol, instructions: "rm -rf build7; touch cleaned"}
`)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "crash")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top")
	before := u.handles("alice", "carol")
	u.presses("g")
	u.sees("crash-before", "crash/carol asks")
	var st struct {
		Leader  struct{ PID int }
		Members []struct{ PID int }
	}
	if err := json.Unmarshal([]byte(u.does(0, "status", "--json", "--team", "crash")), &st); err != nil {
		t.Fatal(err)
	}
	pids := []int{st.Leader.PID}
	for _, m := range st.Members {
		pids = append(pids, m.PID)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(pid, err)
		}
	}
	u.shows("nobody leads it")
	u.does(0, "resume", "--detach", "crash")
	u.until("it is led", func() bool {
		return !strings.Contains(u.screen(), "nobody leads") && !strings.Contains(u.screen(), "dead")
	})
	u.sees("crash-before", "crash/carol asks") // the same screen
	if after := u.handles("alice", "carol"); !cmp.Equal(before, after) {
		t.Error(cmp.Diff(before, after))
	}
}

// TestJourneyHeadless (J5): a run without a person ends with the code of a request that nobody may
// answer. Its report names the rule that allowed each call.
func TestJourneyHeadless(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, `team: headless
sandbox: {mode: off}
policy: {allow: ["Bash(ls)"]}
members: [{name: ann, agent: exec}]
tasks:
  - {subject: list, owner: ann, instructions: "ls"}
  - {subject: clean, owner: ann, after: [list], instructions: "rm -rf build7"}
`)
	u.types("waggle run waggle.yaml --headless --quiet --report out; echo ended $?")
	u.shows("ended 3")
	u.prints("headless-report", "sed '/^Members/,$d' out/report.txt")
	u.types("clear; waggle gc")
	u.shows("nothing is left")
}

const planned = `team: plans
sandbox: {mode: off}
policy: {allow: [Write]}
members:
  - name: dan
    agent: script
    plan: required
    steps:
      - {plan: ["# Move\n1. copy\n", "# Move\n1. copy\n2. undo when it fails\n"]}
      - {tool: {name: Write, input: {file_path: made, content: x}}}
tasks: [{subject: move, owner: dan}]
`

// TestJourneyPlan (J8): a plan is sent back with a reason, the next revision shows what differs, and
// nothing is written before it is allowed.
func TestJourneyPlan(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, planned)
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "plans")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top")
	u.shows("a plan, revision 1")
	u.answers("x", "because")
	u.words("add undo")
	var last time.Time
	u.until("the reason is taken", func() bool {
		if time.Since(last) > 2*time.Second { // real clock: a key that was late does not count
			last = time.Now()
			u.presses("Enter")
		}
		return !strings.Contains(u.screen(), "because (Enter")
	})
	u.until("the second revision is selected", func() bool {
		if !strings.Contains(u.screen(), "a plan, revision 2") {
			u.presses("G")
			u.presses("g")
		}
		return strings.Contains(u.screen(), "changes since the revision before")
	})
	u.sees("plan-revised", "+2. undo when it fails")
	if _, err := os.Stat(filepath.Join(u.dir, "made")); err == nil {
		t.Fatal("it was written before the plan was allowed")
	}
	u.answers("y", "move: completed")
	if _, err := os.Stat(filepath.Join(u.dir, "made")); err != nil {
		t.Error(err)
	}
}

// TestJourneyBack (J9): the screen is left and comes back; digest, why and peek say what happened.
func TestJourneyBack(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, strings.Replace(topTeam, "team: api", "team: back", 1))
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "back")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top")
	h := u.handles("alice", "bob", "carol")
	u.leaves()
	u.does(0, "deny", h["bob"], "-m", "later", "--team", "back")
	u.types("clear; waggle top")
	u.until("two are left", func() bool {
		s := u.screen()
		return strings.Contains(s, h["alice"]) && strings.Contains(s, h["carol"]) && !strings.Contains(s, h["bob"]+" ")
	})
	u.answers("T", "You decided today: 0 allowed, 1 denied")
	u.shows("Left behind: 0 items to clean up")
	u.answers("Escape", "[Ask]")
	u.presses("g")
	u.sees("back-asks", "back/carol asks")
	u.until("bob's task is shown as failed", func() bool { return strings.Contains(u.screen(), "count: failed") })
	u.leaves()
	for _, args := range [][]string{{"recap", "--team", "back"}, {"why", "alice", "--team", "back"}, {"peek", "alice", "--team", "back"}} {
		if out, code := u.waggle(args...); code != 0 || out == "" {
			t.Errorf("%v: %d: %s", args, code, out)
		}
	}
}

// TestJourneyTeach (J10): a rule is made from a request on the screen, and the team is closed with
// nothing left behind.
func TestJourneyTeach(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	u := newTmux(t, "team: teach\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: one, owner: ann, instructions: \"touch made\"}]\n")
	u.does(0, "up", "--detach", "waggle.yaml")
	defer u.waggle("down", "--force", "teach")
	u.tmux("resize-window", "-t", "mine:", "-x", "120", "-y", "40")
	u.types("waggle top")
	u.handles("ann")
	u.presses("A")
	u.sees("teach-rule", "it matches 1 of the last 1 calls")
	u.answers("y", "one: completed")
	if out := u.does(0, "policy", "list", "--team", "teach"); !strings.Contains(out, "Bash(touch made)") {
		t.Error(out)
	}
	u.does(0, "task", "add", "again", "-i", "touch made", "--owner", "ann", "--team", "teach")
	u.shows("again: completed")
	u.leaves()
	u.does(0, "stop", "ann", "--grace", "5s", "--team", "teach")
	u.does(0, "down", "teach")
	if out := u.does(0, "gc"); !strings.Contains(out, "nothing is left") {
		t.Error(out)
	}
}
