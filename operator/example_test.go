package operator_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/poll"
)

// Pick returns the team that is meant, and KindOf the exit code of an error.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	_, err = op.Pick("")
	fmt.Println(err)
	fmt.Println(operator.KindOf(err) == operator.NotFound)
	// Output:
	// there is no team here
	// true
}
