package doctor_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/doctor"
	"waggle/poll"
)

// A Finding is data: Do holds the next step, and the caller spells it.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	fs, err := doctor.Of(op).Examine(context.Background(), doctor.Options{ClaudeDir: dir, Cwd: dir, Env: func(string) string { return "" }})
	if err != nil {
		panic(err)
	}
	last := fs[len(fs)-1]
	fmt.Println(last.What, last.Status, last.Next.Do.Step == operator.NextDemo)
	// Output:
	// teams note true
}
