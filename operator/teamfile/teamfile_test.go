package teamfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
)

func TestParseFile(t *testing.T) {
	f := testenv.Value(teamfile.ParseFile("/proj/waggle.yaml", []byte(`
team: api
lead: operator
decide: {tool: rules, plan: auto, network: operator}
deadline: 5m
policy:
  mode: acceptEdits
  allow: ["Read", "Bash(go test:*)"]
  deny: ["Bash(rm -rf:*)"]
  sandboxed: allow
sandbox: {mode: auto}
members:
  - {name: tester, agent: exec, backend: process, color: red, cwd: sub, model: m-1, mode: plan, restart: never}
  - {name: builder, agent: exec, command: [make, "a b"], plan: required, cwd: /abs, restart: {policy: on-failure, most: 2, backoff: 5s}}
  - name: actor
    agent: script
    steps:
      - plan: one
      - plan: [one, two]
      - plan: {revisions: one, withdraw: 2s}
      - plan: {revisions: [one], withdraw: {until: file}}
      - wait: 2s
      - wait: {until: file}
      - say: hello
      - say: {to: tester, text: hi}
      - network: example.com:443
      - progress: half
      - tool: {name: Bash, input: {command: "ls", n: 1}, expect: deny}
tasks:
  - {subject: "Run the tests", owner: tester, instructions: "go test ./...", timeout: 90s, cwd: pkg}
  - {subject: "Build", owner: builder, after: ["Run the tests"], required: false}
`)))(t)
	if f.Team != "api" || f.Deadline != 5*time.Minute || f.Sandbox.Mode != record.SandboxAuto || f.Dir != "/proj" || len(f.SHA256) != 64 {
		t.Errorf("%+v", f)
	}
	wantDecide := record.Deciders{policy.GateTool: policy.DecideRules, policy.GatePlan: policy.DecideAuto, policy.GateNetwork: policy.DecideOperator}
	if diff := cmp.Diff(wantDecide, f.Decide); diff != "" {
		t.Error(diff)
	}
	if f.Policy.Mode != policy.ModeAcceptEdits || len(f.Policy.Allow) != 2 || f.Policy.Deny[0].String() != "Bash(rm -rf:*)" || !f.Policy.Sandboxed {
		t.Errorf("%+v", f.Policy)
	}
	want := []teamfile.FileMember{
		{Name: "tester", Agent: "exec", Backend: "process", Color: "red", Cwd: "/proj/sub", Spec: json.RawMessage(`{}`)},
		{Name: "builder", Agent: "exec", Backend: "auto", Cwd: "/abs", PlanRequired: true, Spec: json.RawMessage(`{"command":["make","a b"]}`)},
		{Name: "actor", Agent: "script", Backend: "auto", Cwd: "/proj", Spec: json.RawMessage(`{"steps":[{"plan":{"revisions":["one"]}},` +
			`{"plan":{"revisions":["one","two"]}},` +
			`{"plan":{"revisions":["one"],"withdraw":{"for":"2s"}}},{"plan":{"revisions":["one"],"withdraw":{"until":"file"}}},{"wait":{"for":"2s"}},{"wait":{"until":"file"}},` +
			`{"say":{"text":"hello"}},{"say":{"to":"tester","text":"hi"}},{"network":{"host":"example.com:443"}},{"progress":{"phase":"","message":"half"}},` +
			`{"tool":{"name":"Bash","input":{"command":"ls","n":1},"expect":"deny"}}]}`)},
	}
	got := f.Members
	for i := range got { // durations that are zero are written too; compare what a reader sees
		got[i].Spec = json.RawMessage(strings.ReplaceAll(string(got[i].Spec), `"for":"0s",`, ""))
	}
	usual := &record.Restart{Most: 5, Window: 600_000, First: 1000, Longest: 60_000}
	want[0].Model, want[0].Mode, want[0].Restart = "m-1", policy.ModePlan, nil
	want[1].Restart = &record.Restart{Most: 2, Window: 600_000, First: 5000, Longest: 60_000}
	want[2].Restart = usual
	for i := range want {
		want[i].Sandbox = &record.Sandbox{Mode: record.SandboxAuto}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantTasks := []teamfile.FileTask{
		{Subject: "Run the tests", Owner: "tester", Instructions: "go test ./...", Required: true, Timeout: 90 * time.Second, Cwd: "pkg"},
		{Subject: "Build", Owner: "builder", After: []string{"Run the tests"}},
	}
	if diff := cmp.Diff(wantTasks, f.Tasks); diff != "" {
		t.Error(diff)
	}
}

// TestParseFileRefuses: an error in a file has the line of the error.
func TestParseFileRefuses(t *testing.T) {
	const head = "team: api\n"
	const rest = "members:\n  - {name: a, agent: exec}\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "one YAML document"},
		{"not yaml", "team: [", "waggle.yaml:1"},
		{"a list", "- a", "waggle.yaml"},
		{"unknown key", head + "colour: red\n" + rest, `waggle.yaml:2: unknown field "colour"`},
		{"unknown key deep down", head + "members:\n  - {name: a, agent: exec, modle: x}\n", `waggle.yaml:3: unknown field "modle"`},
		{"duplicate key", head + "team: b\n" + rest, "waggle.yaml:2"},
		{"bad team", "team: ../x\n" + rest, "waggle.yaml:1: team"},
		{"no members", head, "members: a team needs at least one member"},
		{"bad name", head + "members:\n  - {name: team-lead, agent: exec}\n", "waggle.yaml:3: members[0].name"},
		{"digits", head + "members:\n  - {name: '12', agent: exec}\n", "members[0].name"},
		{"sandboxed", head + "policy: {sandboxed: true}\n" + rest, `policy.sandboxed: want allow or ask, not "true"`},
		{"sandboxed of a lead", head + "lead: boss\nlead_policy: {sandboxed: allow}\n" + rest, "lead_policy.sandboxed: it holds for every member and the lead"},
		{"twice", head + "members:\n  - {name: a, agent: exec}\n  - {name: A, agent: exec}\n", "waggle.yaml:4: members[1].name"},
		{"agent", head + "members:\n  - {name: a, agent: robot}\n", "members[0].agent"},
		{"backend", head + "members:\n  - {name: a, agent: exec, backend: docker}\n", "members[0].backend"},
		{"a lead's worktree", head + "lead: a\nmembers:\n  - {name: a, agent: script, steps: [{say: hi}], decide: {answer: allow}, worktree: true}\n  - {name: b, agent: exec}\n", "waggle.yaml:2: lead: a leads"},
		{"plan key", head + "members:\n  - {name: a, agent: script, steps: [{plan: {revisions: x, witdraw: 2s}}]}\n", "waggle.yaml:3: unknown field \"witdraw\""},
		{"plan withdraw", head + "members:\n  - {name: a, agent: script, steps: [{plan: {revisions: x, withdraw: [2]}}]}\n", "waggle.yaml:3: sequence was used where mapping is expected"},
		{"plan nothing", head + "members:\n  - {name: a, agent: script, steps: [{plan: {withdraw: 2s}}]}\n", "plan wants revisions"},
		{"plan", head + "members:\n  - {name: a, agent: exec, plan: maybe}\n", "members[0].plan"},
		{"steps of exec", head + "members:\n  - {name: a, agent: exec, steps: [{fail: x}]}\n", "steps are for agent script"},
		{"command of script", head + "members:\n  - {name: a, agent: script, command: [ls]}\n", "command is for agent exec"},
		{"unknown key of a step", head + "members:\n  - {name: a, agent: script, steps: [{say: {txt: x}}]}\n", `waggle.yaml:3: unknown field "txt"`},
		{"text for a mapping", head + "members:\n  - {name: a, agent: script, steps: [{tool: ls}]}\n", `, at "ls"`},
		{"empty step", head + "members:\n  - {name: a, agent: script, steps: [{}]}\n", "step 1"},
		{"lead", head + "lead: a\ndecide: {tool: leader}\n" + rest, "waggle.yaml:2: lead: agent exec decides nothing"},
		{"lead in a pane", head + "lead: a\ndecide: {tool: leader}\nmembers:\n  - {name: a, agent: claude, backend: tmux}\n  - {name: b, agent: exec}\n", "waggle.yaml:2: lead: a client in a pane has no tools"},
		{"lead is a client", "team: api\nlead: a\nmembers:\n  - {name: a, agent: mcp}\n  - {name: b, agent: exec}\n", "waggle.yaml:2: lead: a is an MCP client"},
		{"mail steps of exec", head + "members:\n  - {name: a, agent: exec, on_mail: [{fail: x}]}\n", "on_mail is for agent script"},
		{"decider", head + "decide: {tool: nobody}\n" + rest, "waggle.yaml:2: decide.tool"},
		{"auto for tools", head + "decide: {tool: auto}\n" + rest, "auto decides plans only"},
		{"two", head + "decide: {tool: two}\n" + rest, "needs an agent as lead"},
		{"mode", head + "policy: {mode: yolo}\n" + rest, "waggle.yaml:2: policy.mode"},
		{"rule", head + "policy: {deny: [Read, 'Bash(']}\n" + rest, "policy.deny[1]"},
		{"sandbox", head + "sandbox: {mode: maybe}\n" + rest, "sandbox.mode"},
		{"owner", head + rest + "tasks:\n  - {subject: s, owner: b}\n", "waggle.yaml:5: tasks[0].owner"},
		{"subject", head + rest + "tasks:\n  - {owner: a}\n", "needs a subject"},
		{"subject twice", head + rest + "tasks:\n  - {subject: s, owner: a}\n  - {subject: s, owner: a}\n", "waggle.yaml:6: tasks[1].subject"},
		{"after nothing", head + rest + "tasks:\n  - {subject: s, owner: a, after: [t]}\n", `no task "t"`},
		{"after itself", head + rest + "tasks:\n  - {subject: s, owner: a, after: [s]}\n", "must stand before"},
		{"timeout", head + rest + "tasks:\n  - {subject: s, owner: a, timeout: soon}\n", "waggle.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := teamfile.ParseFile("waggle.yaml", []byte(c.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("said %q, want %q in it", err, c.want)
			}
			if code := operator.KindOf(err); code != operator.Usage {
				t.Errorf("code %d", code)
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := teamfile.ReadFile(filepath.Join(dir, "none.yaml")); operator.KindOf(err) != operator.NotFound {
		t.Errorf("missing: %v", err)
	}
	if _, err := teamfile.ReadFile(dir); operator.KindOf(err) != operator.Usage {
		t.Errorf("a directory: %v", err)
	}
	big := filepath.Join(dir, "big.yaml")
	testenv.Must(t, os.WriteFile(big, make([]byte, 2<<20), 0o600))
	if _, err := teamfile.ReadFile(big); err == nil {
		t.Error("2 MiB were read")
	}
}

// FuzzParseFile: any bytes give a file or an error, never a panic, and a file
// never has what the checker refuses.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte("team: a\nmembers: [{name: b, agent: exec}]\ntasks: [{subject: s, owner: b}]\n"))
	f.Add([]byte("team: a\nmembers: [{name: b, agent: script, steps: [{wait: {until: x}}]}]\n"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := teamfile.ParseFile("x.yaml", data)
		if err != nil {
			return
		}
		for _, task := range file.Tasks {
			owned := false
			for _, m := range file.Members {
				owned = owned || m.Name == task.Owner
			}
			if !owned {
				t.Errorf("task %q has owner %q, who is no member", task.Subject, task.Owner)
			}
		}
		if len(file.Members) == 0 || file.Team == "" {
			t.Errorf("%+v", file)
		}
	})
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain, ünïcode":     "plain, ünïcode",
		"\x1b[31mred\x1b[0m": `\x1b[31mred\x1b[0m`,
		"a\nb\tc\r":          `a\nb\tc\r`,
		"\u202egnp.exe":      `\u{202e}gnp.exe`,
		"a\u200bb":           `a\u{200b}b`,
		"\u2028":             `\u{2028}`,
		"\x00\x7f\u0085":     `\x00\x7f\x85`,
	} {
		if got := operator.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := operator.VisibleLines("a\x1b\nb"); got != "a\\x1b\nb" {
		t.Errorf("%q", got)
	}
}

// TestNoMembers: a team to which members are added while it is up says so with an empty list.
func TestNoMembers(t *testing.T) {
	t.Parallel()
	f, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nmembers: []\n"))
	if err != nil || len(f.Members) != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	for _, text := range []string{"team: api\n", "team: api\nmembers:\n"} {
		if _, err := teamfile.ParseFile("/proj/waggle.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "members: []") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
