package sandbox

import (
	"errors"
	"net"
	"runtime"
	"time"
)

// Sandbox runs commands.
type Sandbox struct {
	Kit     Kit
	Level   Level
	Profile Profile
	// Network serves the connections of one call to its proxy until the listener is closed;
	// proxy.Proxy's Serve is one. nil: there is no proxy.
	Network func(l net.Listener, call string) error
	// Name is the name of the calls in the proxy's record.
	Name string
	// Groups are the parents of the control groups of calls, for limits that rlimits cannot
	// enforce.
	Groups Groups
	// Used is told what the kernel counts of the limits of a call. nil: nobody asks.
	Used *Used
}

// program is where commands in this sandbox find the relay.
func (s Sandbox) program() string {
	if s.Level == Enforced && runtime.GOOS != "darwin" {
		return insideRelay
	}
	return s.Kit.Relay
}

// patience is how long a command has after SIGTERM, unless it was said.
const patience = 5 * time.Second

// ErrProxy means that the command ran and its proxy failed meanwhile: later connections were
// refused.
var ErrProxy = errors.New("the sandbox's proxy failed")

// ErrTree is the part of an ErrSetup that the member's own files cause, and not the machine: who runs
// its commands without a sandbox then lets them turn it off.
var ErrTree = errors.New("the member's own files are in the way")

// ErrSetup means that the sandbox could not be built: the command did not run.
var ErrSetup = errors.New("the sandbox could not be built")
