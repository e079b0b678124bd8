//go:build unix

package spawn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/spawn"
)

// A member's process is started and recorded; any process that has the record can end it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "spawn")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	sleep, err := spawn.LookPath("sleep", env)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := spawn.ProcessBackend().Start(ctx, spawn.Spec{
		Argv: []string{sleep, "600"}, Dir: dir, Env: env, Log: filepath.Join(dir, "output.log"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	record := p.Identity() // this is what a file keeps

	fmt.Println("alive:", record.Alive())
	rung, err := spawn.StopTree(ctx, record, spawn.Grace{Term: 10 * time.Second})
	fmt.Println("ended by", rung, err)
	<-p.Done()
	fmt.Println(p.Exit().Signal, "alive:", record.Alive())
	// Output:
	// alive: true
	// ended by term <nil>
	// terminated alive: false
}

// An agent runs a command and sees all of its output.
func ExampleCommand_Run() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	exit, err := spawn.Command{
		Argv:   []string{"echo", "$HOME is not expanded: there is no shell"},
		Env:    []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Output: os.Stdout,
	}.Run(ctx)
	fmt.Println(exit.Code, err)
	// Output:
	// $HOME is not expanded: there is no shell
	// 0 <nil>
}
