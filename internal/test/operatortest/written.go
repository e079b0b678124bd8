package operatortest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// Foreign makes a team of another program: nothing but a config.json below op.Root, with these members
// and with more as further fields of the registry.
func Foreign(t testing.TB, op operator.Operator, name protocol.TeamName, more map[string]any, members ...map[string]any) {
	t.Helper()
	cfg := map[string]any{"name": name, "description": "another's", "createdAt": 1732300000000, "leadAgentId": "team-lead@" + string(name),
		"leadSessionId": "11111111-2222-4333-8444-555555555555"}
	for k, v := range more {
		cfg[k] = v
	}
	list := []map[string]any{}
	for _, m := range members {
		one := map[string]any{"agentId": m["name"].(string) + "@" + string(name), "agentType": "general-purpose", "joinedAt": 1732300000000, "cwd": "/tmp", "tmuxPaneId": "",
			"subscriptions": []string{}}
		for k, v := range m {
			one[k] = v
		}
		list = append(list, one)
	}
	cfg["members"] = list
	text := testenv.Value(jsonobj.Marshal(cfg))(t)
	path := op.Root.ConfigPath(name)
	testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.Must(t, os.WriteFile(path, text, 0o600))
}

// Send sends words to a member in the operator's name.
func Send(t testing.TB, op operator.Operator, name protocol.TeamName, to protocol.MemberName, text string) {
	t.Helper()
	testenv.Value(mail.Of(op).Send(t.Context(), name, mail.Message{To: protocol.Address{Scheme: protocol.SchemeMember, Member: to}, Text: text}))(t)
}

// Write appends records to the leader's journal as they are.
func (r *Rig) Write(drafts ...journal.Draft) *operator.State {
	r.T.Helper()
	s := r.State()
	Append(r.T, r.Op, s, drafts...)
	return s
}

// Spoil makes the journal in a directory unreadable from a line on, also by its snapshots.
func Spoil(t testing.TB, dir string, line int) {
	t.Helper()
	path := filepath.Join(dir, "00000001.jsonl")
	lines := bytes.SplitAfter(testenv.Value(os.ReadFile(path))(t), []byte("\n"))
	if len(lines) <= line {
		t.Fatalf("%s has %d lines", path, len(lines)-1)
	}
	lines[line-1] = []byte("nonsense\n")
	testenv.Must(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
	for _, s := range testenv.Value(filepath.Glob(filepath.Join(dir, "*snap*")))(t) {
		testenv.Must(t, os.RemoveAll(s))
	}
}

// Joined makes a member without a process, by its record alone.
func (r *Rig) Joined(name protocol.MemberName, trust record.Level) record.Instance {
	r.T.Helper()
	id := testenv.Value(r.Op.Minter.UID())(r.T)
	i := record.Instance(id)
	r.Write(journal.Draft{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: i, Name: name, Agent: "exec", Cwd: "/tmp", Backend: "process", Trust: trust}})
	return i
}
