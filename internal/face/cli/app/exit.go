package app

import (
	"errors"

	"waggle/operator"
)

// The exit codes (commands §5).
const (
	ExitFailed     = 1
	ExitUsage      = 2
	ExitQuestion   = 3
	ExitTimeout    = 4
	ExitDied       = 5
	ExitRefused    = 6
	ExitIncomplete = 7
	ExitLocked     = 8
	ExitNotFound   = 9
	ExitUsedUp     = 10
)

// Exits is the exit code of each kind of failure.
var Exits = map[operator.Kind]int{
	operator.None:       0,
	operator.Failed:     ExitFailed,
	operator.Usage:      ExitUsage,
	operator.Question:   ExitQuestion,
	operator.Timeout:    ExitTimeout,
	operator.Died:       ExitDied,
	operator.Refused:    ExitRefused,
	operator.Incomplete: ExitIncomplete,
	operator.Locked:     ExitLocked,
	operator.NotFound:   ExitNotFound,
	operator.UsedUp:     ExitUsedUp,
}

// ExitCode returns the exit code of a kind.
func ExitCode(k operator.Kind) int {
	if code, ok := Exits[k]; ok {
		return code
	}
	return ExitFailed
}

// ExitOf returns the exit code of an error.
func ExitOf(err error) int { return ExitCode(operator.KindOf(err)) }

// Explain returns the exit code of an error, and its hint.
func Explain(err error) (code int, next string) {
	if e, ok := errors.AsType[*operator.Error](err); ok {
		next = Hint(e)
	}
	return ExitOf(err), next
}

// KindOfExit returns the kind of failure for an exit code of another process of this program.
func KindOfExit(code int) operator.Kind {
	for k, c := range Exits {
		if c == code && k != operator.None {
			return k
		}
	}
	return operator.Failed
}
