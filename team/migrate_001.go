package team

// step001 is the version itself: registries of seed 002 and of every Claude Code
// have none, which counts as 1.0.0 there.
var step001 = step{version: "1.0.0", what: "say which version it is"}
