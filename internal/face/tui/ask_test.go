package tui_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"waggle/internal/face/tui"
	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// called is a request for a call of a tool.
func called(tool string, input map[string]any, suggest ...string) decide.Request {
	in, err := jsonobj.Marshal(input)
	if err != nil {
		panic(err)
	}
	q := request(1, "alice", "", policy.RiskMedium)
	q.Tool, q.Command, q.Input, q.Suggest = tool, "", in, suggest
	return q
}

// kinds are a request of every kind, each with what Source.Earlier returns for it.
func kinds() (names []string, qs []decide.Request, earlier []string) {
	add := func(name string, q decide.Request, before string) {
		names, qs, earlier = append(names, name), append(qs, q), append(earlier, before)
	}
	bash := called("Bash", map[string]any{"command": "cat a | sed s/x/y/ | tee b", "description": "copy it", "run_in_background": true}, "Bash(cat a | sed s/x/y/ | tee b)", "Bash(cat:*)")
	bash.Program, bash.Env = "/usr/bin/dash", []string{"WAGGLE_TASK_ID=1", "PATH=/tmp"}
	bash.Words = []record.Resolved{{Name: "cat", Path: "/usr/bin/cat"}, {Name: "sed", Path: "/tmp/sed"}, {Name: "tee", Path: "/usr/bin/tee"}}
	bash.Command, bash.Reason = "cat a | sed s/x/y/ | tee b", "copy it"
	add("pipes", bash, "")
	edit := called("Edit", map[string]any{"file_path": "a.go", "old_string": "one\n", "new_string": "two\n", "replace_all": true}, "Edit(/src/tree/a.go)")
	edit.Cwd, edit.OwnTree, edit.Paths = "/src/tree", true, []record.RealPath{{Spelled: "/src/tree/a.go", Real: "/real/tree/a.go"}}
	add("edit in a worktree", edit, "@@ -7,2 +7,2 @@\n zero\n-one\n+two")
	add("edits", called("MultiEdit", map[string]any{"file_path": "/src/a.go", "edits": []map[string]string{{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}}}, "Edit(/src/a.go)"), "")
	add("write", called("Write", map[string]any{"file_path": "/src/new.go", "content": "package new\n"}, "Edit(/src/new.go)", "Edit(/src/**)"), "the file is new")
	add("cell", called("NotebookEdit", map[string]any{"notebook_path": "/src/a.ipynb", "cell_id": "7", "new_source": "print(1)\n", "edit_mode": "insert"}), "")
	add("fetch", called("WebFetch", map[string]any{"url": "https://example.com/a", "prompt": "What does the page say about the release of the next version?"}, "WebFetch(domain:example.com)"), "")
	add("server's tool", called("mcp__db__query", map[string]any{"sql": "select 1", "limit": 5}, "mcp__db__query"), "")
	host := request(2, "bob", "", policy.RiskHigh)
	host.Kind, host.Tool, host.Input, host.Host, host.Port, host.Suggest = string(protocol.KindSandboxPermissionRequest), "", nil, "example.com", "8443", nil
	host.Reason = "curl asks for it"
	add("host", host, "")
	plan := request(3, "carol", "", policy.RiskMedium)
	plan.Kind, plan.Tool, plan.Input, plan.Suggest = string(protocol.KindPlanApprovalRequest), "", nil, nil
	plan.Plan, plan.Revision, plan.Hash = markdown, 2, strings.Repeat("a", 64)
	add("plan", plan, "--- carol rev 1\n+++ carol rev 2\n@@ -1 +1 @@\n-# Old\n+# Move\n")
	own := called("ExitPlanMode", map[string]any{"plan": "1. look", "allowedPrompts": []string{"run tests"}})
	own.Kind, own.Team, own.Plan, own.Revision, own.Hash = plan.Kind, decide.SessionTeam, "1. look", 1, plan.Hash
	own.Unheld = "the session runs it"
	add("plan of a session", own, "")
	words := called("AskUserQuestion", map[string]any{})
	words.Kind = decide.KindQuestion
	words.Questions = []decide.Asked{{Header: "Branch", Text: "Which branch?", Options: []decide.Option{{Label: "main"}, {Label: "next", Description: "what comes"}}},
		{Text: "Which checks?", Multiple: true, Closed: true, Options: []decide.Option{{Label: "vet"}, {Label: "test"}}}}
	add("questions", words, "")
	session := called("Bash", map[string]any{"command": "make"}, "Bash(make)")
	session.Unheld = own.Unheld
	session.Team, session.Member, session.Command, session.Trust = decide.SessionTeam, "mine", "make", decide.LevelAnswers
	add("session", session, "")
	proposal := request(4, "lead", "", policy.RiskMedium)
	proposal.Kind, proposal.Tool, proposal.Suggest, proposal.Input = decide.KindProposal, "", nil, json.RawMessage(`{"task":"Fix the login\nand its test"}`)
	add("proposal", proposal, "")
	evil := request(5, "mallory", "echo \x1b[31m\u202egnp.exe\u200b\rrm", policy.RiskLow)
	add("control characters", evil, "")
	return names, qs, earlier
}

const markdown = "# Move the parser\n\n1. **copy** `parse.go`\n  - [ ] and its test\n> as agreed\n\n```sh\n# no heading\ngit mv a b\n```\n#no heading"

