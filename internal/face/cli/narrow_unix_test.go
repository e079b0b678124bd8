//go:build unix

package cli_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"waggle/internal/test/testenv"
)

// typed is what a person does next in a terminal: a line or keys, and what the screen shows then. NAME in a
// line is what an earlier step has found.
type typed struct {
	line  string   // typed with Enter into the shell, which shows its exit code
	keys  []string // instead of a line: tmux's names of keys
	until string   // the line does not end, or is typed again: a pattern that the screen shows at last
	code  int
	shows []string          // patterns of the screen
	hides []string          // patterns that it does not have
	finds map[string]string // NAME: a pattern whose first group it is
}

// narrow are the journeys of a person in a terminal of 80 columns and 24 lines.
var narrow = map[string]struct {
	files map[string]string
	steps []typed
}{
	"a team in which everything failed": {
		files: map[string]string{"waggle.yaml": `team: work
sandbox: {mode: off}
policy: {allow: ["Bash(exit:*)"]}
members:
  - {name: ann, agent: exec, backend: process}
  - {name: bob, agent: exec, backend: process}
tasks:
  - {subject: "Build the program", owner: ann, instructions: "exit 3"}
  - {subject: "Test the program", owner: bob, instructions: "exit 4"}
  - {subject: "Publish it to all mirrors", owner: bob, after: ["Build the program"], instructions: "exit 0"}
`},
		steps: []typed{
			{line: "waggle up waggle.yaml -d"},
			{line: "waggle status", until: `(?m)^2 tasks failed  waggle task list\n1 task waits for one that failed  waggle task list$`, shows: []string{
				`(?m)^ann +failed .*Build the program \(task 1\): exit status 3$`, `(?m)^bob +failed .*Test the program \(task 2\): exit status 4$`}},
			{line: "waggle task list", shows: []string{`(?m)^1 Build the program +failed +ann`, `(?m)3 Publish it to all mirrors +blocked +bob +1`,
				`(?m)^2 Test the program +failed +bob`, `0 of 3 completed, 0 in progress, 2 failed, 1 blocked`}},
			{line: "waggle recap", until: `(?s)failed  ann.*failed  bob|failed  bob.*failed  ann`, shows: []string{`(?m)^ .* failed +ann +task 1 .*exit status 3`, `(?m)^ .* failed +bob +task 2 .*exit status 4`}},
			{line: "waggle", until: `2 failed`, shows: []string{`\?  ann +`, `\?  bob +`, `exit status [34]`}},
			{keys: []string{"q"}, until: `(?s)^Failed \(2\).*>\s*\z`},
			{line: "waggle down | head -n 6", shows: []string{`exit 1, taken down, 0 of 3 tasks completed`, `required tasks failed`}},
			{line: "waggle status work", shows: []string{`(?m)^1 +failed +ann`, `(?m)^2 +failed +bob`, `(?m)^3 +blocked +bob`}},
			{line: "waggle up waggle.yaml -d"},
			{line: "waggle status", until: `(?m)^2 tasks failed  waggle task list$`},
			{line: "waggle down >said", code: 1},
		},
	},
	"a session at a dialog without a request": {
		files: map[string]string{"waggle.yaml": "", "session.sh": `mkdir -p "$1/sessions"
reg=$1/sessions/$$.json
printf '{"pid":%d,"sessionId":"sess-1","cwd":"/w","name":"api","version":"2.1.330","kind":"interactive","status":"waiting"}' $$ >$reg
until [ -e end ]; do sleep 0.05; done
rm $reg
`},
		steps: []typed{
			{line: "export CLAUDE_CONFIG_DIR=$PWD/claude"},
			{line: `tmux new-window -d "sh session.sh $PWD/claude"`},
			{line: "waggle status --line", until: `(?m)^\?1$`},
			{line: "waggle pending", shows: []string{`(?m)^- +api `, `answer in its own`}, hides: []string{`nothing waits`, `waggle approve`}},
			{line: "waggle pending -l", shows: []string{`answer in its own terminal`}},
			{line: "waggle status", shows: []string{`api +needs you`}},
			{line: "waggle --plain", shows: []string{`(?m)^Needs you \(1\)`, `- +api +medium`, `answer in its own terminal`}},
			{line: "touch end"},
			{line: "waggle status --line | wc -l", until: `(?m)^0$`, hides: []string{`own terminal`}},
		},
	},
	"a look at a member": {
		files: map[string]string{"waggle.yaml": `team: look
sandbox: {mode: off}
policy: {mode: bypassPermissions}
members:
  - {name: ann, agent: exec, backend: process}
  - {name: bob, agent: exec, backend: tmux-window}
tasks:
  - {subject: "Wait", owner: ann, instructions: "echo it works; until test -e go; do sleep 0.05; done"}
  - {subject: "Wait too", owner: bob, instructions: "echo it works; until test -e go; do sleep 0.05; done"}
`},
		steps: []typed{
			{line: "waggle up waggle.yaml -d"},
			{line: "waggle attach ann", until: `attached to ann; Ctrl-\] leaves it; your keys do not reach it(?s:.*)it works`},
			{keys: []string{"C-c"}, until: `Ctrl-\] leaves ann, which goes on; your keys do not reach it:\nwaggle attach ann --type passes them\nwaggle stop ann ends it`},
			{keys: []string{"C-]"}, until: `left ann, which goes on`},
			{line: "waggle attach bob", until: `attached to bob; Ctrl-\] leaves it; your keys do not reach it`},
			{keys: []string{"C-c"}, until: `\nwaggle attach bob --type passes them\n`},
			{keys: []string{"C-]"}, until: `left bob, which goes on`},
			{line: "waggle status", shows: []string{`(?m)^ann +working `, `(?m)^bob +working `}, hides: []string{`dead`}},
			{line: "touch go"},
			{line: "waggle task list", until: `2 of 2 completed`},
			{line: "waggle down >said"},
		},
	},
	"requests of two teams": {
		files: map[string]string{
			"a/waggle.yaml": "team: alpha\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec, backend: process}, {name: bob, agent: exec, backend: process}]\n" +
				"tasks: [{subject: one, owner: ann, instructions: \"touch one\"}, {subject: two, owner: bob, instructions: \"rm -rf build7\"}]\n",
			"b/waggle.yaml": "team: beta\nsandbox: {mode: off}\nmembers: [{name: cid, agent: exec, backend: process}]\ntasks: [{subject: three, owner: cid, instructions: \"touch three\"}]\n"},
		steps: []typed{
			{line: "(cd a && waggle up waggle.yaml -d)"},
			{line: "(cd b && waggle up waggle.yaml -d)"},
			{line: "waggle pending", until: `(?s)ann .*cid|cid .*ann`, shows: []string{`(?m)^ID +TEAM +MEMBER`}, finds: map[string]string{
				"ANN": `(?m)^(\w+) +alpha +ann `, "BOB": `(?m)^(\w+) +alpha +bob `, "CID": `(?m)^(\w+) +beta +cid `}},
			{line: "waggle status", shows: []string{`(?m)^alpha +ann +needs you`, `(?m)^beta +cid +needs you`}},
			{line: "waggle show ANN", shows: []string{`touch one`}},
			{line: "waggle approve ANN", shows: []string{`allow, delivered`}},
			{line: "waggle deny BOB -m no", shows: []string{`deny, delivered`}},
			{line: "waggle approve CID --team alpha", code: 9, shows: []string{`team beta has it`}},
			{line: "waggle approve CID", shows: []string{`allow, delivered`}},
			{line: "waggle down", code: 2, shows: []string{`alpha`, `beta`}},
			{line: "waggle down beta >said"},
			{line: "waggle down alpha >said", code: 6},
		},
	},
	"after the end": {
		files: map[string]string{"waggle.yaml": `team: work
sandbox: {mode: off}
policy: {mode: bypassPermissions}
members:
  - {name: ann, agent: exec, worktree: true, backend: process}
  - {name: bob, agent: exec, worktree: true, backend: process}
tasks:
  - {subject: "Write it", owner: ann, instructions: "echo a >a.txt; git add a.txt; git commit -q -m a"}
  - {subject: "Draft it", owner: bob, instructions: "echo b >b.txt"}
`, ".gitconfig": "[user]\n\tname = t\n\temail = t@example.com\n"},
		steps: []typed{
			{line: "export GIT_CONFIG_GLOBAL=$PWD/.gitconfig"},
			{line: "git init -q && git commit -q --allow-empty -m first"},
			{line: "waggle up waggle.yaml -d"},
			{line: "waggle task list", until: `2 of 2 completed`},
			{line: "waggle down >said"},
			{line: "waggle --plain", shows: []string{`(?m)^Ended lately`, `(?m)^  work .* ago  taken down`, `left 2 with work`, `(?m)^Kept \(2\) +waggle gc$`, `ann@work +1 unpushed commit`}, hides: []string{`no team`}},
			{line: "waggle status work", shows: []string{`1 unpushed commit`, `1 uncommitted file`, `waggle/work/ann`}},
			{line: "waggle recap work", shows: []string{`ann +left`}},
			{line: "waggle diff ann --stat", shows: []string{`a\.txt`}},
			{line: "waggle gc", shows: []string{`kept`}},
		},
	},
}

