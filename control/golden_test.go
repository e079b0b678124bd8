package control_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestLife runs a whole team and compares the journals and mailboxes with the golden file: work
// assigned, a plan rejected and then approved, a call asked, allowed and run, one that the rules
// allow, one that is denied, a host, a forged answer, a shutdown rejected and then approved.
func TestLife(t *testing.T) {
	var moves bytes.Buffer
	w := newWorld(t, record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault, Allow: policy.MustRules("Bash(go vet:*)")}},
		func(o machine.Observation) {
			line := fmt.Sprintf("%-3s %-6s %s: %s --%s--> %s %s", o.Row, o.Machine, o.Member, o.From, o.On, o.To, o.Request)
			fmt.Fprintln(&moves, strings.TrimSpace(line))
		})
	m := w.join("ada", true)
	w.assign(m, record.Task{ID: "1", Subject: "Test", Instructions: "go test ./...", PlanRequired: true})
	w.round()
	m.take()
	decide := func(k record.Key, allow bool, reason string) {
		w.round()
		v := verdict(w.request(k), allow)
		v.Reason = reason
		w.decide(v, operator)
		w.round()
	}
	decide(m.ask(plan, record.Ask{Plan: "Run everything."}), false, "also say what you do when it fails")
	decide(m.ask(plan, record.Ask{Plan: "Run everything; when it fails, report."}), true, "")

	k := m.ask(tool, bash)
	m.box.put(envelope("team-lead", encode(t, protocol.PermissionResponse{RequestID: string(k.ID), Subtype: protocol.SubtypeSuccess})), true)
	m.poll()
	decide(k, true, "")
	w.must(m.start(k))
	m.finish(k)

	vet := m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"go vet ./..."}`, Cwd: "/work"})
	w.must(m.start(vet))
	m.finish(vet)
	decide(m.ask(host, record.Ask{Host: "packages.example", Port: "443"}), true, "")
	decide(m.ask(tool, record.Ask{Tool: "Bash", Input: `{"command":"git push"}`, Cwd: "/work", ToolUseID: "toolu_3"}), false, "not today")

	w.shutdown(m, policy.RoleOperator)
	w.round()
	m.answer(false)
	w.round()
	m.says(protocol.TaskCompleted{From: "ada", TaskID: "1", TaskSubject: "Test", Timestamp: protocol.FormatTime(m.now)}, record.Said{Task: "1", Note: "done"})
	m.idle()
	w.now = w.now.Add(1e9)
	w.shutdown(m, policy.RoleOperator)
	w.round()
	m.answer(true)
	w.round()
	w.command(m, func(lm *control.Member) ([]journal.Draft, error) {
		return w.l.Let(lm, record.LeftHandshake, "exit status 0"), nil
	})

	golden(t, "life.txtar", "A whole life; see TestLife.\n", []txtar.File{
		{Name: "leader", Data: records(w.mem)}, {Name: "ada", Data: records(m.mem)},
		{Name: "inboxes/team-lead", Data: texts(&w.box)}, {Name: "inboxes/ada", Data: texts(m.box)}, {Name: "moves", Data: moves.Bytes()},
	})
}

func records(m *journal.Memory) []byte {
	var b bytes.Buffer
	for _, r := range m.Records() {
		who := "operator"
		if !r.Writer.Operator {
			who = fmt.Sprintf("%s/%d", r.Writer.Instance, r.Writer.Epoch)
		}
		fmt.Fprintf(&b, "%d %s %s by %s\n  %s\n", r.Seq, protocol.FormatTime(r.Time), r.Kind, who, r.Body)
	}
	return b.Bytes()
}

func texts(box *box) []byte {
	var b bytes.Buffer
	for _, e := range box.entries {
		mark := ""
		if e.forged {
			mark = " (forged)"
		}
		fmt.Fprintf(&b, "%s%s: %s\n", e.env.From, mark, e.env.Text)
	}
	return b.Bytes()
}

// golden compares with testdata, or writes it when -update is given.
func golden(t *testing.T, name, comment string, files []txtar.File) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got := txtar.Format(&txtar.Archive{Comment: []byte(comment), Files: files})
	if *update {
		testenv.Must(t, errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(path, got, 0o666)))
	}
	want, err := os.ReadFile(path)
	testenv.Must(t, err)
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs; -update writes it anew:\n%s", path, d)
	}
}
