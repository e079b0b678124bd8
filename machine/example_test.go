package machine_test

import (
	"errors"
	"fmt"

	"waggle/machine"
)

// A move that the table lacks is an error that names it.
func ExampleWorkerMove() {
	t, err := machine.WorkerMove("worker ada", machine.Idle, machine.EvTaken, machine.Executing)
	fmt.Println(t.Row, err)
	_, err = machine.WorkerMove("worker ada", machine.Terminated, machine.EvTaken, machine.Executing)
	var none *machine.TransitionError
	fmt.Println(errors.As(err, &none), none.From, none.To)
	// Output:
	// W3 <nil>
	// true terminated executing
}
