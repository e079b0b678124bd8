//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/view/reportview"
	"waggle/internal/test/testenv"
)

// guide is the text between two texts in the guide to team files.
func guide(t *testing.T, from, to string) string {
	t.Helper()
	b := readFile(t, "../../../docs/guide/team-file.md")
	_, rest, found := strings.Cut(string(b), from)
	part, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("the guide has nothing between %q and %q", from, to)
	}
	return part
}

// played is one way to write a step, and the status of a task that plays it, with the reason.
type played struct{ step, status, why string }

// stepForms has, for each row of the guide's table of steps, every way that it names.
var stepForms = map[string][]played{
	"`say: \"text\"`, or `{to, text, summary}`": {
		{`{say: "text"}`, "completed", ""},
		{`{say: {to: m0, text: hi, summary: greets}}`, "completed", ""}},
	"`tool: {name, input, reason, expect}`": {
		{`{tool: {name: Bash, input: {command: echo hi}, reason: to see}}`, "completed", ""},
		{`{tool: {name: Write, input: {file_path: made, content: x}}}`, "completed", ""},
		{`{tool: {name: WebFetch, input: {url: "https://example.com"}, expect: deny}}`, "completed", ""},
		{`{tool: {name: WebFetch, input: {url: "https://example.com"}}}`, "failed", "WebFetch denied"}},
	"`plan: \"text\"`, a list of revisions, or `{revisions, withdraw}`": {
		{`{plan: "text"}`, "completed", ""},
		{`{plan: [one, two]}`, "completed", ""},
		{`{plan: {revisions: [one], withdraw: 30s}}`, "completed", ""},
		{`{plan: {revisions: [one], withdraw: {until: never}}}`, "completed", ""}},
	"`network: \"host:port\"`, or `{host, reason, expect}`": {
		{`{network: "example.com:443"}`, "failed", "network to example.com:443 denied"},
		{`{network: {host: "example.com:443", reason: to see, expect: deny}}`, "completed", ""}},
	"`ask_question: \"text\"`, or `{questions, expect}`": {
		{`{ask_question: "which?"}`, "failed", "nobody answered"},
		{`{ask_question: {questions: ["which?", {question: how?, options: [a, {label: b, description: c}], closed: true}], expect: none}}`, "completed", ""}},
	"`progress: \"text\"`, or `{phase, message}`": {
		{`{progress: "half"}`, "completed", ""},
		{`{progress: {phase: verifying, message: half}}`, "completed", ""},
		{`{progress: {message: half}}`, "completed", ""}},
	"`use: {usd, tokens}`": {
		{`{use: {usd: 0.01, tokens: 10}}`, "completed", ""},
		{`{use: {tokens: 10}}`, "completed", ""}},
	"`wait: 2s`, or `{until: file}`": {
		{`{wait: 10ms}`, "completed", ""},
		{`{wait: {until: file}}`, "completed", ""}},
	"`fail: \"why\"`": {
		{`{fail: "why"}`, "failed", "why"}},
}

// TestReadmeSteps runs every step that the guide names, in every way it may be written.
func TestReadmeSteps(t *testing.T) {
	t.Parallel()
	table := guide(t, "| step | what it does |\n|---|---|\n", "\n\n")
	var forms []played
	rows := strings.Split(table, "\n")
	for _, row := range rows {
		cell := strings.TrimSpace(strings.Split(row, "|")[1])
		if len(stepForms[cell]) == 0 {
			t.Errorf("nobody runs the step %s", cell)
		}
		forms = append(forms, stepForms[cell]...)
	}
	if len(rows) != len(stepForms) {
		t.Errorf("the guide has %d steps, this test %d", len(rows), len(stepForms))
	}
	file, tasks := "team: steps\ndecide: {plan: auto}\npolicy: {allow: [Write, \"Bash(echo:*)\"]}\nmembers:\n", "tasks:\n"
	for i, f := range forms {
		file += fmt.Sprintf("  - {name: m%d, agent: script, backend: in-process, steps: [%s]}\n", i, f.step)
		tasks += fmt.Sprintf("  - {subject: %q, owner: m%d}\n", f.step, i)
	}
	h := newHome(t, "waggle")
	h.write("file", "")
	h.ends("steps")
	_, said, _ := h.waggle("run", h.write("steps.yaml", file+tasks), "--headless", "--report", filepath.Join(h.dir, "out"))
	r := h.report("out")
	if len(r.Tasks) != len(forms) {
		t.Fatalf("%d tasks of %d ran: %s\n%s", len(r.Tasks), len(forms), r.Reason, said)
	}
	for i, f := range forms {
		got := r.Tasks[i]
		if got.Subject != f.step || got.Status != f.status || !strings.Contains(got.Why, f.why) {
			t.Errorf("%s: %s, %q; want %s, %q", got.Subject, got.Status, got.Why, f.status, f.why)
		}
	}
}

// report reads the report of a run.
func (h *homeTree) report(dir string) (r reportview.Document) {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, dir, "report.json"))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	testenv.Must(h.t, err)
	return r
}

// TestReadmeWithdraw: a plan that nobody answers is taken back.
func TestReadmeWithdraw(t *testing.T) {
	t.Parallel()
	h := newHome(t, "waggle")
	h.ends("back")
	h.write("file", "")
	h.must("run", h.write("back.yaml", `
team: back
members:
  - {name: short, agent: script, backend: in-process, steps: [{plan: {revisions: [one], withdraw: 50ms}}]}
  - {name: long, agent: script, backend: in-process, steps: [{plan: {revisions: one, withdraw: {until: file}}}]}
tasks: [{subject: a, owner: short}, {subject: b, owner: long}]
`), "--headless", "--wait", "1m", "--report", filepath.Join(h.dir, "out"))
	for _, got := range h.report("out").Tasks {
		if got.Status != "completed" {
			t.Errorf("%+v", got)
		}
	}
}

// TestReadmeTeam runs the team file that the guide shows, with programs of its own for go
// and make, and says yes to what it asks.
func TestReadmeTeam(t *testing.T) {
	t.Parallel()
	var file string
	for line := range strings.Lines(guide(t, "# Write a team file\n\n", "\n| key |")) {
		file += strings.TrimPrefix(line, "    ")
	}
	h := newHome(t, "waggle")
	for _, name := range []string{"go", "make"} {
		testenv.Must(t, os.Chmod(h.write("bin/"+name, "#!/bin/sh\necho \"$0 $*\"\n"), 0o700))
	}
	h.env = append(h.env, "PATH="+filepath.Join(h.work, "bin")+":"+os.Getenv("PATH"))
	h.ends("api")
	type result struct {
		said string
		code int
	}
	done := make(chan result, 1)
	path := h.write("api.yaml", file)
	go func() {
		_, said, code := h.waggle("run", path, "--headless", "--wait", "1m", "--report", filepath.Join(h.dir, "out"))
		done <- result{said, code}
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case got := <-done:
			if r := h.report("out"); got.code != 0 || len(r.Tasks) != 2 {
				t.Errorf("code %d: %+v\n%s", got.code, r, got.said)
			}
			return
		case <-tick.C:
		}
		out, _, code := h.waggle("pending", "--team", "api", "--json")
		var asked struct {
			Pending []struct{ ID, Kind string }
		}
		if code != 0 || json.Unmarshal([]byte(out), &asked) != nil {
			continue // not up yet
		}
		for _, q := range asked.Pending {
			if strings.Contains(q.Kind, "plan") {
				h.waggle("plan", "approve", q.ID, "--rev", "1", "--team", "api")
			} else {
				h.waggle("approve", q.ID, "--team", "api")
			}
		}
	}
}
