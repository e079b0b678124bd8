package operatortest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/spawn"
	"waggle/team"
)

// ForeignTeam makes the files of a team that another program leads, with a session of its own
// and these members beside the lead.
func ForeignTeam(t testing.TB, op operator.Operator, name protocol.TeamName, members ...protocol.MemberName) *Rig {
	t.Helper()
	entries := []map[string]any{{"name": "team-lead", "agentType": "team-lead", "tmuxPaneId": "leader", "cwd": "/"}}
	for i, m := range members {
		entries = append(entries, map[string]any{"name": string(m), "tmuxPaneId": fmt.Sprintf("%%%d", i+1), "cwd": "/"})
	}
	Foreign(t, op, name, map[string]any{"leadSessionId": "1a2b3c4d-0000-4000-8000-000000000000"}, entries...)
	testenv.Must(t, os.MkdirAll(op.Root.InboxesDir(name), 0o700))
	r := &Rig{T: t, Op: op, Name: name}
	r.WriteMailbox("team-lead", "[]")
	return r
}

// Mailbox is the file of a member's mailbox.
func (r *Rig) Mailbox(name protocol.MemberName) string {
	return filepath.Join(r.Op.Root.InboxesDir(r.Name), string(name)+".json")
}

// WriteMailbox puts these bytes in the place of a mailbox, as a program without locks does.
func (r *Rig) WriteMailbox(name protocol.MemberName, data string) {
	r.T.Helper()
	testenv.Must(r.T, os.WriteFile(r.Mailbox(name), []byte(data), 0o600))
}

// ByFile registers a member that another program runs.
func (r *Rig) ByFile(name protocol.MemberName) {
	r.T.Helper()
	if _, _, err := mail.Of(r.Op).Register(r.T.Context(), r.Name, team.Member{Name: name, AgentType: "general-purpose", JoinedAt: r.Op.Minter.Now(), Subscriptions: []string{}}, false); err != nil {
		r.T.Fatal(err)
	}
}

// FromInside is the operator as a command sees it that runs below the process of this test, in which
// the members of Rig.Member live.
func (r *Rig) FromInside() operator.Operator {
	r.T.Helper()
	id := testenv.Value(spawn.Inside())(r.T)
	op := r.Op
	op.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{id}, nil }
	return op
}

// Join makes a member whose process does not run.
func (r *Rig) Join(name protocol.MemberName) {
	r.T.Helper()
	r.Enlist(r.State(), name)
}
