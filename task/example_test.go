package task_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"waggle/protocol"
	"waggle/task"
)

func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	list, err := task.Open(dir, "api", task.Options{})
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
	fmt.Println(errors.As(err, new(*task.StateError)), err)

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
	list, err := task.Open(dir, "api", task.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := list.Create(ctx, task.Task{Subject: "Run the tests", Description: "go test ./..."}); err != nil {
		panic(err)
	}
	now := time.Date(2026, 11, 20, 18, 15, 43, 0, time.UTC)
	_, mail, err := list.Assign(ctx, "1", "tester", protocol.Lead, now)
	fmt.Println(mail.TaskID, mail.Subject, mail.AssignedBy, mail.Timestamp, err)
	_, mail, err = list.Assign(ctx, "1", "tester", protocol.Lead, now)
	fmt.Println(mail == nil, err)
	// Output:
	// 1 Run the tests team-lead 2026-11-20T18:15:43.000Z <nil>
	// true <nil>
}

// The tasks of a team as a tree: each below the blocker with the highest id.
func ExampleForest() {
	all := []task.Task{
		{ID: "1", Subject: "Build", Status: task.Completed},
		{ID: "2", Subject: "Test", BlockedBy: []task.ID{"1"}},
		{ID: "3", Subject: "Lint", BlockedBy: []task.ID{"1"}},
		{ID: "4", Subject: "Release", BlockedBy: []task.ID{"2", "3"}},
	}
	for _, b := range task.Forest(all) {
		fmt.Println(strings.Repeat("  ", len(b.Last))+b.Task.Subject, b.Waits)
	}
	// Output:
	// Build []
	//   Test []
	//   Lint []
	//     Release [2 3]
}

// Members without orders claim the next task that is ready.
func ExampleList_ClaimNext() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	list, err := task.Open(dir, "api", task.Options{})
	if err != nil {
		panic(err)
	}
	for _, subject := range []string{"Build", "Test"} {
		if _, err := list.Create(ctx, task.Task{Subject: subject}); err != nil {
			panic(err)
		}
	}
	got, err := list.ClaimNext(ctx, "ann")
	fmt.Println(got.Subject, got.Owner, got.Status, err)
	_, err = list.ClaimNext(ctx, "ann")
	var state *task.StateError
	fmt.Println(errors.As(err, &state) && state.Why == task.AgentBusy)
	// Output:
	// Build ann in_progress <nil>
	// true
}

// A member's log is cut when it has grown; older parts stay beside it.
func ExampleOpenLog() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log, err := task.OpenLog(dir, task.LogOptions{Size: 16, Keep: 2})
	if err != nil {
		panic(err)
	}
	for i := range 4 {
		fmt.Fprintln(log, "line", i)
	}
	if err := log.Close(); err != nil {
		panic(err)
	}
	files, err := task.Files(dir)
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		fmt.Println(f.Kind, f.Path, f.Size)
	}
	// Output:
	// log output.log 14
	// log output.log.1 14
}
