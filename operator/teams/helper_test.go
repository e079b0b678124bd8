package teams_test

import (
	"os"
	"path/filepath"
	"testing"

	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// foreign is the name of a team that another program leads.
const foreign protocol.TeamName = "session-1a2b3c4d"

// join makes a member whose process does not run.
func join(t testing.TB, r *operatortest.Rig, m teamfile.FileMember) record.Instance {
	t.Helper()
	m.Agent = "exec"
	added, i, err := teams.Of(r.Op).Join(t.Context(), r.State(), m)
	if err != nil || added.Name != m.Name {
		t.Fatalf("%+v, %v", added, err)
	}
	return i
}

// present are the members that a team's registry shows.
func present(t testing.TB, r *operatortest.Rig) (names []protocol.MemberName) {
	t.Helper()
	cfg, err := r.Op.Listing(t.Context(), r.Name)
	testenv.Must(t, err)
	return cfg.Present()
}

// record appends to the leader's journal.
func recordOf(t testing.TB, r *operatortest.Rig, d func(*control.Leader) []journal.Draft) {
	t.Helper()
	s := r.State()
	testenv.Must(t, mail.Of(r.Op).Append(t.Context(), s, func() ([]journal.Draft, error) { return d(s.Lead), nil }))
}

func send(t testing.TB, r *operatortest.Rig, to protocol.MemberName, text string) {
	t.Helper()
	sent, err := mail.Of(r.Op).Send(t.Context(), r.Name, mail.Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: to}, Text: text})
	if err != nil || mail.Exit(sent) != nil {
		t.Fatal(sent, err)
	}
}

func write(t testing.TB, path, data string) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.Must(t, os.WriteFile(path, []byte(data), 0o600))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func ofMode(m policy.Mode) record.PolicySet {
	return record.PolicySet{Policy: policy.Policy{Mode: m}}
}
