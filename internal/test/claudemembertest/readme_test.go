//go:build unix

package claudemembertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// reader types the commands of a page into a shell on a terminal.
type reader struct {
	t     *testing.T
	s     *claudetest.Session
	lines []string // what is left to type
	times int
}

// reads reads the blocks of a page that need a client.
func (r *reader) reads(page string) {
	r.t.Helper()
	for _, b := range testenv.Blocks(r.t, page) {
		if b.Mark == "needs Claude Code" {
			r.lines = append(r.lines, b.Lines...)
		}
	}
}

// types types a line and returns what the screen shows at its end. The page's next line is this one, or the
// line that stands for it.
func (r *reader) types(page string, code int, line string, shows ...string) string {
	r.t.Helper()
	r.begins(page, line)
	return r.ends(code, shows...)
}

// begins types a line that does not end by itself.
func (r *reader) begins(page, line string) {
	r.t.Helper()
	if page != "" {
		if len(r.lines) == 0 || testenv.Command(r.lines[0]) != page {
			r.t.Fatalf("the page's next lines are %q, not %q", r.lines, page)
		}
		r.lines = r.lines[1:]
	}
	r.times++
	r.s.Keys("C-u") // a key that was pressed again and came too late for its program
	r.s.Type(fmt.Sprintf("clear; %s; echo $? ended %d", line, r.times))
	r.s.Keys("Enter")
}

// ends waits for the end of the line.
func (r *reader) ends(code int, shows ...string) string {
	r.t.Helper()
	end := regexp.MustCompile(fmt.Sprintf(`(?m)^(\d+) ended %d$`, r.times))
	screen := r.s.WaitScreen(end.String())
	at := end.FindStringSubmatchIndex(screen)
	said := screen[:at[0]]
	if got := screen[at[2]:at[3]]; got != fmt.Sprint(code) {
		r.t.Errorf("the exit code is %s, not %d:\n%s", got, code, said)
	}
	for _, p := range shows {
		if !regexp.MustCompile(p).MatchString(said) {
			r.t.Errorf("the screen has no %s:\n%s", p, said)
		}
	}
	return said
}

// presses presses a key until the screen is as wanted: a key that comes too early does not count.
func (r *reader) presses(key, pattern string) {
	r.t.Helper()
	var last time.Time
	claudetest.Until(r.t, func() string { return "the screen never shows " + pattern + "\n" + r.s.Screen() }, func() bool {
		if regexp.MustCompile(pattern).MatchString(r.s.Screen()) {
			return true
		}
		if time.Since(last) > 2*time.Second { // real clock: a key that was late does not count
			last = time.Now()
			r.s.Keys(key)
		}
		return false
	})
}

// varies is a word of what a page shows that is another each time: a handle, an age, a number with a fraction, how many
// rows a section has, commits, and the name that a client gives a session of the person's own.
var varies = regexp.MustCompile(`^([2-9A-Z]{4}|(\d+[hms])+|\d+\.\d+|\(\d+\)|[0-9a-f]{7}|your-project-\d+)$`)

// shown checks that the lines of output that are next on the page, which are indented, are on the screen too.
func (r *reader) shown(screen string) {
	r.t.Helper()
	for ; len(r.lines) > 0 && strings.HasPrefix(r.lines[0], " "); r.lines = r.lines[1:] {
		var words []string
		for _, word := range strings.Fields(r.lines[0]) {
			var parts []string
			for _, part := range strings.Split(word, "..") {
				if varies.MatchString(part) {
					parts = append(parts, `[^\s.]+(\.\d\S*)?`)
				} else {
					parts = append(parts, regexp.QuoteMeta(part))
				}
			}
			words = append(words, strings.Join(parts, `\.\.`))
		}
		if !regexp.MustCompile(strings.Join(words, " +")).MatchString(screen) {
			r.t.Errorf("the page shows what the screen has not: %s\n%s", r.lines[0], screen)
		}
	}
}

