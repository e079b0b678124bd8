package app

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"waggle/operator/decide"
	"waggle/record"
)

func bash(command string) decide.Request {
	text, _ := json.Marshal(command) // a string has JSON
	return decide.Request{PendingItem: decide.PendingItem{Team: "crew", Handle: "7KQF", Kind: "permission_request", Member: "ann", Tool: "Bash", Risk: "medium",
		Input: []byte(`{"command":` + string(text) + `}`), Cwd: "/w/crew"}, Command: command, Because: `No rule allows "x".`, Suggest: []string{"Bash(x)"},
		Bound: record.Bound{Held: true, Program: "/usr/bin/dash", Env: []string{"WAGGLE_TASK_ID=1"}, Words: []record.Resolved{{Name: "x", Path: "/usr/bin/x"}},
			Paths: []record.RealPath{{Spelled: "/w/crew/./a", Real: "/w/crew/a"}}}}
}

// TestShortText: what of a request is shown in five lines above the line of keys, in 80 columns, and whether that is all.
func TestShortText(t *testing.T) {
	t.Parallel()
	with := func(q decide.Request, f func(q *decide.Request)) decide.Request { f(&q); return q }
	edit := bash("")
	edit.Command, edit.Tool, edit.Input = "", "Edit", []byte(`{"file_path":"/w/a.go","old_string":"one\n","new_string":"two\n"}`)
	for _, c := range []struct {
		name  string
		q     decide.Request
		want  string
		hides bool
	}{
		{"a command", bash("x -y"), "7KQF  medium risk  crew/ann asks: Bash\n  | x -y\nwhy  No rule allows \"x\".\nin   /w/crew\nrule r adds Bash(x) for ann, 24 hours", false},
		{"in a worktree of the member's own", with(bash("x"), func(q *decide.Request) { q.OwnTree = true }),
			"7KQF  medium risk  crew/ann asks: Bash\n  | x\nwhy  No rule allows \"x\".\nrule r adds Bash(x) for ann, 24 hours", false},
		{"with high risk", with(bash("ls && rm -rf y"), func(q *decide.Request) { q.Risk, q.OwnTree = "high", true }),
			"7KQF  high risk  crew/ann asks: Bash\n  | ls && rm -rf y\n          ^^^^^^^^\nwhy  rm -rf y: it deletes files\nin   /w/crew", false},
		{"of several lines", bash("a\nb\nc\nd"), "7KQF  medium risk  crew/ann asks: Bash\n  | a\n  … 3 more lines\nwhy  No rule allows \"x\".\nin   /w/crew", true},
		{"wide", bash(strings.Repeat("y", 151)), "7KQF  medium risk  crew/ann asks: Bash\n  | " + strings.Repeat("y", 75) + "\n  … 2 more lines\nwhy  No rule allows \"x\".\nin   /w/crew", true},
		{"with words about it", with(bash("x"), func(q *decide.Request) { q.Input = []byte(`{"command":"x","description":"why","timeout":9}`) }),
			"7KQF  medium risk  crew/ann asks: Bash\n  | x\nwhy  No rule allows \"x\".\nin   /w/crew\nrule r adds Bash(x) for ann, 24 hours", false},
		{"with more input", with(bash("x"), func(q *decide.Request) { q.Input = []byte(`{"command":"x","run_in_background":true}`) }),
			"7KQF  medium risk  crew/ann asks: Bash\n  | x\nwhy  No rule allows \"x\".\nin   /w/crew; input {\"run_in_background\":true}\nrule r adds Bash(x) for ann, 24 hours", false},
		{"with input twice", with(bash("x"), func(q *decide.Request) { q.Input = []byte(`{"command":"y","command":"x"}`) }),
			"7KQF  medium risk  crew/ann asks: Bash\n  | x\nwhy  No rule allows \"x\".\nin   /w/crew; input {\"command\":\"y\",\"command\":\"x\"}\nrule r adds Bash(x) for ann, 24 hours", false},
		{"reading", with(bash("sh"), func(q *decide.Request) { q.Stdin = "rm y\n| x" }),
			"7KQF  medium risk  crew/ann asks: Bash\n  | sh\n  … 2 more lines\nwhy  No rule allows \"x\".\nin   /w/crew", true},
		{"with programs and paths from elsewhere", with(bash("x"), func(q *decide.Request) {
			q.Words[0].Path, q.Scripts, q.Env = "/w/crew/x", []record.Script{{Path: "/w/s.sh"}}, []string{"LD_PRELOAD=/w/l.so"}
			q.Paths = []record.RealPath{{Spelled: "/w/l", Real: "/etc/passwd"}}
		}), "7KQF  medium risk  crew/ann asks: Bash\n  | x\nwhy  No rule allows \"x\".\nin   /w/crew; x is /w/crew/x; script /w/s.sh; /w/l is /etc/passwd; LD_PRELOAD=/\n   + w/l.so", false},
		{"with links that have the names of others", with(bash("ls ./y"), func(q *decide.Request) {
			q.Words = []record.Resolved{{Name: "ls", Path: "/usr/bin/rm"}, {Name: "./y", Path: "/usr/bin/curl"}, {Name: "sh", Path: "/usr/bin/shred"},
				{Name: "python3", Path: "/usr/bin/python3.12"}, {Name: "sh", Path: "/usr/bin/dash"}, {Name: "cat", Path: "/bin/busybox"}, {Name: "/usr/bin/x", Path: "/usr/bin/x"}}
		}), "7KQF  medium risk  crew/ann asks: Bash\n  | ls ./y\nwhy  No rule allows \"x\".\nin   /w/crew; ls is /usr/bin/rm; ./y is /usr/bin/curl; sh is /usr/bin/shred\nrule r adds Bash(x) for ann, 24 hours", false},
		{"an edit of every place, perhaps", with(edit, func(q *decide.Request) {
			q.Input = []byte(`{"file_path":"/w/a.go","old_string":"one","new_string":"","replace_all":"true"}`)
		}), "7KQF  medium risk  crew/ann asks: Edit\n  | /w/a.go\n  | -one\nwhy  No rule allows \"x\".\nwith input {\"replace_all\":\"true\"}", false},
		{"several edits of every place, perhaps", with(edit, func(q *decide.Request) {
			q.Tool, q.Input = "MultiEdit", []byte(`{"file_path":"/a","edits":[{"old_string":"1","new_string":"2","replace_all":1}]}`)
		}), "7KQF  medium risk  crew/ann asks: MultiEdit\n  | /a\n  … 3 more lines\nwith input {\"file_path\":\"/a\",\"edits\":[{\"old_string\":\"1\",\"new_string\":\"2\",\"repla\n   + ce_all\":1}]}", true},
		{"with too much of it", with(bash("x"), func(q *decide.Request) { q.Env = []string{"A=" + strings.Repeat("a", 200)} }),
			"7KQF  medium risk  crew/ann asks: Bash\n  | x\nwhy  No rule allows \"x\".\nin   /w/crew; A=" + strings.Repeat("a", 63) + "\n  … more of what runs, and where", true},
		{"an edit", edit, "7KQF  medium risk  crew/ann asks: Edit\n  | /w/a.go\n  | -one\n  | +two\nwhy  No rule allows \"x\".", false},
		{"an edit in the directory", with(edit, func(q *decide.Request) {
			q.Input = []byte(`{"file_path":"a.go","old_string":"one\n","new_string":"two\n","more":1}`)
		}),
			"7KQF  medium risk  crew/ann asks: Edit\n  | a.go\n  … 2 more lines\nwhy  No rule allows \"x\".\nin   /w/crew; input {\"more\":1}", true},
		{"a host", decide.Request{PendingItem: decide.PendingItem{Team: "crew", Handle: "7KQF", Kind: "sandbox_permission_request", Member: "ann", Risk: "high"}, Host: "db.internal", Port: "5432"},
			"7KQF  high risk  crew/ann asks: network\n  | db.internal:5432\nwhy  it uses the network", false},
		{"a plan", decide.Request{PendingItem: decide.PendingItem{Team: "crew", Handle: "7KQF", Kind: "plan_approval_request", Member: "ann", Risk: "medium"}, Plan: "a\nb\nc\nd\ne\nf", Revision: 2},
			"7KQF  medium risk  crew/ann asks: a plan, revision 2\n  | a\n  | b\n  | c\n  … 3 more lines", true},
		{"a proposal", decide.Request{PendingItem: decide.PendingItem{Team: decide.SessionTeam, Handle: "7KQF", Kind: decide.KindProposal, Member: "ann", Tool: "new", Risk: "medium",
			Cwd: "/w", Reason: "an agent proposes a member", Input: []byte(`{"agent":"exec","task":"one\ntwo"}`)}},
			"7KQF  medium risk  ann asks: a new member\n  | new exec \"one…\"\n  … 2 more lines\nwhy  an agent proposes a member\nin   /w", true},
		{"what cannot be seen", bash("x\u202e\x1b[2J"), "7KQF  medium risk  crew/ann asks: Bash\n  | x\\u{202e}\\x1b[2J\nwhy  No rule allows \"x\".\nin   /w/crew\nrule r adds Bash(x) for ann, 24 hours", false},
	} {
		got := shortText(c.q, 80, 0, ruled(c.q))
		text := ansi.Strip(got.Text)
		if diff := cmp.Diff(c.want, text); diff != "" || got.Hides != c.hides || got.Choices != strings.Contains(text, "\nrule ") {
			t.Errorf("%s: hides %v, rule %v (-want +got):\n%s", c.name, got.Hides, got.Choices, diff)
		}
	}
}

