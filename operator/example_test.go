package operator_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/control"
	"waggle/operator"
	"waggle/policy"
	"waggle/poll"
)

// A team, a task on its board, and what a person sees of both.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	if _, err := op.Create(ctx, "api", "the API", control.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}); err != nil {
		panic(err)
	}
	if _, err := op.AddTask(ctx, "api", operator.NewTask{Subject: "Run the tests"}); err != nil {
		panic(err)
	}
	list, err := op.Tasks(ctx, "api", false)
	if err != nil {
		panic(err)
	}
	for _, t := range list.Tasks {
		fmt.Println(t.ID, t.Subject)
	}
	waiting, err := op.Pending(ctx, "api", false)
	fmt.Println(len(waiting), "questions", err)
	_, err = op.Status(ctx, "web")
	fmt.Println(operator.Code(err) == operator.CodeNotFound, err)
	// Output:
	// 1 Run the tests
	// 0 questions <nil>
	// true no team "web"
}
