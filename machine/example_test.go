package machine_test

import (
	"errors"
	"fmt"

	"waggle/machine"
)

// A move that no table has is refused while records are not written yet, with an error that names it. On record it is
// told without a row.
func ExampleNotifier() {
	n := &machine.Notifier{Observe: func(o machine.Observation) { fmt.Printf("%q %s\n", o.Row, o.To) }}
	move := machine.Observation{Machine: machine.Worker, Member: "ada", From: machine.Idle, On: machine.EvTaken, To: machine.Executing, Seq: 1}
	fmt.Println(n.Notify(move))
	move.From = machine.Terminated
	fmt.Println(n.Notify(move))
	n.Hold()
	var none *machine.TransitionError
	fmt.Println(errors.As(n.Notify(move), &none), none)
	// Output:
	// "W3" executing
	// <nil>
	// "" executing
	// <nil>
	// true worker ada: no transition from "terminated" to "executing" on "work taken"
}