// TestReadmeClient types the blocks of README that need a client, one after the other, in a fresh account with a project.
func TestReadmeClient(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		var h *claudetest.Home
		scripts := claudetest.ByMarker(map[string]claudetest.Next{
			"fix the flaky login test": claudetest.Script(claudetest.Bash("git push --force-with-lease origin HEAD"), claudetest.Say("all done")),
			"add --json to list": func(r claudetest.Request) claudetest.Turn {
				if r.Turns() == 0 {
					return claudetest.AskUserQuestion(claudetest.Question{Question: "keep the old format as default?", Header: "Format", Options: []string{"yes", "no"}})
				}
				return claudetest.Say("all done")
			},
			"port parser to v2": func(r claudetest.Request) claudetest.Turn {
				found, _ := filepath.Glob(filepath.Join(h.Home, ".local", "share", "waggle", "worktrees", "*", "port-parser-v2"))
				if len(found) != 1 || r.Turns() > 0 {
					return claudetest.Say("all done")
				}
				return claudetest.Write(filepath.Join(found[0], "parser.txt"), "version 2\n")
			},
			"please make it": claudetest.Script(claudetest.Bash("npm run build"), claudetest.Say("it is built")),
			"please mark it": claudetest.Script(claudetest.Mark("one"), claudetest.Mark("two"),
				claudetest.AskUserQuestion(claudetest.Question{Question: "Which side?", Header: "Side", Options: []string{"Left", "Right"}}), claudetest.Say("all done")),
		})
		// What is said after the take needs no marker: a client (2.1.330) that started beside others on a busy machine may have
		// lost the first entries of its transcript.
		m := claudetest.NewModel(t, func(r claudetest.Request) claudetest.Turn {
			if strings.Contains(r.Said(), "hello from me") {
				return claudetest.Say("hello to you")
			}
			return scripts(r)
		})
		h = claudetest.NewOwnHome(t, version, m)
		checkout, err := filepath.Abs("../../..")
		testenv.Must(t, err)
		w := &world{Account: &claudetest.Account{T: t, M: m, H: h, Bin: filepath.Join(h.Bin, "waggle")}}
		h.WriteFile(filepath.Join(h.Home, ".gitconfig"), "[user]\n\tname = t\n\temail = t@example.com\n", 0o600)
		shell := []string{"GOBIN=" + h.Bin, "GOCACHE=" + os.Getenv("GOCACHE"), "GOMODCACHE=" + os.Getenv("GOMODCACHE"),
			"GOFLAGS=" + os.Getenv("GOFLAGS"), "WAGGLE_SANDBOX=off", "ENV=", "PS1=> "}
		h.Script("npm", "until test -e "+filepath.Join(h.Root, "built")+"; do sleep 0.1; done\n")
		for name, text := range map[string]string{"go.mod": "module shop\n", "shop.go": "package shop\n", "a.txt": "a\n", "b.txt": "b\n",
			".claude/settings.json": `{"permissions":{"allow":["Bash(npm run build)"]}}`} { // in auto mode the rest asks a service
			testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(h.Work, name)), 0o700))
			h.WriteFile(filepath.Join(h.Work, name), text, 0o600)
		}
		r := &reader{t: t, s: h.StartProgram(checkout, shell, "sh")}
		r.types("", 0, "tmux resize-window -x 160")
		r.types("", 0, "cd "+h.Work+" && git add . && git commit -q -m files && echo mine >>a.txt && echo mine >>b.txt; cd -")
		r.reads(filepath.Join(checkout, "README.md"))

		r.types("CGO_ENABLED=0 go install ./cmd/waggle", 0, "CGO_ENABLED=0 go install ./cmd/waggle")
		r.types("cd your-project", 0, "cd "+h.Work)
		r.types("waggle doctor agent claude", 0, "waggle doctor agent claude", `version +`+regexp.QuoteMeta(version), `logged in +yes`, `gated +`, `not gated`)
		r.types(`waggle new "fix the flaky login test"`, 0, `waggle new "fix the flaky login test"`, `fix-flaky-login +start(ed|ing) +claude +waggle/work/fix-flaky-login`)
		t.Cleanup(func() { w.Run("down", "--force") })
		tasks := `printf '%s\n' "add --json to list" "port parser to v2" | waggle new --check "go test ./..." -`
		r.types(tasks, 0, tasks, `add-json-list +start(ed|ing) +claude`, `port-parser-v2 +start(ed|ing) +claude`)
		docs := `waggle new --name docs exec "test -s docs/api.md"`
		r.types(docs, 0, docs, `docs +(started|queued)`)
		own := &reader{t: t, s: h.StartProgram(h.Work, shell, "sh"), lines: r.lines}
		own.begins("waggle hooks install && claude", "waggle hooks install && claude")
		own.s.WaitScreen(`settings\.json`)
		own.presses("y", `the hooks are in|Claude Code`)
		r.lines = own.lines
		own.s.Ask("please make it")
		own.s.WaitScreen(`npm run build`)
		push, keep := w.sessionAsks("git push"), w.sessionAsks("keep the old format")
		w.until("the parser is ready, docs has failed and the build runs", func() bool {
			page := w.OK("--plain")
			return strings.Contains(page, "waggle diff port-parser-v2") && strings.Contains(page, "waggle why docs") && strings.Contains(page, "(your session) npm run build")
		})
		r.begins("waggle", "waggle")
		r.s.WaitScreen(`2 need you(?s:.*)git push`)
		r.presses("q", `(?m)^0 ended`)
		r.ends(0)
		r.shown(r.types("", 0, "waggle --plain"))
		r.types(`waggle deny 7KQF -m "open a PR instead"; waggle answer 2DK8 1`, 0, `waggle deny `+push+` -m "open a PR instead"; waggle answer `+keep+` 1`, `deny, delivered`, `answer, delivered`)
		w.until("the answer is taken", func() bool { return strings.HasPrefix(w.OK("why", "add-json-list"), "add-json-list  ready ") })
		r.begins("waggle take add-json-list", "waggle take add-json-list")
		r.s.WaitScreen("keep the old format as default")
		r.s.Ask("hello from me")
		r.s.WaitScreen("hello to you")
		r.s.Ask("/exit")
		r.ends(0)
		r.shown(r.types("waggle merge port-parser-v2", 0, "waggle merge port-parser-v2"))
		if data, err := os.ReadFile(filepath.Join(h.Work, "parser.txt")); err != nil || string(data) != "version 2\n" {
			t.Errorf("after the merge: %q, %v", data, err)
		}
		h.WriteFile(filepath.Join(h.Root, "built"), "", 0o600)
		own.s.WaitScreen("it is built")
		own.s.Ask("/exit")
		own.ends(0)
		r.types("", 0, "waggle down || true")

		r.types("waggle hooks install", 0, "waggle hooks install", `the hooks are in`)
		two := &reader{t: t, s: h.StartProgram(h.Work, shell, "sh"), lines: r.lines}
		two.begins("claude --permission-mode default", "claude --permission-mode default")
		r.lines = two.lines
		two.s.Ask("please mark it")
		handle := w.sessionAsks("one")
		r.types("waggle pending", 0, "waggle pending", handle)
		r.types("waggle approve 7KQF", 0, "waggle approve "+handle, `allow, delivered`)
		r.types("", 0, `waggle deny `+w.sessionAsks("two")+` -m "not on this branch"`, `deny, delivered`)
		r.types("", 0, `waggle answer `+w.sessionAsks("Which side")+` 2`)
		w.Result(2)
		w.Ran("one", 1)
		w.Ran("two", 0)
		if len(r.lines) > 0 {
			t.Errorf("nobody types %q", r.lines)
		}
	})
}

