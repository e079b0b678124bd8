package operator

// Bounds of the YAML that waggle reads: team files and the user's own file. The parser
// recurses, keeps a path for each node, and copies a mapping for each of its keys, so
// what it is given is bounded before it builds anything (FORMAT, "Team file").
const MaxYAML = 256 << 10 // bytes
