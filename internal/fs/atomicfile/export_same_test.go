package atomicfile

// Same is same, for tests: only on a coarse clock does its comparison have an effect outside of the
// package.
var Same = same