// TestGuideNew types the page about `waggle new`, with the newest client.
func TestGuideNew(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	writes := func(file string) claudetest.Next {
		return claudetest.Script(claudetest.Bash("echo new >"+file), claudetest.Say("all done"))
	}
	m := claudetest.NewModel(t, claudetest.ByMarker(map[string]claudetest.Next{
		"Fix the login": writes("login.txt"), "Tidy up": writes("tidy.txt"), "Sort the notes": writes("notes.txt"),
		"Make the start twice as fast": writes("start.txt"), "An idea": writes("idea.txt"),
		"to the new API": claudetest.Script(claudetest.WritePlan("1. Move the cart\n2. Move the till\n"), claudetest.ExitPlanMode(), claudetest.Say("all done")),
	}))
	w, shop := newShop(t, m)
	w.H.WriteFile(filepath.Join(shop, "ideas.txt"), "An idea of one\nAn idea of two\n", 0o600)
	editor := w.H.Script("edit", "echo 'Tidy up' >\"$1\"\n")
	r := &reader{t: t, s: w.H.StartProgram(shop, []string{"WAGGLE_SANDBOX=off", "EDITOR=" + editor, "ENV=", "PS1=> "}, "sh")}
	r.reads("../../../docs/guide/new.md")
	t.Cleanup(func() { w.Run("down", "--force") })
	done := func(name string) {
		t.Helper()
		w.until(name+" has made something", func() bool {
			return strings.Contains(w.Run("diff", name).Out, "+new") && strings.HasPrefix(w.Run("why", name).Out, name+"  ready ")
		})
	}
	plain := func(line string, shows ...string) { t.Helper(); r.types(line, 0, line, shows...) }

	plain(`waggle new "Fix the login on small screens"`)
	r.s.WaitScreen(regexp.QuoteMeta(testenv.Command(r.lines[0])))
	r.lines = r.lines[1:]
	plain(`waggle new exec "go test ./..."`)
	plain(`waggle new -e`, `tidy`)
	plain(`waggle new - < ideas.txt`)
	plain(`waggle new --here "Sort the notes"`)
	plain(`waggle new --name fixer --model opus "Fix the login"`, `fixer .* claude `)
	plain(`waggle new --at-once 5 - < ideas.txt`)
	plain(`waggle new --plan - < ideas.txt`)
	plain("waggle pending")
	done("fix-login-small")
	plain("waggle peek fix-login-small")
	plain("waggle diff fix-login-small", `(?m)^\+new$`)
	plain("waggle merge fix-login-small")
	r.types("", 3, "waggle down --force") // nobody has answered go-test

	plain(`waggle new --attempts 3 "Make the start twice as fast"`)
	for _, name := range []string{"make-start-twice", "make-start-twice-2", "make-start-twice-3"} {
		done(name)
	}
	plain("waggle compare make-start-twice make-start-twice-2 make-start-twice-3 --check", `make-start-twice-3`)
	plain("waggle diff make-start-twice-2", `(?m)^\+new$`)
	plain("waggle merge make-start-twice-2")
	plain("waggle stop make-start-twice")
	plain(`waggle new --split "Move the shop to the new API"`)
	w.until("the plan is proposed", func() bool { return strings.Contains(w.Run("plan", "show", "move-shop-new").Out, "Move the till") })
	plain("waggle plan show move-shop-new", `Move the cart`)
	r.types("", 0, "waggle plan approve move-shop-new --rev 1")
	plain("waggle new move-shop-new --parts")
	if len(r.lines) > 0 {
		t.Errorf("nobody types %q", r.lines)
	}
}

// sessionAsks waits until a session or a member asks something with these words, and returns the handle.
func (w *world) sessionAsks(words string) (handle string) {
	w.T.Helper()
	w.until("a session asks "+words, func() bool {
		var doc struct{ Pending []map[string]any }
		testenv.Must(w.T, json.Unmarshal([]byte(w.OK("pending", "--json")), &doc))
		for _, q := range doc.Pending {
			if q["status"] == "open" && strings.Contains(fmt.Sprint(q), words) {
				handle = fmt.Sprint(q["handle"])
				return true
			}
		}
		return false
	})
	return handle
}
