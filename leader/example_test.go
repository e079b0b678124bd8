package leader_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/journal"
	"waggle/leader"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// A program leads a team for one pass. The team's first record is the operator's.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	root := team.Root{Path: filepath.Join(dir, "root")}
	if _, err := team.Create(ctx, root, team.Config{Name: "api"}, team.Options{}); err != nil {
		panic(err)
	}
	state, err := home.Home{Path: filepath.Join(dir, "state")}.Create("file:///root", "api", "uid")
	if err != nil {
		panic(err)
	}
	leaderJournal, err := state.Journals().Open(journal.Leader, control.NewLeader(nil), journal.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := leaderJournal.Append(ctx, journal.Writer{Operator: true}, func() ([]journal.Draft, error) {
		return []journal.Draft{
			{Kind: record.KindOpened, Must: true, Body: record.Opened{Team: "api", UID: "uid", Instance: "lead", Name: protocol.Lead, Epoch: 1}},
			{Kind: record.KindPolicy, Must: true, Body: record.PolicySet{Policy: policy.Policy{Version: 1, Mode: policy.ModeDefault}, By: policy.RoleOperator}}}, nil
	}); err != nil {
		panic(err)
	}

	o := leader.Options{Root: root, State: state, Team: "api", Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Writer: journal.Writer{Operator: true}}
	l, err := leader.Open(ctx, o)
	if err != nil {
		panic(err)
	}
	_, err = leader.Open(ctx, o)
	fmt.Println("a second one:", errors.Is(err, leader.ErrLeading))
	fmt.Println("passed:", l.Pass(ctx), l.Close())
	// Output:
	// a second one: true
	// passed: <nil> <nil>
}
