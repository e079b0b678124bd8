package teams_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waggle/operator"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/poll"
	"waggle/record"
)

// A team is made, backed up and deleted. Its files are then in the archive.
func Example() {
	dir, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	op := operator.At(filepath.Join(dir, "root"), filepath.Join(dir, "state"), poll.Minter{Now: time.Now, Rand: rand.Reader})
	ctx := context.Background()
	if _, err := teams.Of(op).Create(ctx, "api", "the API", record.PolicySet{Policy: policy.Policy{Mode: policy.ModeDefault}}); err != nil {
		panic(err)
	}
	var backup bytes.Buffer
	if _, err := teams.Of(op).Backup(ctx, "api", &backup); err != nil {
		panic(err)
	}
	gone, err := teams.Of(op).Delete(ctx, "api", teams.DeleteOptions{})
	if err != nil {
		panic(err)
	}
	names, err := op.Root.Names()
	fmt.Println(backup.Len() > 0, gone.Team, len(names), err)
	// Output:
	// true api 0 <nil>
}
