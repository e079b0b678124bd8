package terminal

import "errors"

// ErrNoLines means that a process cannot be told that its input ends: it reads keys,
// not lines, or has switched the end of input off.
var ErrNoLines = errors.New("the terminal has no end of input: the process reads keys, not lines")
