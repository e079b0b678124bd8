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

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/machine"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

var update = flag.Bool("update", false, "write the golden files")

// The journeys of a user that lead over the full screen, in a terminal multiplexer, with the whole
// program. What the screen shows is compared at three sizes, without what differs from run to run.

var (
	journeyRow  = regexp.MustCompile(`^([ 1-9][ >])(!!|! |\. |\? |ok|  ) (\S+) +(\S+).*$`)
	rowAge      = regexp.MustCompile(`^(now|\d+[mhd])$`)
	journeyAge  = regexp.MustCompile(`\b\d+(\.\d)?(s|m\d\ds|h\d\dm|d)\b`)
	journeyPart = regexp.MustCompile(`\d+-\d+ of \d+|\d+ more lines`)
)

// steady is a screen without what differs from run to run: ages, handles, paths.
func steady(screen string, handles []string) string {
	var out []string
	for _, l := range strings.Split(strings.TrimRight(screen, "\n"), "\n") {
		list, pane, both := strings.Cut(l, "│")
		if m := journeyRow.FindStringSubmatch(list); m != nil && both {
			list = m[1] + m[2] + " " + m[3]
			if !rowAge.MatchString(m[4]) {
				list += " " + m[4]
			}
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
			return was == last && onScreen(last, text) && strconv.Itoa(len(lines)) == h
		})
		return last
	})
	u.sized("120x40")
}

// sized gives the person's terminal a size.
func (u *inTmux) sized(size string) {
	u.t.Helper()
	w, h, _ := strings.Cut(size, "x")
	u.tmux("resize-window", "-t", "mine:", "-x", w, "-y", h)
}

// atEach compares the screen at each of the three sizes with its golden. A screen that differs is read
// again for a minute: after a change of the size the frame before it is there for a while.
func (u *inTmux) atEach(name string, shown func(size string) string) {
	u.t.Helper()
	handles := u.known()
	for _, size := range []string{"80x24", "120x40", "300x80"} {
		u.sized(size)
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
		writeFile(u.t, file, got)
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		u.t.Fatalf("%v: go test ./internal/face/cli -run Journey -update writes it", err)
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
	u.again("the screen is left", 2*time.Second, func() bool {
		return strings.TrimSpace(u.tmux("display-message", "-p", "-t", "%0", "#{alternate_on}")) == "0"
	}, func() { u.presses("q") })
}

// words types a text as a person does.
func (u *inTmux) words(text string) {
	for _, c := range text {
		time.Sleep(60 * time.Millisecond) // real clock: a person types
		u.key("-l", string(c))
	}
	time.Sleep(60 * time.Millisecond) // real clock: the same
}

// journey is a user's journey in a terminal of one size, whose commands and keys count: those that the person types. What
// the test itself looks up, or presses again because the machine was late, does not.
type journey struct {
	*inTmux
	size           string
	commands, keys int
}

// counted is what the person of a journey types: so many commands, each with its Enter, and at most so many keys on the
// full screen, exactly where they are 20 or less.
type counted struct {
	name, file     string
	commands, keys int
	scrolls        int // keys at 80x24 besides, by which the person reads to the end of what they answer
}

// play plays a journey at 80x24 and at 120x40. How long it takes is measured, and is mostly the test's own waiting.
func (c counted) play(t *testing.T, plays func(j *journey)) {
	testenv.Long(t)
	t.Parallel()
	for _, size := range []string{"80x24", "120x40"} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			j := &journey{inTmux: newTmux(t, c.file), size: size}
			j.sized(size)
			began := time.Now()
			plays(j)
			testenv.Measured(t, "journey %s at %s: %d commands, %d keys, %.1f s", c.name, size, j.commands, j.keys, time.Since(began).Seconds())
			keys := c.keys
			if size == "80x24" {
				keys += c.scrolls
			}
			if j.commands != c.commands || j.keys > keys || j.keys < min(keys, 20) {
				t.Errorf("%d commands and %d keys, want %d and %d", j.commands, j.keys, c.commands, keys)
			}
		})
	}
}

// types counts the commands of a line.
func (j *journey) types(line string) {
	j.commands += len(regexp.MustCompile(`(^|; *)waggle\b`).FindAllString(line, -1))
	j.inTmux.types(line)
}

