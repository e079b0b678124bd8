// Package doctor says what works on a machine and what does not: the programs that members
// need, the places of files, the teams, the sessions of Claude Code. It changes nothing.
package doctor

import "waggle/operator"

// Finding is one thing that was looked at.
type Finding struct {
	What   string
	Status Status
	Detail string
	Next   string // what to do that is no step
	Do     operator.Next
}

// Status is how bad a finding is.
type Status string

// How bad findings are.
const (
	OK      Status = "ok"
	Note    Status = "note"
	Problem Status = "problem"
)

// Options are what a doctor has to be told of the machine.
type Options struct {
	ClaudeDir string                  // where Claude Code has its settings and its registry of sessions
	Cwd       string                  // the settings of this directory count too
	Env       func(key string) string // "" for a variable that is not set
}

// Operator is an operator.Operator with what this package does.
type Operator struct{ operator.Operator }

// Of returns the operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }

// doctor is one examination.
type doctor struct {
	op operator.Operator
	o  Options
}
