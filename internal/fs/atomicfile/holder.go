package atomicfile

// Holder is the pid of the process that holds the flock on path, 0 when it is unknown.
func Holder(path string) int { return flockHolder(path) }