// runs is a command that the person types in another window.
func (j *journey) runs(code int, args ...string) string {
	j.t.Helper()
	j.commands++
	return j.does(code, args...)
}

func (j *journey) presses(key string) { j.keys++; j.inTmux.presses(key) }

func (j *journey) answers(key, text string) { j.t.Helper(); j.keys++; j.inTmux.answers(key, text) }

func (j *journey) words(text string) { j.keys += len(text); j.inTmux.words(text) }

func (j *journey) leaves() { j.t.Helper(); j.keys++; j.inTmux.leaves() }

// sees compares the screen with its goldens, once for both sizes of the journey.
func (j *journey) sees(name, text string) {
	j.t.Helper()
	if j.shows(text); j.size == "120x40" {
		j.inTmux.sees(name, text)
	}
}

// TestJourneyFirst (J1): a team of one, its request on the screen, the first answer, the end.
func TestJourneyFirst(t *testing.T) {
	file := "team: first\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: list, owner: ann, instructions: \"ls; touch listed\"}]\n"
	counted{name: "J1, first five minutes", file: file, commands: 4, keys: 3}.play(t, func(j *journey) {
		j.runs(0, "up", "--detach", "waggle.yaml")
		defer j.waggle("down", "--force", "first")
		j.types("waggle")
		j.handles("ann")
		j.sees("first-asks", "1 need you")
		j.answers("a", "list: completed")
		j.presses("End")
		j.sees("first-done", "waggle.yaml")
		j.leaves()
		j.runs(0, "down", "first")
		if out := j.runs(0, "gc"); !strings.Contains(out, "nothing is left") {
			j.t.Error(out)
		}
	})
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
	for !strings.Contains(u.screen(), "below high risk: a") && keys < 10 {
		key("b")
		time.Sleep(300 * time.Millisecond) // real clock: the screen is drawn
	}
	for strings.Contains(u.screen(), "Batch of") && keys < 40 {
		if strings.Contains(u.screen(), "more lines to read") {
			key("Space")
		} else {
			key("a")
		}
		time.Sleep(300 * time.Millisecond) // real clock: a key that answers stays alone
	}
	return keys
}

// TestJourneyEight (J2): eight members ask forty things. The one of high risk takes its handle, one is
// denied with a reason that reaches its member, and the others are answered in batches, each as it
// was shown.
func TestJourneyEight(t *testing.T) {
	members := []string{"m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"}
	file := "team: eight\nsandbox: {mode: off}\nmembers:\n"
	for _, m := range members {
		file += "  - {name: " + m + ", agent: exec}\n"
	}
	counted{name: "J2, eight agents", file: file, commands: 2, keys: 100}.play(t, func(j *journey) {
		j.runs(0, "up", "--detach", "waggle.yaml")
		defer j.waggle("down", "--force", "eight")
		// One after the other, for their order on the screen.
		for i, m := range members {
			does := map[string]string{"m1": "rm -rf build1", "m8": "touch other"}[m]
			if does == "" {
				does = "touch made"
			}
			j.does(0, "task", "add", "first of "+m, "-i", does, "--owner", m, "--team", "eight")
			j.until(m+" asks", func() bool { return j.asked("eight") == i+1 })
		}
		j.types("waggle top")
		handles := j.handles(members...)
		j.presses("Home")
		j.sees("eight-asks", "eight/m1 asks")
		j.answers("a", "high risk: type "+handles["m1"])
		j.words(strings.ToLower(handles["m1"]))
		j.answers("Enter", "7 need you")
		on := func() bool {
			for _, l := range strings.Split(j.screen(), "\n") {
				if list, _, _ := strings.Cut(l, "│"); strings.Contains(list, ">") && asksInList(list, "m8") {
					return true
				}
			}
			return false
		}
		j.until("the cursor is on m8", func() bool {
			if !on() {
				j.presses("j")
				time.Sleep(100 * time.Millisecond) // real clock: a person types
			}
			if !on() && strings.Contains(j.screen(), ">  m1") {
				j.presses("Home")
			}
			return on()
		})
		j.answers("d", "deny "+handles["m8"])
		j.words("not here")
		j.answers("Enter", "?  m8 ") // its task, by the denial
		if out := j.does(0, "log", "m8@eight", "--kind", "answered", "--json"); !strings.Contains(out, "not here") {
			j.t.Error(out)
		}
		var more []string
		for i := range 32 {
			name := "made-" + strconv.Itoa(i)
			more = append(more, name)
			j.does(0, "task", "add", "make "+strconv.Itoa(i), "-i", "touch "+name, "--owner", members[i%7], "--team", "eight")
		}
		made := func() bool {
			for _, name := range more {
				if !exists(j.dir, name) {
					return false
				}
			}
			return true
		}
		batches, keys := 0, 0
		for ; !made() && batches < 12; batches++ {
			j.until("the members ask or are done", func() bool { return made() || j.asked("eight") >= 6 || j.asked("eight") > 0 && batches > 4 })
			if made() {
				break
			}
			keys += j.batch()
		}
		j.keys += keys
		if !made() {
			j.t.Error("not every call has run")
		}
		if exists(j.dir, "other") {
			j.t.Error("the denied call has run")
		}
		j.leaves()
	})
}

