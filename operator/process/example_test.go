package process_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/process"
	"waggle/poll"
)

// GC first lists the garbage of teams, and removes it when that is asked for.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	found, err := process.Of(op).GC(context.Background(), "", false)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found.Found), "left behind")
	// Output:
	// 0 left behind
}
