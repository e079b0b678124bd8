package board_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/board"
	"waggle/poll"
	"waggle/protocol"
	"waggle/task"
	"waggle/team"
)

// A task waits for another. When the other is done, the first member that claims a task gets it.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	ctx, tasks := context.Background(), board.Of(op)
	if _, err := team.Create(ctx, op.Root, team.Config{Name: "api"}, team.Options{}); err != nil {
		panic(err)
	}
	build, err := tasks.AddTask(ctx, "api", board.NewTask{Subject: "build"})
	if err != nil {
		panic(err)
	}
	if _, err := tasks.AddTask(ctx, "api", board.NewTask{Subject: "ship", After: []task.ID{build.Task.ID}}); err != nil {
		panic(err)
	}
	show := func() {
		list, err := tasks.Tasks(ctx, "api", false)
		if err != nil {
			panic(err)
		}
		for _, t := range list.Tasks {
			fmt.Println(t.ID, t.Subject, t.Status, t.Owner, t.WaitsFor)
		}
	}
	show()
	if _, err := tasks.FinishTask(ctx, "api", build.Task.ID, ""); err != nil {
		panic(err)
	}
	if _, err := tasks.ClaimTask(ctx, "api", "", protocol.Lead); err != nil {
		panic(err)
	}
	show()
	// Output:
	// 1 build pending  []
	// 2 ship pending  [1]
	// 1 build completed team-lead []
	// 2 ship in_progress team-lead []
}

// To read the board of a team that does not exist is an error, not an empty board.
func ExampleOperator_Tasks() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	_, err = board.Of(op).Tasks(context.Background(), "web", false)
	fmt.Println(err, operator.KindOf(err) == operator.NotFound)
	// Output:
	// no team "web" true
}
