package repair

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/policy"
	"waggle/record"
)

// rig is a team, and its state.
func rig(t *testing.T) (*operatortest.Rig, *operator.State) {
	t.Helper()
	r := operatortest.Team(t, operatortest.New(t), "api", record.PolicySet{})
	return r, r.State()
}

// TestNamed: an acknowledgement must name the break's own record.
func TestNamed(t *testing.T) {
	t.Parallel()
	var whole *Broken
	if err := whole.named(3); operator.KindOf(err) != operator.NotFound {
		t.Errorf("a whole journal: %v", err)
	}
	b := &Broken{Seq: 3}
	if err := b.named(3); err != nil {
		t.Error(err)
	}
	var e *operator.Error
	if err := b.named(4); operator.KindOf(err) != operator.Refused || !errors.As(err, &e) || !slices.Equal(e.Near, []string{"3"}) {
		t.Errorf("another: %v", err)
	}
}

// TestBreak: broken returns the broken journal of a team, and the record at which it breaks.
func TestBreak(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := Of(r.Op)
	m := r.Enlist(s, "ann")
	for _, name := range []string{"", "ann"} {
		if b, err := o.broken(t.Context(), "api", name); b != nil || err != nil {
			t.Errorf("a whole team: %+v, %v", b, err)
		}
	}
	if b, err := o.broken(t.Context(), "web", ""); b != nil || err != nil {
		t.Errorf("no team: %+v, %v", b, err)
	}
	own := s.Dir.JournalOf(string(m.Instance))
	testenv.Must(t, os.MkdirAll(own, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(own, "00000001.jsonl"), []byte("nonsense\nmore\n"), 0o600))
	b, at, err := memberBreak(s, m)
	if err != nil || b.Member != "ann" || b.Journal != string(m.Instance) || b.Line != 1 || b.Seq != 1 || b.Readable != 0 || b.Lost != 2 || b.Bytes != 14 || b.Acknowledged || at.Prefix != 0 {
		t.Errorf("%+v, %+v, %v", b, at, err)
	}
	if got, err := o.broken(t.Context(), "api", "ann"); err != nil || got == nil || got.SHA256 != b.SHA256 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := o.broken(t.Context(), "api", "bob"); err != nil || got != nil {
		t.Errorf("of another member: %+v, %v", got, err)
	}
	d := b.known(at, "kept/here")
	if k := d.Body.(record.Acknowledged).Break; d.Kind != record.KindAcknowledged || k.Journal != at.Err.Journal || k.Seq != 1 || k.SHA256 != b.SHA256 || k.Kept != "kept/here" {
		t.Errorf("%+v", d)
	}
	path := filepath.Join(s.Dir.LeaderJournal(), "00000001.jsonl")
	text, err := os.ReadFile(path)
	testenv.Must(t, err)
	lines := bytes.SplitAfter(text, []byte("\n"))
	lines[2] = []byte("nonsense\n")
	testenv.Must(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
	lb, err := o.broken(t.Context(), "api", "ann")
	if err != nil || lb == nil || lb.Journal != "leader" || lb.Seq != 3 || lb.Readable != 2 || lb.Lost != 1 {
		t.Errorf("the leader's: %+v, %v", lb, err)
	}
	if lb, _, err := o.leaderBreak("web"); lb != nil || err != nil {
		t.Errorf("no team: %+v, %v", lb, err)
	}
}

// TestLatterPolicies: latterPolicies reads the policies behind a break, and nothing else.
func TestLatterPolicies(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	r.Enlist(s, "ann")
	set := s.Lead.Policy
	set.Policy.Version++
	set.Policy.Deny = append(set.Policy.Deny, policy.Rule{Tool: "Bash"})
	operatortest.Append(t, r.Op, s, journal.Draft{Kind: record.KindPolicy, Must: true, Body: set})
	sets := latterPolicies(s, &journal.Break{Prefix: 2})
	if len(sets) == 0 || len(sets[len(sets)-1].Policy.Deny) != 1 {
		t.Errorf("%+v", sets)
	}
	if sets := latterPolicies(s, &journal.Break{Prefix: 1000}); len(sets) != 0 {
		t.Errorf("before the break: %+v", sets)
	}
}

// TestAgain: a member comes back as a new instance, with no more than the default mode, and the old
// messages of its mailbox are in its Baseline.
func TestAgain(t *testing.T) {
	t.Parallel()
	m := &control.Member{Joined: record.Joined{Instance: "old", Name: "ann", Mode: policy.ModeBypassPermissions, Agent: "exec"}}
	j := again(m, "new", []string{"a"}).Body.(record.Joined)
	if j.Instance != "new" || j.Name != "ann" || j.Agent != "exec" || j.Mode != policy.ModeDefault || len(j.Baseline) != 1 || m.Instance != "old" {
		t.Errorf("%+v", j)
	}
	m.Mode, m.Joined.Mode = "", ""
	if j := again(m, "new", nil).Body.(record.Joined); j.Mode != "" {
		t.Errorf("a mode: %+v", j)
	}
}

// TestGiveBack: giveBack takes the owner from the tasks of members whose orders are gone; lying lists
// the messages in their mailboxes.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	r, s := rig(t)
	o := Of(r.Op)
	m := r.Enlist(s, "ann")
	testenv.Value(board.Of(r.Op).AddTask(t.Context(), "api", board.NewTask{Subject: "A", Owner: "ann"}))(t)
	ids, err := o.lying(t.Context(), "api", "ann")
	if err != nil || len(ids) != 1 {
		t.Errorf("in its mailbox: %v, %v", ids, err)
	}
	testenv.Must(t, o.giveBack(t.Context(), s, []*control.Member{m}, "it is gone"))
	list, err := board.Of(r.Op).Tasks(t.Context(), "api", true)
	if err != nil || len(list.Tasks) != 1 || list.Tasks[0].Owner != "" {
		t.Errorf("%+v, %v", list, err)
	}
	if len(unasked(s.Lead, m)) != 0 {
		t.Error("it has asked nothing")
	}
}
