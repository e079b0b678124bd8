package worker_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"waggle/home"
	"waggle/poll"
	"waggle/team"
	"waggle/worker"
)

// A program that backends start for a member runs it, and does its own work otherwise.
func ExampleInvoked() {
	main := func(argv []string) {
		o, member, err := worker.Invoked(argv)
		switch {
		case err != nil:
			fmt.Println(err)
		case member:
			o.Minter, o.Environ, o.Output = poll.Minter{Now: time.Now, Rand: rand.Reader}, os.Environ(), os.Stdout
			fmt.Println("runs", o.Instance, "of", o.Team) // with worker.Join(ctx, o)
		default:
			fmt.Println("its own work")
		}
	}
	o := worker.Options{Root: team.Root{Path: "/wire"}, State: home.Dir{Path: "/state/teams/api-0a1b2c3d", UID: "0191f2b4-1111-7222-8333-444455556666"}, Team: "api", Instance: "ann-1"}
	main(o.Argv("/usr/bin/own"))
	main([]string{"/usr/bin/own", "--help"})
	// Output:
	// runs ann-1 of api
	// its own work
}
