package atomicfile

// Holder is the process that holds the flock on path, 0 when nobody can tell.
func Holder(path string) int { return flockHolder(path) }
