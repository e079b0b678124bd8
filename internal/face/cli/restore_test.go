//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// asked is a team whose member has asked for a tool that the policy leaves to the
// operator.
const asked = `team: api
sandbox: {mode: off}
members:
  - {name: ann, agent: exec}
tasks:
  - {subject: ask, owner: ann, instructions: "touch hello"}
`

func (r *rig) backup() *bytes.Buffer {
	r.t.Helper()
	var b bytes.Buffer
	if _, err := teams.Of(r.op).Backup(r.t.Context(), "api", &b); err != nil {
		r.t.Fatal(err)
	}
	return &b
}

// TestRestoreAuthority: a restored team does not take over the requests, decisions and
// grants of its backup, and its old mail raises no alarm. The new journal is its only
// authority.
func TestRestoreAuthority(t *testing.T) {
	t.Parallel()
	r := newRig(t, asked)
	ctx := t.Context()
	r.assign()
	r.until("it is asked for", func(l *control.Leader) bool { return len(l.Pending()) == 1 })
	var id string
	r.lead.View(func(l *control.Leader) { id = string(l.Pending()[0].ID) })
	q, err := decide.Of(r.op).Pending(ctx, "api", false)
	if err != nil || len(q) != 1 {
		t.Fatal(q, err)
	}
	if _, err := decide.Of(r.op).Decide(ctx, "api", []decide.Answer{{ID: id, Allow: true, Digest: q[0].Digest}}); err != nil {
		t.Fatal(err)
	}
	r.until("it is closed", func(l *control.Leader) bool { return len(l.Live()) == 1 && l.Live()[0].State() == machine.Idle })
	old := r.state.Dir.UID
	data := r.backup().Bytes()

	// Restore replaces a live team only with Force, and not while a process leads it.
	_, err = teams.Of(r.op).Restore(ctx, bytes.NewReader(data), teams.RestoreOptions{})
	if operator.KindOf(err) != operator.Refused {
		t.Errorf("over a live team: %v", err)
	}
	if _, err := teams.Of(r.op).Restore(ctx, bytes.NewReader(data), teams.RestoreOptions{Force: true}); operator.KindOf(err) != operator.Locked {
		t.Errorf("over a team that is led: %v", err)
	}
	testenv.Must(t, r.lead.Close())
	r.lead = nil
	rs, err := teams.Of(r.op).Restore(ctx, bytes.NewReader(data), teams.RestoreOptions{Force: true})
	testenv.Must(t, err)
	if rs.Authority != teams.AuthorityNew || len(rs.Ended) != 1 || rs.Replaced == "" || rs.History == "" || !rs.Verified {
		t.Errorf("%+v", rs)
	}
	if alive(r.pids["ann"]) {
		t.Error("ann still runs")
	}
	st, err := inspect.Of(r.op).Status(ctx, "api") // runs a leader pass over the old mail
	if err != nil || st.Alarms != 0 || st.Pending != 0 {
		t.Errorf("%+v %v", st, err)
	}
	s, err := r.op.Open(ctx, "api", operator.Act)
	if err != nil || s.Dir.UID == old || len(s.Lead.Requests) != 0 || len(s.Lead.Members) != 0 {
		t.Errorf("%+v %v", s, err)
	}
	in, err := mail.Of(r.op).Inbox(ctx, "api", protocol.Lead, false)
	if err != nil || len(in.Entries) == 0 {
		t.Errorf("the old mail is there to be read: %+v %v", in, err)
	}
	journal := filepath.Join(rs.History, "journal", "leader", "00000001.jsonl")
	if history, err := os.ReadFile(journal); err != nil || !strings.Contains(string(history), `"kind":"decided"`) {
		t.Errorf("%s: %v", journal, err)
	}
	// The new journal is no older than the next start.
	if f, err := teams.Of(r.op).Facts(ctx, "api"); err != nil || f.State() != team.Staffed {
		t.Errorf("%+v %v", f, err)
	}
}

// TestRestoreGoesOn: if a team's files are lost and its journal is not, the restored
// team is the same team, with the same UID and journal.
func TestRestoreGoesOn(t *testing.T) {
	t.Parallel()
	op := newOperator(t)
	ctx := t.Context()
	s, err := teams.Of(op).Create(ctx, "api", "", record.PolicySet{})
	testenv.Must(t, err)
	var b bytes.Buffer
	if _, err := teams.Of(op).Backup(ctx, "api", &b); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, os.RemoveAll(op.Root.TeamDir("api")))
	rs, err := teams.Of(op).Restore(ctx, bytes.NewReader(b.Bytes()), teams.RestoreOptions{})
	if err != nil || rs.Authority != teams.AuthorityKept {
		t.Fatalf("%+v %v", rs, err)
	}
	again, err := op.Open(ctx, "api", operator.Act)
	if err != nil || again.Dir.UID != s.Dir.UID {
		t.Errorf("%v %v", again, err)
	}
	// In another tree, or under another name, it is another team.
	for _, as := range []protocol.TeamName{"", "copy"} {
		to := op
		if as == "" {
			to = newOperator(t)
		}
		rs, err := teams.Of(to).Restore(ctx, bytes.NewReader(b.Bytes()), teams.RestoreOptions{As: as})
		if err != nil || rs.Authority != teams.AuthorityNew {
			t.Errorf("%+v %v", rs, err)
			continue
		}
		copied, err := to.Open(ctx, protocol.TeamName(rs.Team), operator.Act)
		if err != nil || copied == nil || copied.Dir.UID == s.Dir.UID {
			t.Errorf("%+v %v", copied, err)
		}
	}
}
