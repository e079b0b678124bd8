package control_test

import (
	"context"
	"fmt"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/message"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// A request is asked in the worker's journal, seen and decided in the leader's, and claimed in the
// worker's: each step reads a fold and drafts records.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	lead, ada := control.NewLeader(nil), control.NewWorker(nil)
	leaderJournal := journal.NewMemory("team-uid", journal.Leader, clock).Open(lead)
	adaJournal := journal.NewMemory("team-uid", "ada-1", clock).Open(ada)
	operator, member := journal.Writer{Operator: true}, journal.Writer{Instance: "ada-1", Epoch: 1}
	mint := record.Mint{Now: now, MsgID: "b6b2e0a4-7e0e-4c83-9d3a-0d8f4a3b1c2d", Nonce: "abc1234"}
	do := func(j journal.Journal, by journal.Writer, step func() ([]journal.Draft, error)) {
		if _, err := j.Append(ctx, by, step); err != nil {
			panic(err)
		}
	}

	do(leaderJournal, operator, func() ([]journal.Draft, error) {
		return []journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "api", UID: "team-uid", Instance: "lead-1", Epoch: 1}},
			{Kind: record.KindPolicy, Must: true, Body: record.PolicySet{Policy: policy.Policy{Version: 1}}},
			{Kind: record.KindJoined, Must: true, Body: record.Joined{Instance: "ada-1", Name: "ada"}},
		}, nil
	})
	do(adaJournal, member, func() ([]journal.Draft, error) {
		return ada.Open(record.Opened{Team: "api", UID: "team-uid", Instance: "ada-1", Name: "ada", Epoch: 1})
	})
	do(adaJournal, member, func() ([]journal.Draft, error) { return ada.Take(record.Taken{Entries: []string{"chat"}}, lead) })

	var key record.Key
	do(adaJournal, member, func() (ds []journal.Draft, err error) {
		key, ds, err = ada.Ask(protocol.KindPermissionRequest, record.Ask{Tool: "Bash", Input: `{"command":"make"}`, Cwd: "/work"}, lead, mint)
		return ds, err
	})
	fmt.Println(key.ID, ada.State())

	// The message counts because the member's journal has it.
	env, _ := ada.Outbox[0].Mail.Open()
	do(leaderJournal, operator, func() ([]journal.Draft, error) {
		return lead.See(message.Incoming{Entry: "1", Box: protocol.Lead, Envelope: env, Decoded: protocol.Decode(env)}, ada), nil
	})
	request, _ := lead.Request(key)
	do(leaderJournal, operator, func() ([]journal.Draft, error) {
		out, err := lead.Decide(control.Answer{Key: key, Digest: request.Digest, Allow: true, By: policy.RoleOperator, Channel: policy.ChannelOperator}, operator, mint)
		return out.Drafts, err
	})
	env, _ = lead.Outbox()[0].Mail.Open()
	do(adaJournal, member, func() ([]journal.Draft, error) {
		return ada.Receive(message.Incoming{Entry: "2", Box: "ada", Envelope: env, Decoded: protocol.Decode(env)}, lead), nil
	})
	do(adaJournal, member, func() ([]journal.Draft, error) { return ada.Start(key, 1, lead, now) })
	fmt.Println(request.State, request.Decided.Decision, ada.State())
	// Output:
	// perm-1795190400000-abc1234 blocked_on_permission
	// decided allow executing
}
