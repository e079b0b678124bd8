package inspect_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/poll"
)

// Teams only reads: it creates no team.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	rows, problems, err := inspect.Of(op).Teams(context.Background())
	fmt.Println(len(rows), "teams", len(problems), "problems", err)
	// Output:
	// 0 teams 0 problems <nil>
}
