package spawn

// HeldPids is for tests: what it reads cannot be seen from outside.
var HeldPids = heldPids
