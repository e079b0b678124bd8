package home_test

import (
	"fmt"
	"os"
	"path/filepath"

	"waggle/home"
	"waggle/record"
)

// The directory of a team's private files, and the lease that lets one process alone run a
// member.
func ExampleDir_TryLease() {
	state, err := os.MkdirTemp("", "waggle")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	dir, err := home.Home{Path: state}.Create("file:///wire", "api", "0191f2b4-1111-7222-8333-444455556666")
	if err != nil {
		panic(err)
	}
	fmt.Println(filepath.Base(filepath.Dir(dir.Path)), filepath.Base(dir.Path)[:4])

	lease := dir.ProcessLease(record.Instance("ann-1"))
	release, held, err := dir.TryLease(lease)
	fmt.Println(held, err)
	_, again, err := dir.TryLease(lease)
	fmt.Println(again, err)
	if err := release(); err != nil {
		panic(err)
	}
	// Output:
	// teams api-
	// true <nil>
	// false <nil>
}
