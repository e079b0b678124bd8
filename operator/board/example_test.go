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
)

// A board of a team that is not there is no empty board.
func Example() {
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
