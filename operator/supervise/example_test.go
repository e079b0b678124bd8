package supervise_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/poll"
	"waggle/record"
)

// A team, a task on its board, and the pending questions of a team.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	if _, err := teams.Of(op).Create(ctx, "api", "the API", record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}); err != nil {
		panic(err)
	}
	if _, err := board.Of(op).AddTask(ctx, "api", board.NewTask{Subject: "Run the tests"}); err != nil {
		panic(err)
	}
	list, err := board.Of(op).Tasks(ctx, "api", false)
	if err != nil {
		panic(err)
	}
	for _, t := range list.Tasks {
		fmt.Println(t.ID, t.Subject)
	}
	waiting, err := decide.Of(op).Pending(ctx, "api", false)
	fmt.Println(len(waiting), "questions", err)
	_, err = inspect.Of(op).Status(ctx, "web")
	fmt.Println(operator.KindOf(err) == operator.NotFound, err)
	// Output:
	// 1 Run the tests
	// 0 questions <nil>
	// true no team "web"
}
