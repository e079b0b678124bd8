package app

import (
	"errors"

	"waggle/operator"
)

// The exit codes (commands §5).
const (
	ExitFailed     = int(operator.Failed)
	ExitUsage      = int(operator.Usage)
	ExitQuestion   = int(operator.Question)
	ExitTimeout    = int(operator.Timeout)
	ExitDied       = int(operator.Died)
	ExitRefused    = int(operator.Refused)
	ExitIncomplete = int(operator.Incomplete)
	ExitLocked     = int(operator.Locked)
	ExitNotFound   = int(operator.NotFound)
	ExitUsedUp     = int(operator.UsedUp)
)

// ExitCode returns the exit code of a kind: its number.
func ExitCode(k operator.Kind) int { return int(k) }

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
	if code > 0 && code <= ExitUsedUp {
		return operator.Kind(code)
	}
	return operator.Failed
}
