package supervise_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/operatortest"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/record"
)

// spoil makes a journal unreadable from a line on.
func spoil(t *testing.T, dir string, line int) {
	t.Helper()
	path := filepath.Join(dir, "00000001.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	if len(lines) <= line {
		t.Fatalf("%s has %d lines", path, len(lines)-1)
	}
	lines[line-1] = []byte("nonsense\n")
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	snaps, err := filepath.Glob(filepath.Join(dir, "*snap*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snaps {
		if err := os.RemoveAll(s); err != nil {
			t.Fatal(err)
		}
	}
}

// records counts those of a journal.
func records(t *testing.T, dir string) uint64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "00000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return uint64(bytes.Count(b, []byte("\n")))
}

// TestAcknowledgeBreak: after an acknowledgement a team goes on without the records behind the break
// of its leader's journal: its processes are ended, its members come back as new instances, and the
// policy has no allow rule.
func TestAcknowledgeBreak(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	m, id := r.Sleeper(s, "ann")
	last := records(t, s.Dir.LeaderJournal())
	r.Enlist(s, "lost")
	r.Enlist(s, "bob")
	su := supervise.Of(op)
	if _, err := su.AcknowledgeBreak(t.Context(), "api", 3, nil); operator.KindOf(err) != operator.NotFound {
		t.Errorf("a journal that is whole: %v", err)
	}
	spoil(t, s.Dir.LeaderJournal(), int(last)+1)
	if _, err := su.AcknowledgeBreak(t.Context(), "api", last, nil); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "the break is at seq") {
		t.Errorf("another record: %v", err)
	}
	if !id.Alive() {
		t.Fatal("a refusal has ended ann")
	}
	said := &operatortest.Heard{}
	b, err := su.AcknowledgeBreak(t.Context(), "api", last+1, said.Note)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Acknowledged || b.Journal != "leader" || b.Readable != last || b.Lost != 2 || !slices.Equal(b.Members, []string{"ann"}) || !slices.Equal(b.Dropped, []string{"bob"}) {
		t.Errorf("%+v", b)
	}
	if id.Alive() {
		t.Error("ann's process was not ended")
	}
	if _, err := os.Stat(b.Kept); err != nil {
		t.Errorf("the journal is not kept: %v", err)
	}
	now, err := op.Open(t.Context(), "api", operator.Act)
	if err != nil {
		t.Fatal(err)
	}
	ann, ok := now.Lead.Member("ann")
	if !ok || ann.Instance == m.Instance || ann.Left != nil || ann.Process != nil {
		t.Errorf("ann is %+v", ann)
	}
	if old, ok := now.Lead.ByInstance(m.Instance); !ok || old.Left == nil || old.Left.How != record.LeftStopped {
		t.Errorf("the old instance: %+v", old)
	}
	if _, ok := now.Lead.Member("bob"); ok {
		t.Error("bob joined behind the break")
	}
	if len(now.Lead.Policy.Policy.Allow) != 0 || now.Lead.Version() < 2 {
		t.Errorf("policy %+v", now.Lead.Policy)
	}
	if b, err := process.Of(op).Break(t.Context(), "api", ""); b != nil || err != nil {
		t.Errorf("it is broken again: %+v, %v", b, err)
	}
}

// TestAcknowledgeNothingReadable: a journal of which nothing can be read does not go on.
func TestAcknowledgeNothingReadable(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	spoil(t, s.Dir.LeaderJournal(), 1)
	_, err := supervise.Of(op).AcknowledgeBreak(t.Context(), "api", 1, nil)
	if operator.KindOf(err) != operator.Failed || !strings.Contains(err.Error(), "nothing of the journal of team api can be read") {
		t.Error(err)
	}
	if _, err := supervise.Of(op).AcknowledgeBreak(t.Context(), "web", 1, nil); operator.KindOf(err) != operator.NotFound {
		t.Errorf("no team: %v", err)
	}
}

// TestAcknowledgeMember: a member whose own journal is broken goes on as a new instance, which
// is started.
func TestAcknowledgeMember(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	op.Backends = append(op.Backends, operatortest.Ends("elsewhere", 3, "no legs\n"))
	k := keep(t, op, head, supervise.LeadOptions{})
	s, err := op.Open(t.Context(), "api", operator.Act)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Lead.Member("ann")
	su := supervise.Of(op)
	if _, err := su.AcknowledgeMember(t.Context(), "api", "ann", 2, supervise.LeadOptions{}); operator.KindOf(err) != operator.NotFound {
		t.Errorf("a journal that is whole: %v", err)
	}
	spoil(t, s.Dir.JournalOf(string(m.Instance)), 2)
	if _, err := su.AcknowledgeMember(t.Context(), "api", "ann", 1, supervise.LeadOptions{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("another record: %v", err)
	}
	if _, err := su.AcknowledgeMember(t.Context(), "api", "ann", 2, supervise.LeadOptions{}); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "runs inside process") {
		t.Errorf("a member inside: %v", err)
	}
	k.cancel()
	<-k.ended
}

// TestAcknowledgeMemberOutside: the process of a member whose journal is broken is ended, and
// a new instance of it is started.
func TestAcknowledgeMemberOutside(t *testing.T) {
	t.Parallel()
	op := fresh(t)
	op.Backends = append(op.Backends, operatortest.Ends("elsewhere", 3, "no legs\n"))
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	m := r.Enlist(s, "ann", elsewhereOnly)
	id := operatortest.Process(t)
	r.Runs(s, m, id)
	own := s.Dir.JournalOf(string(m.Instance))
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "00000001.jsonl"), []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := process.Of(op).Break(t.Context(), "api", ""); err != nil || b == nil || b.Member != "ann" || b.Seq != 1 || b.Readable != 0 {
		t.Errorf("%+v, %v", b, err)
	}
	b, err := supervise.Of(op).AcknowledgeMember(t.Context(), "api", "ann", 1, supervise.LeadOptions{})
	if operator.KindOf(err) != operator.Died || !strings.Contains(err.Error(), "ann did not start") || !strings.Contains(err.Error(), "no legs") {
		t.Errorf("its start: %v", err)
	}
	if b == nil || !b.Acknowledged || b.Kept != own || !slices.Equal(b.Members, []string{"ann"}) || id.Alive() {
		t.Errorf("%+v", b)
	}
	now := r.State()
	if ann, _ := now.Lead.Member("ann"); ann.Instance == m.Instance || ann.Left != nil {
		t.Errorf("ann is %+v", ann)
	}
}
