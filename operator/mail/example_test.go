package mail_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/mail"
	"waggle/poll"
)

// A mailbox of a team that is not there is no empty mailbox.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	_, err = mail.Of(op).Inbox(context.Background(), "web", "team-lead", true)
	fmt.Println(err, operator.KindOf(err) == operator.NotFound)
	// Output:
	// no team "web" true
}