// TestAskKinds compares what the tab Ask shows of requests of every kind at three widths.
func TestAskKinds(t *testing.T) {
	names, qs, earlier := kinds()
	for _, w := range []int{46, 70, 234} {
		var b strings.Builder
		synctest.Test(t, func(*testing.T) {
			for i, q := range qs {
				fmt.Fprintf(&b, "== %s\n", names[i])
				for _, l := range tui.AskLines(q, earlier[i], w) {
					if n := ansi.StringWidth(l); n > w {
						t.Errorf("%s: %d columns: %q", names[i], n, l)
					}
					b.WriteString(strings.TrimRight(ansi.Strip(l), " ") + "\n")
				}
			}
		})
		file := filepath.Join("testdata", fmt.Sprintf("asks-%d.golden", w))
		if *update {
			testenv.Must(t, os.WriteFile(file, []byte(b.String()), 0o600))
			continue
		}
		want, err := os.ReadFile(file)
		testenv.Must(t, err)
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%d columns: %s", w, diff)
		}
	}
}

// blockOf is the text of the blocks among lines: what a person reads, without the bars.
func blockOf(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		l = ansi.Strip(l)
		if text, ok := strings.CutPrefix(l, "  | "); ok {
			b.WriteString("\n" + text)
		} else if text, ok := strings.CutPrefix(l, "  + "); ok {
			b.WriteString(text)
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// A plan is told apart by styles, and no character of it is hidden or elsewhere.
func TestPlanStyles(t *testing.T) {
	_, qs, _ := kinds()
	plan := qs[8]
	for _, w := range []int{20, 46, 200} {
		plan.Plan = markdown + "\n" + strings.Repeat("`code` and **strong** words ", 20) + "end"
		if got := blockOf(tui.AskLines(plan, "", w)[1:]); !strings.Contains(got, plan.Plan) {
			t.Errorf("%d columns: %q", w, got)
		}
	}
	text := strings.Join(tui.AskLines(plan, "", 200), "\n")
	for _, want := range []string{
		"\x1b[1m  | # Move the parser\x1b[m", "\x1b[1m1. \x1b[m\x1b[1m**copy**\x1b[m \x1b[36m`parse.go`\x1b[m", "\x1b[1m  - [ ] \x1b[mand its test",
		"\x1b[1m> \x1b[mas agreed", "\x1b[36m  | # no heading\x1b[m", "\n  | #no heading",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// The risky part of a command has the colour of risk, also where it is continued on another line.
func TestRiskyPart(t *testing.T) {
	high := request(1, "alice", "make && rm -rf build7/some/long/path/of/it && echo", policy.RiskHigh)
	lines := tui.AskLines(high, "", 30)
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "  | make && \x1b[31mrm -rf \x1b[m\n") || !strings.Contains(text, "  + \x1b[31mt\x1b[m && echo") {
		t.Errorf("%q", text)
	}
}

// A whole text of several lines that is risky has the reason once, and no marks.
func TestRiskyText(t *testing.T) {
	q := request(1, "alice", "echo \x1b one\necho two\n", policy.RiskHigh)
	text := ansi.Strip(strings.Join(tui.AskLines(q, "", 80), "\n"))
	if strings.Contains(text, "^^^") || strings.Count(text, "invisible character") != 1 {
		t.Error(text)
	}
}

// Lines are cut behind a blank where one is near, and joined they are the line.
func TestWrap(t *testing.T) {
	for _, l := range []string{"one two three four five", "onetwothreefourfive", "one                 two", "日本語 日本語 日本語日本語", "", "12345678 9", strings.Repeat("a\u0301", 40) + " end"} {
		pieces := tui.Wrap(l, 8)
		for _, p := range pieces {
			if ansi.StringWidth(p) > 8 {
				t.Errorf("%q of %q", p, l)
			}
		}
		if strings.Join(pieces, "") != l {
			t.Errorf("%q is not %q", pieces, l)
		}
	}
	if got := tui.Wrap("one two three four five", 8); !slices.Equal(got, []string{"one two ", "three ", "four ", "five"}) {
		t.Errorf("%q", got)
	}
}

// Nothing of a long request is cut.
func TestLongAsk(t *testing.T) {
	long := strings.Repeat("echo 0123456789\n", 6250) // 100,000 characters
	q := request(1, "alice", strings.ReplaceAll(long, "\n", " ")+"; rm -rf x", policy.RiskHigh)
	if got := blockOf(tui.AskLines(q, "", 46)); !strings.HasPrefix(got, q.Command) {
		t.Errorf("%d characters", len(got))
	}
	q = request(1, "alice", long, policy.RiskLow)
	if got := blockOf(tui.AskLines(q, "", 46)); !strings.HasPrefix(got, long) {
		t.Errorf("%d characters", len(got))
	}
	edit := called("Edit", map[string]any{"file_path": "/src/a.go", "old_string": strings.Repeat("old\n", 1000), "new_string": strings.Repeat("new\n", 1000)})
	if got := blockOf(tui.AskLines(edit, "", 46)); strings.Count(got, "-old") != 1000 || strings.Count(got, "+new") != 1000 || strings.Contains(got, "old_string") {
		t.Errorf("%d characters", len(got))
	}
}
