// Package telemetrytest has the journals of a small team whose every transition an
// observer is told of.
//
//	team := telemetrytest.New(t)
//	for _, step := range team.Life() {
//		step() // appends to the journals
//	}
package telemetrytest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/telemetry"
	"waggle/journal"
	"waggle/machine"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

const uid = record.TeamUID("0123456789abcdef0123456789abcdef")

// Secret is in every text of the team that no observer may get.
const Secret = "hunter2"

// Team is a leader and one member on disk, whose life the test writes.
type Team struct {
	Dir  journal.Dir
	Want []machine.Observation // what an observer is to be told, by the folds that wrote it

	t   *testing.T
	now time.Time
	l   *control.Leader
	lj  journal.Journal
	w   *control.Worker
	wj  journal.Journal
	n   int
}

// New returns a team whose journals are empty.
func New(t *testing.T) *Team {
	t.Helper()
	f := &Team{t: t, Dir: journal.Dir{Path: filepath.Join(t.TempDir(), "journal"), UID: string(uid)}, now: time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)}
	if err := os.MkdirAll(f.Dir.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	see := func(o machine.Observation) { f.Want = append(f.Want, o) }
	o := journal.Options{Now: func() time.Time { f.now = f.now.Add(time.Second); return f.now }, SnapshotAfter: -1}
	var err error
	f.l, f.w = control.NewLeader(see), control.NewWorker(see)
	if f.lj, err = f.Dir.Open(journal.Leader, f.l, o); err == nil {
		f.wj, err = f.Dir.Open("ada", f.w, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *Team) mint() record.Mint {
	f.n++
	return record.Mint{Now: f.now, MsgID: fmt.Sprintf("00000000-0000-4000-8000-%012d", f.n), Nonce: fmt.Sprintf("%07d", f.n)}
}

func (f *Team) do(j journal.Journal, by journal.Writer, step func() ([]journal.Draft, error)) {
	f.t.Helper()
	if _, err := j.Append(f.t.Context(), by, step); err != nil {
		f.t.Fatal(err)
	}
}

func (f *Team) add(j journal.Journal, by journal.Writer, kind string, body any) {
	f.t.Helper()
	f.do(j, by, func() ([]journal.Draft, error) { return []journal.Draft{{Kind: kind, Must: true, Body: body}}, nil })
}

var (
	operator = journal.Writer{Operator: true, PID: 1}
	lead     = journal.Writer{Instance: "lead", Epoch: 1}
	ada      = journal.Writer{Instance: "ada", Epoch: 1}
)

// Life returns the steps of the team's life, in order.
func (f *Team) Life() []func() {
	var k record.Key
	return []func(){
		func() {
			f.add(f.lj, operator, record.KindOpened, record.Opened{Team: "api", UID: uid, Instance: "lead", Name: protocol.Lead, Epoch: 1})
			f.add(f.lj, operator, record.KindPolicy, record.PolicySet{Policy: policy.Policy{Version: 1}})
		},
		func() {
			f.add(f.lj, operator, record.KindJoined, record.Joined{Instance: "ada", Name: "ada", Trust: record.Cooperative})
		},
		func() {
			f.add(f.wj, ada, record.KindOpened, record.Opened{Team: "api", UID: uid, Instance: "ada", Name: "ada", Epoch: 1})
		},
		func() {
			f.do(f.wj, ada, func() ([]journal.Draft, error) { return f.w.Take(record.Taken{Entries: []string{"chat"}}, f.l) })
		},
		func() {
			f.do(f.wj, ada, func() (ds []journal.Draft, err error) {
				k, ds, err = f.w.Ask(protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: `{"command":"npm run ` + Secret + `"}`, Cwd: "/w", Reason: Secret}, f.l, f.mint())
				return ds, err
			})
		},
		func() {
			env, err := f.w.Outbox[0].Mail.Open()
			if err != nil {
				f.t.Fatal(err)
			}
			f.do(f.lj, lead, func() ([]journal.Draft, error) {
				return f.l.See(message.Incoming{Entry: "e", Box: protocol.Lead, Envelope: env, Decoded: protocol.Decode(env)}, f.w), nil
			})
		},
		func() {
			f.now = f.now.Add(time.Minute)
			f.do(f.lj, operator, func() ([]journal.Draft, error) {
				r := f.l.Pending()[0]
				out, err := f.l.Decide(control.Answer{Key: k, Digest: r.Digest, By: policy.RoleOperator, Channel: policy.ChannelOperator, Reason: Secret}, operator, f.mint())
				return out.Drafts, err
			})
		},
		func() {
			env, err := f.l.Outbox()[0].Mail.Open()
			if err != nil {
				f.t.Fatal(err)
			}
			f.do(f.wj, ada, func() ([]journal.Draft, error) {
				return f.w.Receive(message.Incoming{Entry: "a", Box: "ada", Envelope: env, Decoded: protocol.Decode(env)}, f.l), nil
			})
			f.do(f.lj, lead, func() ([]journal.Draft, error) { return f.l.Settle(f.w), nil })
		},
		func() {
			f.do(f.wj, ada, func() ([]journal.Draft, error) {
				return f.w.Say(protocol.IdleNotification{From: "ada", Timestamp: protocol.FormatTime(f.now), IdleReason: "failed", FailureReason: Secret}, record.Said{Failed: true, Note: Secret}, f.l, f.mint())
			})
		},
		func() { f.add(f.lj, lead, record.KindEnded, record.Ended{How: "down"}) },
	}
}

// Follower returns a follower of the team's journals that tells to.
func (f *Team) Follower(to machine.Observer) *telemetry.Follower {
	f.t.Helper()
	w, err := telemetry.NewFollower(f.Dir, filepath.Join(f.Dir.Path, "..", "told.json"), to)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}
