package operatortest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
)

// Crowd is a team that a process of the test leads, with members that have one process of the test in common. It is for
// measuring what reads a team.
type Crowd struct {
	*Rig
	members []crowded
}

type crowded struct {
	name   protocol.MemberName
	fold   *control.Worker
	file   *journal.File
	writer journal.Writer
}

// NewCrowd makes a team of n members that work, each with a task and 100 KB of output, and about so many records: half of them in
// the leader's journal, the others in the members' own.
func NewCrowd(t testing.TB, op operator.Operator, name protocol.TeamName, n, records int) *Crowd {
	t.Helper()
	c := &Crowd{Rig: Team(t, op, name, record.PolicySet{})}
	s, id := c.State(), Process(t)
	for i := range n {
		m := c.Enlist(s, protocol.MemberName(fmt.Sprint("m", i)))
		c.Runs(s, m, id)
		c.works(s, m, id, records/2/n)
	}
	for range records / 2 / 50 {
		ds := make([]journal.Draft, 50)
		for j := range ds {
			member := string(c.members[j%n].name)
			ds[j] = journal.Draft{Kind: record.KindUnverified, Body: record.Unverified{Entry: "e", Box: member, From: member, Why: "no record"}}
		}
		Append(t, op, s, ds...)
	}
	Append(t, op, s, journal.Draft{Kind: record.KindLeading, Must: true, Body: record.LeadingProcess{ID: id}})
	release, held, err := s.Dir.TryLease(s.Dir.LeaderLease())
	if err != nil || !held {
		t.Fatal(held, err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	op.KeepBrief(name)
	return c
}

// works makes the journal of a member in a turn, with so many records of calls that a rule allowed, and its output.
func (c *Crowd) works(s *operator.State, m *control.Member, id spawn.Identity, records int) {
	c.T.Helper()
	w := control.NewWorker(nil)
	j := testenv.Value(s.Dir.OpenJournal(journal.Name(m.Instance), w, journal.Options{}))(c.T)
	one := crowded{m.Name, w, j, journal.Writer{Instance: string(m.Instance), Epoch: 1, PID: id.PID}}
	c.members = append(c.members, one)
	c.write(one, journal.Draft{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: c.Name, UID: s.Dir.UID, Instance: m.Instance, Name: m.Name, Epoch: 1}},
		journal.Draft{Kind: record.KindReady, Must: true, Body: record.Ready{Epoch: 1}},
		journal.Draft{Kind: record.KindTaken, Must: true, Body: record.Taken{Entries: []string{"words"}}})
	for i := range records / 3 {
		c.write(one, called(s, m, i)...)
	}
	dir := c.Op.Root.MemberDir(c.Name, m.Name)
	testenv.Must(c.T, os.MkdirAll(dir, 0o700))
	testenv.Must(c.T, os.WriteFile(filepath.Join(dir, task.LogName), []byte(strings.Repeat("a line of what it says while it works\n", 2700)), 0o600))
}

// called are the records of a call that a rule allowed, and that has ended.
func called(s *operator.State, m *control.Member, i int) []journal.Draft {
	k := record.Key{Instance: m.Instance, Kind: protocol.KindPermissionRequest, ID: protocol.RequestID(fmt.Sprint("perm-", i))}
	a := record.Ask{Tool: "Bash", Input: fmt.Sprintf(`{"command":"go test ./pkg%d/..."}`, i), Cwd: "/work"}
	d, code := record.DigestOf(s.Dir.UID, k, a), 0
	return []journal.Draft{
		{Kind: record.KindAnswered, Must: true, Body: record.Answered{Key: k, Digest: d, Decision: record.DecisionAllow, By: policy.RoleRules, Rule: "Bash(go test:*)", Policy: 1, Ask: &a}},
		{Kind: record.KindStarted, Must: true, Body: record.Started{Key: k, Digest: d, Tool: a.Tool}},
		{Kind: record.KindFinished, Must: true, Body: record.Finished{Key: k, ExitCode: &code, Tail: "ok\n"}},
	}
}

func (c *Crowd) write(one crowded, ds ...journal.Draft) {
	c.T.Helper()
	testenv.Value(one.file.Append(c.T.Context(), one.writer, func() ([]journal.Draft, error) { return ds, nil }))(c.T)
}

// Says has a member write a line of output.
func (c *Crowd) Says(i int, text string) {
	c.T.Helper()
	f := testenv.Value(os.OpenFile(filepath.Join(c.Op.Root.MemberDir(c.Name, c.members[i].name), task.LogName), os.O_APPEND|os.O_WRONLY, 0))(c.T)
	testenv.Value(f.WriteString(text + "\n"))(c.T)
	testenv.Must(c.T, f.Close())
}

// Asks puts a question of a member on record, in its own journal and in the leader's.
func (c *Crowd) Asks(i int, command string) *control.Request {
	c.T.Helper()
	one, s := c.members[i], c.State()
	mint := testenv.Value(c.Op.Minter.Mint())(c.T)
	a := record.Ask{Tool: "Bash", Input: fmt.Sprintf(`{"command":%q}`, command), Cwd: "/work"}
	var k record.Key
	testenv.Value(one.file.Append(c.T.Context(), one.writer, func() (ds []journal.Draft, err error) {
		k, ds, err = one.fold.Ask(protocol.KindPermissionRequest, a, s.Lead, mint)
		return ds, err
	}))(c.T)
	asked, _ := one.fold.Call(k)
	Append(c.T, c.Op, s, journal.Draft{Kind: record.KindSeen, Must: true, Body: record.Seen{Entry: string(k.ID), Ref: uint64(asked.AskedSeq), Instance: k.Instance, Kind: k.Kind, ID: k.ID, Digest: asked.Digest, Ask: &asked.Ask}})
	r, ok := s.Lead.Request(k)
	if !ok {
		c.T.Fatalf("%s is not asked", k.ID)
	}
	return r
}