// alone puts fifteen requests on record of which no two are alike: calls, edits, plans and questions in words.
func (c *crowd) alone() {
	of := func(i int) *asker { return c.askers[i%len(c.askers)] }
	for i, command := range []string{"go doc a", "npm ls a", "make", "touch a", "cargo tree", "gofmt -w a", "mkdir c", "pnpm list", "tee a"} {
		c.call(of(i), "Bash", "command", command)
	}
	for i, path := range []string{"docs/guide.md", "go.mod"} {
		c.call(of(i+9), "Write", "file_path", path)
	}
	for i, plan := range []string{"# Move\n1. copy\n2. remove\n", "# Test\n1. write tests\n"} {
		c.ask(of(i+11), protocol.KindPlanApprovalRequest, record.Ask{Plan: plan})
	}
	for i, q := range []string{"Which port?", "Keep the old name?"} {
		c.ask(of(i+13), record.KindQuestion, record.Ask{Input: record.QuestionInput([]record.Question{{Text: q, Header: "Choice", Options: []record.Option{{Label: "one"}, {Label: "two"}}}})})
	}
}

// TestJourneyHundred: a hundred open requests of eight members, 80 of low and medium risk in six groups, fifteen alone and five
// of high risk, are cleared on the screen by a, d, b and Tab. Those of high risk take their handles, whose keys are not counted; the
// others take at most 35 keys. No key of a batch answers one of high risk, and each is answered exactly as it was asked.
func TestJourneyHundred(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, size := range []string{"80x24", "120x40"} {
		t.Run(size, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, 8)
			for i := range 80 {
				tool, key, value := mixed[i%len(mixed)](i)
				c.call(c.askers[i%8], tool, key, value)
			}
			c.alone()
			for i, of := range risky {
				tool, key, value := of(i)
				c.call(c.askers[i], tool, key, value)
			}
			for i, host := range []string{"proxy.example", "registry.example"} { // of members without a sandbox
				c.ask(c.askers[3+i], protocol.KindSandboxPermissionRequest, record.Ask{Host: host, Port: "443", Reason: "a download"})
			}
			_, err := c.op.Pass(t.Context(), c.s) // which takes in the questions
			testenv.Must(t, err)
			h := &hundred{journey: &journey{inTmux: newTmux(t, ""), size: size}, crowd: c}
			h.sized(size)
			h.types("waggle top --root " + c.op.Root.Path + " --state " + c.op.Home.Path + " --team crowd")
			h.shows("100 need you")
			h.know()
			for range 4 {
				h.high()
			}
			h.keys = 0
			h.presses("Tab") // over the fifth
			h.shows("medium risk  crowd/")
			for h.left() > 1 && h.keys <= 60 {
				h.next()
			}
			counted := h.keys
			h.high()
			h.keys = counted
			h.shows("0 need you")
			testenv.Measured(t, "100 open requests of 8 members on a full screen of %s, 80 in 6 groups, 15 alone, 5 of high risk by their handles: %d keys for the 95", size, h.keys)
			if h.keys > 35 {
				t.Errorf("%d keys", h.keys)
			}
			h.check()
			h.leaves()
		})
	}
}

