package cli_test

import (
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/internal/testenv"
)

// busy is how long a program that does nothing takes at most on a machine that has time
// for others.
const busy = 100 * time.Millisecond

// machine is how slow the machine was since a script asked for it.
type of struct{ slowest func() time.Duration }

type machineKey struct{}

// cmdMeasure is: measure. From here on it is measured how slow the machine is.
func cmdMeasure(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value(machineKey{}).(*of)
	if neg || len(args) != 0 || m.slowest != nil {
		ts.Fatalf("usage: measure, once before rung")
	}
	end, ended := testenv.Slowest(), false
	m.slowest = func() time.Duration {
		m.slowest, ended = nil, true
		return end()
	}
	ts.Defer(func() {
		if !ended {
			end()
		}
	})
}

// cmdRung is: rung FILE PATH WANT. It is json for the step that ended a process. On a
// machine that was too busy since measure to let a process end by SIGTERM in time,
// "kill" is right as well.
func cmdRung(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value(machineKey{}).(*of)
	if neg || len(args) != 3 || m.slowest == nil {
		ts.Fatalf("usage: rung file path want, after measure")
	}
	slow := m.slowest()
	got := lookup(ts, args[0], args[1])
	if got != args[2] && (got != "kill" || slow <= busy) {
		ts.Fatalf("%s %s is %q (a program that does nothing took up to %s)", args[0], args[1], got, slow)
	}
}