// TestShortFits: whatever is asked, in whatever width, there are no more than five lines, each fits, and no line begins
// with an agent's words.
func TestShortFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("rule r adds ", 40)
	for _, q := range []decide.Request{bash("x"), bash(long), bash(strings.Repeat(long+"\n", 9)), bash(strings.Repeat("\n", 99))} {
		for _, n := range []int{0, 1, 9} {
			q.Env, q.Cwd, q.Because = nil, "/w"+strings.Repeat("/long", 10*n), strings.Repeat("why ", 10*n)
			for i := range n {
				q.Env = append(q.Env, fmt.Sprintf("A%d=%s", i, long))
			}
			for _, cols := range []int{40, 80, 120} {
				got := shortText(q, cols, n, ruled(q))
				lines := strings.Split(ansi.Strip(got.Text), "\n")
				if len(lines) > shortLines {
					t.Errorf("%d columns: %d lines:\n%s", cols, len(lines), got.Text)
				}
				for _, l := range lines {
					first, _, _ := strings.Cut(l, " ")
					if known := map[string]bool{"7KQF": true, "why": true, "in": true, "with": true, "rule": true, "": true}; ansi.StringWidth(l) >= cols || !known[first] {
						t.Errorf("%d columns: %q", cols, l)
					}
				}
				if whole := strings.Contains(strings.ReplaceAll(got.Text, "\n", ""), "…"); got.Hides && !whole {
					t.Errorf("%d columns: it hides something and does not say so:\n%s", cols, got.Text)
				}
			}
		}
	}
}

