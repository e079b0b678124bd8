package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
)

// TestDemo folds the journals that the demo left and finds every flow that it
// claims, done by processes that are not the leader's.
func TestDemo(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), binary(t), "demo", "--json", "--keep")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "WAGGLE_ROOT=/nonexistent", "WAGGLE_STATE=/nonexistent")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	var doc struct {
		Dir   string
		Lines []struct {
			Act               int
			Who, Text, Source string
		}
		PIDs map[string]int
	}
	testenv.Must(t, json.Unmarshal(out.Bytes(), &doc))
	for name, pid := range doc.PIDs {
		if pid == 0 || pid == cmd.Process.Pid {
			t.Errorf("%s ran as process %d, the leader was %d", name, pid, cmd.Process.Pid)
		}
	}
	home := home.Home{Path: filepath.Join(doc.Dir, "state")}
	dirs, err := home.Find("file://"+filepath.Join(doc.Dir, "root"), "demo")
	if err != nil || len(dirs) != 1 {
		t.Fatalf("found %v, %v", dirs, err)
	}
	lead := control.NewLeader(nil)
	if _, err := dirs[0].Journals().Open(journal.Leader, lead, journal.Options{}); err != nil {
		t.Fatal(err)
	}
	folds := map[string]*control.Worker{}
	for _, m := range lead.Members {
		w := control.NewWorker(nil)
		if _, err := dirs[0].Journals().Open(journal.Name(m.Instance), w, journal.Options{}); err != nil {
			t.Fatal(err)
		}
		folds[string(m.Name)] = w
		if m.Left == nil || m.Left.How != record.LeftHandshake {
			t.Errorf("%s: left %+v, want by handshake", m.Name, m.Left)
		}
		if m.Process == nil || m.Process.ID.PID != doc.PIDs[string(m.Name)] {
			t.Errorf("%s: process %+v, want pid %d", m.Name, m.Process, doc.PIDs[string(m.Name)])
		}
	}
	checkFlows(t, lead, folds)
	// Every line names a source that exists.
	acts := map[int]int{}
	for i, l := range doc.Lines {
		acts[l.Act]++
		if i > 0 && l.Act < doc.Lines[i-1].Act {
			t.Errorf("act %d after act %d: %s %s", l.Act, doc.Lines[i-1].Act, l.Who, l.Text)
		}
		if regexp.MustCompile(`(perm|plan_approval|sandbox)-\d`).MatchString(l.Text) {
			t.Errorf("a line with a long id: %s", l.Text)
		}
		if !strings.Contains(l.Source, "journal, line ") && !strings.HasPrefix(l.Source, "inboxes/") {
			t.Errorf("line %q has source %q", l.Text, l.Source)
		}
	}
	if acts[0] > 0 || len(acts) != 8 {
		t.Errorf("lines by act: %v", acts)
	}
	if len(doc.Lines) < 25 {
		t.Errorf("only %d lines", len(doc.Lines))
	}
	if !exists(doc.Dir, "root", "teams", "demo", "inboxes", "bob.json") {
		t.Error("there is no bob.json")
	}
}

// TestDemoRemovesItsTree: without --keep the demo leaves no file, and without -v its lines name no source.
func TestDemoRemovesItsTree(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	tmp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), "demo", "--yes")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	for _, want := range []string{"\n1  Three agents start", "\n8  The team ends", "its files are removed", "Starting three scripted agents", "\n   Any program can write into a mailbox", "\nNow with a real agent", "\n    waggle new "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	for l := range strings.Lines(string(out)) {
		if l = strings.TrimRight(l, "\n"); len(l) > 80 {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	if n := strings.Count(string(out), "waggle new"); n != 1 {
		t.Errorf("%d closing commands in:\n%s", n, out)
	}
	if strings.Contains(string(out), "journal, line") {
		t.Errorf("sources without -v:\n%s", out)
	}
}

func checkFlows(t *testing.T, lead *control.Leader, folds map[string]*control.Worker) {
	t.Helper()
	answers := func(name string, kind protocol.Kind) (out []string) {
		for _, c := range folds[name].Calls {
			if c.Kind == kind && c.Answer != nil {
				out = append(out, c.Answer.Decision+" by "+string(c.Answer.By))
			}
		}
		return out
	}
	for _, f := range []struct {
		flow string
		ok   bool
	}{
		{"assignment", len(folds["ada"].Tasks) == 1 && folds["ada"].Tasks[0].Ended},
		{"plan rejected, then approved", slices.Equal(answers("ada", protocol.KindPlanApprovalRequest), []string{"deny by operator", "allow by operator"})},
		{"permission granted", slices.Equal(answers("ada", protocol.KindPermissionRequest), []string{"allow by operator"})},
		{"by rule, by rule, denied", slices.Equal(answers("bob", protocol.KindPermissionRequest), []string{"allow by rules", "deny by rules", "deny by operator"})},
		{"network", slices.Equal(answers("cleo", protocol.KindSandboxPermissionRequest), []string{"allow by operator"})},
		{"forgery inert", folds["bob"].Unverified == 1},
		{"shutdown rejected", memberOf(lead, "cleo").Rejected != ""},
		{"shutdown approved", memberOf(lead, "cleo").Approved},
		{"progress and completion", len(memberOf(lead, "cleo").Done) == 1},
	} {
		if !f.ok {
			t.Errorf("the demo did not show: %s", f.flow)
		}
	}
	for _, c := range folds["bob"].Calls {
		if c.Kind == protocol.KindPermissionRequest && c.Answer.Decision == record.DecisionDeny && c.Started {
			t.Errorf("%s ran although it was denied", c.Ask.Input)
		}
	}
}

func memberOf(l *control.Leader, name protocol.MemberName) *control.Member {
	m, ok := l.Member(name)
	if !ok {
		return &control.Member{}
	}
	return m
}
