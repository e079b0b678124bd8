// Package asleep says how long this machine has been suspended. A timer of this process does not run
// meanwhile; a time of day goes on.
package asleep