// TestShortNarrow: where the head leaves no room, a text of one line is whole all the same.
func TestShortNarrow(t *testing.T) {
	t.Parallel()
	got := shortText(bash("x"), 20, 9, false)
	if text := ansi.Strip(got.Text); got.Hides || !strings.Contains(text, "\n  | x\n") || strings.Contains(text, "…") {
		t.Errorf("hides %v:\n%s", got.Hides, text)
	}
	for l := range strings.SplitSeq(ansi.Strip(shortText(bash(strings.Repeat("y", 99)), 20, 9, false).Text), "\n") {
		if ansi.StringWidth(l) >= 20 {
			t.Errorf("the terminal breaks %q, whose end then begins a line", l)
		}
	}
}

// TestWordsText: a question has its options, and the command that answers it as it may be answered.
func TestWordsText(t *testing.T) {
	t.Parallel()
	q := decide.Request{PendingItem: decide.PendingItem{Team: "crew", Handle: "7KQF", Kind: "question", Member: "ann", Risk: "low"},
		Questions: []decide.Asked{{Text: "Which?", Options: []decide.Option{{Label: "left"}, {Label: "right", Description: "safer"}}, Closed: true}, {Text: "Why\nso?", Multiple: true}}}
	want := "7KQF  low risk  crew/ann asks: a question\n  | question 1 of 2: Which?\n  |   1  left\n  |   2  right: safer\n  | question 2 of 2: Why\n  | so?\n" +
		"answer it with words: waggle answer 7KQF CHOICE CHOICE,…|TEXT"
	if diff := cmp.Diff(want, ansi.Strip(wordsText(q, 80))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	q = decide.Request{PendingItem: decide.PendingItem{Team: decide.SessionTeam, Handle: "7KQF", Kind: decide.KindProposal, Member: "ann", Tool: "new", Risk: "medium", Cwd: "/w",
		Input: []byte(`{"agent":"exec","task":"one\ntwo"}`)}}
	want = "7KQF  medium risk  ann asks: a new member\n  | new exec \"one…\"\n  | > one\n  | > two\nin   /w\nstart it with waggle approve 7KQF, or refuse it with waggle deny 7KQF"
	if diff := cmp.Diff(want, ansi.Strip(wordsText(q, 80))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
