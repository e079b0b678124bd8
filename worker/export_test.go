package worker

import (
	"waggle/agent"
	"waggle/record"
	"waggle/transport"
)

// Inherited is inherited.
var Inherited = inherited

// Endpoint is the host of a worker's socket.
func Endpoint(w *Worker) transport.Host { return endpoint{w} }

// Holds reports whether a call would run wholly inside a sandbox that has been found to hold, with these
// parts.
func Holds(held *record.Held, box *agent.Box, shell *agent.Shell, call agent.Call) bool {
	return confined{held: held, box: box, shell: shell}.holds(call)
}

// KeepPlan is keepPlan, for tests.
var KeepPlan = keepPlan

// Follower is follower, for tests.
var Follower = follower
