// Package caught turns a panic into an error that keeps its stack, for programs
// that run several members in one process: what one of them trips over must not end
// the others.
//
//	err := caught.Do(func() error { return work(ctx) })
//	var p *caught.Error
//	if errors.As(err, &p) { log(p.Stack) }
//
// A fatal error of the runtime (a concurrent map write, no memory left, a stack that
// is too deep) and a panic in a goroutine that somebody else started cannot be
// caught: they end the process.
package caught

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// Error is a panic that was caught.
type Error struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine, as debug.Stack has it
}

// Error says what panicked, in one line.
func (e *Error) Error() string {
	return "it panicked: " + strings.ToValidUTF8(strings.ReplaceAll(fmt.Sprint(e.Value), "\n", " "), "\uFFFD")
}

// Unwrap is the error that panic was called with, if it was one.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Do calls f and returns its error, or an *Error when it panics. What f has deferred
// has run by then. A goroutine that f ends (runtime.Goexit) ends: Do does not return.
func Do(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

// Of returns the caught panic in an error's chain, nil when there is none.
func Of(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}
