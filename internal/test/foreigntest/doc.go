// Package foreigntest walks the flows of the protocol with a member that is no waggle:
// a plain writer of JSON under the lock of proper-lockfile, as worker and as lead. The
// table in docs/foreign.md is what it saw; go test ./internal/test/foreigntest -update writes
// it anew.
package foreigntest
