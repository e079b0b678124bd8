package spawn

// HeldPids gives tests the result of heldPids, which no exported function shows.
var HeldPids = heldPids
