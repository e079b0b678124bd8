package repair_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/repair"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/record"
	"waggle/spawn"
)

// repairs acknowledges damage of the team api.
func repairs(t *testing.T, op operator.Operator, member string, seq uint64) (*repair.Damage, error) {
	t.Helper()
	return repair.Of(op).Repair(t.Context(), "api", member, seq, supervise.LeadOptions{})
}

// records counts those of a journal.
func records(t *testing.T, dir string) uint64 {
	t.Helper()
	b := testenv.Value(os.ReadFile(filepath.Join(dir, "00000001.jsonl")))(t)
	return uint64(bytes.Count(b, []byte("\n")))
}

// TestRepairLeader: after an acknowledgement a team goes on without the records behind the break
// of its leader's journal: its processes are ended, its members come back as new instances, and the
// policy has no allow rule.
func TestRepairLeader(t *testing.T) {
	t.Parallel()
	op, r := operatortest.API(t)
	s := r.State()
	m, id := r.Sleeper(s, "ann")
	last := records(t, s.Dir.LeaderJournal())
	r.Enlist(s, "lost")
	r.Enlist(s, "bob")
	if _, err := repairs(t, op, "", 3); operator.KindOf(err) != operator.NotFound {
		t.Errorf("a journal that is whole: %v", err)
	}
	operatortest.Spoil(t, s.Dir.LeaderJournal(), int(last)+1)
	if _, err := repairs(t, op, "", last); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "the break is at seq") {
		t.Errorf("another record: %v", err)
	}
	if !id.Alive() {
		t.Fatal("a refusal has ended ann")
	}
	said := &operatortest.Heard{}
	d, err := repair.Of(op).Repair(t.Context(), "api", "", last+1, supervise.LeadOptions{Note: said.Note})
	testenv.Must(t, err)
	b := d.Broken
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
	testenv.Must(t, err)
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
	if d, err := repair.Of(op).Look(t.Context(), "api", ""); d != nil || operator.KindOf(err) != operator.NotFound {
		t.Errorf("it is broken again: %+v, %v", d, err)
	}
}

// TestRepairNothingReadable: a journal of which nothing can be read does not go on.
func TestRepairNothingReadable(t *testing.T) {
	t.Parallel()
	op, r := operatortest.API(t)
	s := r.State()
	operatortest.Spoil(t, s.Dir.LeaderJournal(), 1)
	_, err := repairs(t, op, "", 1)
	if operator.KindOf(err) != operator.Failed || !strings.Contains(err.Error(), "nothing of the journal of team api can be read") {
		t.Error(err)
	}
	if _, err := repair.Of(op).Repair(t.Context(), "web", "", 1, supervise.LeadOptions{}); operator.KindOf(err) != operator.NotFound {
		t.Errorf("no team: %v", err)
	}
}

// TestRepairMemberInside: a member that runs inside another process cannot be ended alone.
func TestRepairMemberInside(t *testing.T) {
	t.Parallel()
	op, r := operatortest.API(t)
	s := r.State()
	m := r.Enlist(s, "ann")
	id := testenv.Value(spawn.Identify(os.Getpid()))(t)
	id.Inside = true
	r.Runs(s, m, id)
	if _, err := repairs(t, op, "ann", 1); operator.KindOf(err) != operator.NotFound {
		t.Errorf("a journal that is whole: %v", err)
	}
	own := s.Dir.JournalOf(string(m.Instance))
	testenv.Must(t, os.MkdirAll(own, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(own, "00000001.jsonl"), []byte("nonsense\n"), 0o600))
	if _, err := repairs(t, op, "ann", 2); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "the break is at seq 1") {
		t.Errorf("another record: %v", err)
	}
	if _, err := repairs(t, op, "ann", 1); operator.KindOf(err) != operator.Refused || !strings.Contains(err.Error(), "runs inside process") {
		t.Errorf("a member inside: %v", err)
	}
}

