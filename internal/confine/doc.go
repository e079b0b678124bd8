// Package confine makes the sandbox of a member: it makes a profile from the team file, finds the
// highest level whose self-test passes on this machine, and connects the sandbox's proxy to the
// member's worker.
//
//	o.Confine = confine.With(program) // worker.Options; program is waggle's binary
//
// A member that requires a sandbox does not start when the machine's highest level is below
// enforced, when a point of the self-test fails, or when one of its limits cannot be enforced. With
// mode auto it takes the next lower level whose self-test passes. Held has the level and its gaps,
// and the worker records it in its journal.
//
// At level enforced each connection of a command to a host that no grant covers waits for the
// worker's network gate, and only grants open it: when a grant is revoked or ends, the proxy cuts
// its connections.
package confine
