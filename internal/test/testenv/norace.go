//go:build !race

package testenv

// Slow is how many times longer a computation may take here: the race detector is off.
const Slow = 1