// TestNarrow plays what people do in a terminal of 80 columns and 24 lines of a real tmux. What a command writes
// there does not wrap, and the screen has the words that matter.
func TestNarrow(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for name, journey := range narrow {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newTmux(t, journey.files["waggle.yaml"])
			owns(t, u.dir)
			u.tmux("resize-window", "-t", "mine:", "-x", "80", "-y", "24")
			for file, text := range journey.files {
				path := filepath.Join(u.dir, file)
				writeFile(t, path, text)
			}
			found := map[string]string{}
			for i, step := range journey.steps {
				said, over := u.plays(i, step, found)
				for line := range strings.Lines(u.tmux("capture-pane", "-p", "-J", "-t", "%0")) {
					if line = strings.TrimRight(line, " \n"); over && row.MatchString(line) && utf8.RuneCountInString(line) > 80 {
						t.Errorf("%s wraps %q:\n%s", step.line, line, said)
					}
				}
			}
		})
	}
}

// plays does one step of a journey. It returns what the screen shows, and whether that is the whole of what a command wrote.
func (u *inTmux) plays(n int, s typed, found map[string]string) (said string, over bool) {
	u.t.Helper()
	for name, is := range found {
		s.line = strings.ReplaceAll(s.line, name, is)
	}
	until, ended, times := regexp.MustCompile(s.until), (*regexp.Regexp)(nil), 0
	enters := func() {
		times++
		end := fmt.Sprintf(" is the end of %d.%d", n, times)
		ended = regexp.MustCompile(`(?m)^(\d+)` + regexp.QuoteMeta(end) + `$`)
		u.types("clear; " + s.line + "; echo $?" + end)
	}
	if s.line != "" {
		enters()
	} else {
		u.tmux(append([]string{"send-keys", "-t", "%0"}, s.keys...)...)
	}
	screen := ""
	u.until(s.line+strings.Join(s.keys, " ")+" shows "+s.until, func() bool {
		screen = u.screen()
		over = ended != nil && ended.MatchString(screen)
		if over && !until.MatchString(screen) {
			enters() // what it shows comes to be
		}
		return until.MatchString(screen) && (over || s.until != "")
	})
	said = strings.TrimRight(screen, " \n")
	if over {
		m := ended.FindStringSubmatchIndex(screen)
		said = screen[:m[0]]
		if code := screen[m[2]:m[3]]; code != strconv.Itoa(s.code) {
			u.t.Errorf("%s: exit code %s, want %d:\n%s", s.line, code, s.code, said)
		}
	}
	for _, p := range s.shows {
		if !regexp.MustCompile(p).MatchString(said) {
			u.t.Errorf("%s%q: the screen has no %s:\n%s", s.line, s.keys, p, said)
		}
	}
	for _, p := range s.hides {
		if regexp.MustCompile(p).MatchString(said) {
			u.t.Errorf("%s%q: the screen has %s:\n%s", s.line, s.keys, p, said)
		}
	}
	for name, p := range s.finds {
		m := regexp.MustCompile(p).FindStringSubmatch(said)
		if m == nil {
			u.t.Fatalf("%s: the screen has no %s:\n%s", s.line, p, said)
		}
		found[name] = m[1]
	}
	return said, over
}

// row is a line of a table: it has a gap.
var row = regexp.MustCompile(`\S  +\S`)