// hundred is a person at the screen of a crowd that asks a hundred things.
type hundred struct {
	*journey
	crowd  *crowd
	groups map[string]int // how many are alike, by handle
	denied string         // a handle
}

// know reads the groups.
func (h *hundred) know() {
	h.t.Helper()
	qs, err := decide.Of(h.crowd.op).Pending(h.t.Context(), "crowd", false)
	testenv.Must(h.crowd.t, err)
	h.groups = map[string]int{}
	groups, alone, high := 0, 0, 0
	for _, g := range decide.Groups(qs) {
		for _, q := range g.Requests {
			h.groups[q.Handle] = g.Count
		}
		switch {
		case g.Risk == string(policy.RiskHigh):
			high += g.Count
		case g.Count > 1:
			groups++
		default:
			alone++
		}
	}
	if len(qs) != 100 || groups != 6 || alone != 15 || high != 5 {
		h.t.Fatalf("%d requests, %d groups, %d alone, %d of high risk", len(qs), groups, alone, high)
	}
}

// left is how many requests the screen counts.
func (h *hundred) left() int {
	h.t.Helper()
	n := -1
	h.until("the screen counts", func() bool {
		m := regexp.MustCompile(`(\d+) need you`).FindStringSubmatch(h.screen())
		if m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		return m != nil
	})
	return n
}

// selected waits until the right side shows an open request that was not answered, and returns its handle and its head.
func (h *hundred) selected() (handle, head string) {
	h.t.Helper()
	h.until("a request is selected", func() bool {
		handle, head = h.head()
		return handle != ""
	})
	time.Sleep(700 * time.Millisecond) // real clock: it stands half a second
	return handle, head
}

