package task_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"waggle"
	"waggle/internal/atomicfile"
	"waggle/task"
)

func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	list, err := task.Open(dir, "api", atomicfile.Options{})
	if err != nil {
		panic(err)
	}
	build, err := list.Create(ctx, task.Task{Subject: "Build"})
	if err != nil {
		panic(err)
	}
	test, err := list.Create(ctx, task.Task{Subject: "Test", BlockedBy: []task.ID{build.ID}})
	if err != nil {
		panic(err)
	}
	_, err = list.Claim(ctx, test.ID, "tester")
	var state *task.StateError
	fmt.Println(errors.As(err, &state), err)

	_, err = list.Claim(ctx, build.ID, "builder")
	fmt.Println(err)
	_, err = list.Claim(ctx, build.ID, "tester")
	fmt.Println(err)
	if _, err := list.Complete(ctx, build.ID, "builder"); err != nil {
		panic(err)
	}
	got, err := list.Claim(ctx, test.ID, "tester")
	fmt.Println(got.Owner, got.Status, err)
	// Output:
	// true task 2: blocked ("1"); status "pending"
	// <nil>
	// task 1: already_claimed; status "in_progress", owner "builder"
	// tester in_progress <nil>
}

func ExampleList_Assign() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	list, err := task.Open(dir, "api", atomicfile.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := list.Create(ctx, task.Task{Subject: "Run the tests", Description: "go test ./..."}); err != nil {
		panic(err)
	}
	now := time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC)
	_, mail, err := list.Assign(ctx, "1", "tester", waggle.Lead, now)
	fmt.Println(mail.TaskID, mail.Subject, mail.AssignedBy, mail.Timestamp, err)
	_, mail, err = list.Assign(ctx, "1", "tester", waggle.Lead, now)
	fmt.Println(mail == nil, err)
	// Output:
	// 1 Run the tests team-lead 2026-11-20T18:15:43.000Z <nil>
	// true <nil>
}