// TestRepairMember: the process of a member whose journal is broken is ended, and
// a new instance of it is started.
func TestRepairMember(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	op.Backends = append(op.Backends, operatortest.Ends("elsewhere", 3, "no legs\n"))
	r := operatortest.Team(t, op, "api", record.PolicySet{})
	s := r.State()
	m := r.Enlist(s, "ann", func(m *teamfile.FileMember) { m.Backend = "elsewhere" })
	id := operatortest.Process(t)
	r.Runs(s, m, id)
	own := s.Dir.JournalOf(string(m.Instance))
	testenv.Must(t, os.MkdirAll(own, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(own, "00000001.jsonl"), []byte("nonsense\n"), 0o600))
	d, err := repair.Of(op).Look(t.Context(), "api", "")
	if err != nil || d.Broken == nil || d.Broken.Member != "ann" || d.Broken.Seq != 1 || d.Broken.Readable != 0 || d.Acknowledged() {
		t.Fatalf("%+v, %v", d, err)
	}
	_, err = repairs(t, op, "", 1) // it is not said whose journal it is
	var e *operator.Error
	if !errors.As(err, &e) || e.Kind != operator.Usage || e.Next != (operator.Next{Step: operator.NextRepairMember, Team: "api", Member: "ann", ID: "1"}) {
		t.Errorf("of the team: %+v", err)
	}
	d, err = repairs(t, op, "ann", 1)
	if operator.KindOf(err) != operator.Died || !strings.Contains(err.Error(), "ann did not start") || !strings.Contains(err.Error(), "no legs") {
		t.Errorf("its start: %v", err)
	}
	if b := d.Broken; b == nil || !d.Acknowledged() || b.Kept != own || !slices.Equal(b.Members, []string{"ann"}) || id.Alive() {
		t.Errorf("%+v", d.Broken)
	}
	now := r.State()
	if ann, _ := now.Lead.Member("ann"); ann.Instance == m.Instance || ann.Left != nil {
		t.Errorf("ann is %+v", ann)
	}
}

// TestRepairDivergence: a divergence stops all decisions until the operator acknowledges it, which no member can.
func TestRepairDivergence(t *testing.T) {
	t.Parallel()
	op, r := operatortest.API(t)
	r.Asks("ann", operatortest.Bash("make"))
	req := r.Pending(1)[0]
	_, err := repairs(t, op, "", 1)
	operatortest.Is(t, "nothing to acknowledge", err, operator.NotFound, "are whole and agree")
	r.Write(journal.Draft{Kind: record.KindDiverged, Must: true, Body: record.Diverged{Instance: req.Instance, Leader: 99, Why: "ann took an answer"}})
	d, err := repair.Of(op).Look(t.Context(), "api", "")
	if err != nil || d.Divergence == nil || d.Divergence.Member != "ann" || d.Divergence.Leader != 99 || d.Divergence.Why != "ann took an answer" || d.Acknowledged() {
		t.Fatalf("%+v, %v", d, err)
	}
	allow := []decide.Answer{{ID: req.Handle, Allow: true}}
	if rs, err := decide.Of(op).Decide(t.Context(), "api", allow); err != nil || len(rs) != 1 || !errors.Is(rs[0].Err(), control.ErrDiverged) {
		t.Errorf("%+v, %v", rs, err)
	}
	_, err = repairs(t, op, "", d.Divergence.Seq+1)
	operatortest.Is(t, "another one", err, operator.Refused, "look at it")
	before := len(r.State().Lead.Unverified)
	_, err = repairs(t, r.FromInside(), "", d.Divergence.Seq)
	operatortest.Is(t, "from inside", err, operator.Refused, "only the operator may do that")
	if got := len(r.State().Lead.Unverified) - before; got != 1 {
		t.Errorf("%d claims are on record", got)
	}
	if d, err = repairs(t, op, "", d.Divergence.Seq); err != nil || !d.Acknowledged() {
		t.Fatalf("%+v, %v", d, err)
	}
	if rs, err := decide.Of(op).Decide(t.Context(), "api", allow); err != nil || rs[0].Err() != nil {
		t.Errorf("%+v, %v", rs, err)
	}
}