// head is the handle and the head of the request on the right side, "" where there is none.
func (h *hundred) head() (handle, head string) {
	if m := regexp.MustCompile(`│ ?([2-9A-Z]{4})  ((low|medium|high) risk .*)`).FindStringSubmatch(h.screen()); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// falls presses a key that answers, and waits until the count of what is open has fallen. on is the request that the key
// is for: where a late key has answered it meanwhile, another one is selected. "": it is for a batch.
func (h *hundred) falls(key, on string) {
	h.t.Helper()
	was := h.left()
	h.keys++
	h.again(key+" answers", 3*time.Second, func() bool {
		handle, _ := h.head()
		return h.left() < was || on != "" && handle != on
	}, func() { h.inTmux.presses(key) })
}

// high allows one of high risk by its handle.
func (h *hundred) high() {
	h.t.Helper()
	handle, head := h.selected()
	if !strings.HasPrefix(head, "high risk") {
		h.t.Fatalf("%s is selected: %s", handle, head)
	}
	h.enters("high risk: type "+handle, "a", strings.ToLower(handle))
}

// enters types a line that a key begins, and Enter, and waits until the count of what is open has fallen. A screen that was
// late takes no line.
func (h *hundred) enters(label, key, text string) {
	h.t.Helper()
	was := h.left()
	h.keys += len(key+text) + 1
	h.again(label+" is answered", 3*time.Second, func() bool { return h.left() < was }, func() {
		if !onScreen(h.screen(), label) {
			h.inTmux.answers(key, label)
			h.inTmux.words(text)
			time.Sleep(100 * time.Millisecond) // real clock: a person types
		}
		h.inTmux.presses("Enter")
	})
}

// next answers what is selected: all that are alike, words, or the one.
func (h *hundred) next() {
	h.t.Helper()
	handle, head := h.selected()
	switch {
	case h.groups[handle] > 1:
		if h.keys++; h.size == "80x24" { // all that a batch may answer, page by page
			h.keys++
			h.inTmux.answers("b", "Batch of")
			h.inTmux.presses("b")
			h.shows("below high risk: ")
			h.pages()
			h.falls("a", "")
			return
		}
		h.inTmux.answers("b", "Batch of "+strconv.Itoa(h.groups[handle]))
		h.pages()
		h.falls("a", "")
	case strings.Contains(head, "question"):
		h.enters("your answer (a number", "a", "2") // the bar may say "nobody leads it: your answer…"
	case h.denied == "":
		h.denied = handle
		h.enters("deny "+handle, "d", "")
	default:
		h.falls("a", handle)
	}
}

// pages reads to the end of a batch.
func (h *hundred) pages() {
	h.t.Helper()
	more := regexp.MustCompile(`\d+ more lines to read`)
	left := ""
	for {
		time.Sleep(700 * time.Millisecond) // real clock: a page stands half a second
		if left = more.FindString(h.screen()); left == "" {
			return
		}
		h.presses("Space")
		h.until("the next page comes", func() bool { return more.FindString(h.screen()) != left })
	}
}

// check compares what was decided with what was asked.
func (h *hundred) check() {
	h.t.Helper()
	c := h.crowd
	open := func(r *control.Request) bool {
		return r.Decided == nil || r.Kind != record.KindQuestion && r.State == machine.RequestDecided
	}
	h.until("every answer is sent", func() bool {
		testenv.Must(c.t, c.s.Journal.Refresh(h.t.Context()))
		return len(c.s.Lead.Requests) == 100 && !slices.ContainsFunc(c.s.Lead.Requests, open)
	})
	for _, r := range c.s.Lead.Requests {
		want, state := record.DecisionAllow, machine.RequestSent
		switch {
		case r.Handle == h.denied:
			want = record.DecisionDeny
		case r.Kind == record.KindQuestion: // its member reads the answer in the journal
			want, state = record.DecisionAnswer, machine.RequestDecided
		}
		if d := r.Decided; d.Decision != want || d.Via != "top" || r.State != state || d.Digest != r.Digest {
			h.t.Errorf("%s: %s, %+v, not %s", r.Handle, r.State, d, want)
		}
	}
}

// TestJourneyCrash (J3): every process is killed; the same requests are on the screen after resume.
func TestJourneyCrash(t *testing.T) {
	file := `team: crash
sandbox: {mode: off}
members: [{name: alice, agent: exec}, {name: carol, agent: exec}]
tasks:
  - {subject: list, owner: alice, instructions: "ls; touch listed"}
  - {subject: clean, owner: carol, instructions: "rm -rf build7; touch cleaned"}
`
	counted{name: "J3, crash and resume", file: file, commands: 5, keys: 1}.play(t, func(j *journey) {
		j.runs(0, "up", "--detach", "waggle.yaml")
		defer j.waggle("down", "--force", "crash")
		j.types("waggle top")
		before := j.handles("alice", "carol")
		j.presses("Home")
		j.sees("crash-before", "crash/carol asks")
		var st struct {
			Leader  struct{ PID int }
			Members []struct{ PID int }
		}
		testenv.Must(j.t, json.Unmarshal([]byte(j.does(0, "status", "--json", "--team", "crash")), &st))
		pids := []int{st.Leader.PID}
		for _, m := range st.Members {
			pids = append(pids, m.PID)
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				j.t.Fatal(pid, err)
			}
		}
		j.shows("nobody leads it")
		if out := j.runs(0, "resume", "crash", "--plan"); !strings.Contains(out, "alice") || !strings.Contains(out, "carol") {
			j.t.Error(out)
		}
		j.runs(0, "resume", "--detach", "crash")
		j.until("it is led", func() bool {
			return !strings.Contains(j.screen(), "nobody lead") && !strings.Contains(j.screen(), "Failed (")
		})
		j.sees("crash-before", "crash/carol asks") // the same screen
		if after := j.handles("alice", "carol"); !cmp.Equal(before, after) {
			j.t.Error(cmp.Diff(before, after))
		}
		if out := j.runs(0, "pending"); !strings.Contains(out, before["alice"]) || !strings.Contains(out, before["carol"]) {
			j.t.Error(out)
		}
	})
}

// TestJourneyHeadless (J5): a run without a person ends with the code of a request that nobody may
// answer. Its report names the rule that allowed each call.
func TestJourneyHeadless(t *testing.T) {
	file := `team: headless
sandbox: {mode: off}
policy: {allow: ["Bash(ls)"]}
members: [{name: ann, agent: exec}]
tasks:
  - {subject: list, owner: ann, instructions: "ls"}
  - {subject: clean, owner: ann, after: [list], instructions: "rm -rf build7"}
`
	counted{name: "J5, headless", file: file, commands: 2, keys: 0}.play(t, func(j *journey) {
		j.types("waggle run waggle.yaml --headless --quiet --report out; echo ended $?")
		j.shows("ended 3")
		j.prints("headless-report", "sed '/^Members/,$d' out/report.txt")
		j.types("clear; waggle gc")
		j.shows("nothing is left")
	})
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
	counted{name: "J8, a plan", file: planned, commands: 2, keys: 12}.play(t, func(j *journey) {
		j.runs(0, "up", "--detach", "waggle.yaml")
		defer j.waggle("down", "--force", "plans")
		j.types("waggle top")
		j.shows("revision  1, sha256")
		j.answers("d", "because")
		j.words("add undo")
		j.again("the reason is taken", 2*time.Second, func() bool { return !strings.Contains(j.screen(), "because (Enter") }, func() { j.inTmux.presses("Enter") })
		j.keys++
		j.until("the denial is said", func() bool { // a key that came before it would leave it on the last line
			return regexp.MustCompile(`(?m)^[2-9A-Z]{4} deny$`).MatchString(j.screen())
		})
		j.answers("j", "revision  2, sha256") // the cursor stays on the one that was answered
		j.shows("changes since the revision before")
		j.sees("plan-revised", "+2. undo when it fails")
		if exists(j.dir, "made") {
			j.t.Fatal("it was written before the plan was allowed")
		}
		j.answers("a", "move: completed")
		if !exists(j.dir, "made") {
			j.t.Error("there is no made")
		}
	})
}

// TestJourneyBack (J9): the screen is left and comes back; digest, why and peek say what happened.
func TestJourneyBack(t *testing.T) {
	counted{name: "J9, leave and come back", file: strings.Replace(topTeam, "team: api", "team: back", 1), commands: 7, keys: 5}.play(t, func(j *journey) {
		j.runs(0, "up", "--detach", "waggle.yaml")
		defer j.waggle("down", "--force", "back")
		j.types("waggle top")
		h := j.handles("alice", "bob", "carol")
		j.leaves()
		j.runs(0, "deny", h["bob"], "-m", "later", "--team", "back")
		j.types("clear; waggle top")
		j.until("two are left", func() bool {
			s := j.screen()
			return asksInList(s, "alice") && asksInList(s, "carol") && !asksInList(s, "bob")
		})
		j.answers("Left", "You decided today: 0 allowed, 1 denied")
		j.shows("Left behind: 0 items to clean up")
		j.answers("Escape", "[Ask]")
		j.presses("Home")
		j.sees("back-asks", "back/carol asks")
		j.until("bob's task is shown as failed", func() bool { return strings.Contains(j.screen(), "count: fa") })
		j.leaves()
		for _, args := range [][]string{{"recap", "--team", "back"}, {"why", "alice", "--team", "back"}, {"peek", "alice", "--team", "back"}} {
			if out := j.runs(0, args...); out == "" {
				j.t.Errorf("%v says nothing", args)
			}
		}
	})
}

// TestJourneyTeach (J10): a rule is made from a request on the screen, and the team is closed with
// nothing left behind.
func TestJourneyTeach(t *testing.T) {
	file := "team: teach\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: one, owner: ann, instructions: \"touch made\"}]\n"
	counted{name: "J10, teach once", file: file, commands: 7, keys: 3}.play(t, func(j *journey) {
		j.runs(0, "up", "--detach", "waggle.yaml")
		defer j.waggle("down", "--force", "teach")
		j.types("waggle top")
		j.handles("ann")
		j.presses("r")
		j.sees("teach-rule", "it matches 1 of the last 1 calls")
		j.answers("a", "one: completed")
		if out := j.runs(0, "policy", "list", "--team", "teach"); !strings.Contains(out, "Bash(touch made)") {
			j.t.Error(out)
		}
		j.runs(0, "task", "add", "again", "-i", "touch made", "--owner", "ann", "--team", "teach")
		j.shows("again: comple")
		j.leaves()
		j.runs(0, "stop", "ann", "--grace", "5s", "--team", "teach")
		j.runs(0, "down", "teach")
		if out := j.runs(0, "gc"); !strings.Contains(out, "nothing is left") {
			j.t.Error(out)
		}
	})
}
