// Package doctor examines a machine: the programs that members need, the directories, the teams,
// the sessions of Claude Code. It changes nothing.
package doctor

import "waggle/operator"

// Finding is the result of one check.
type Finding struct {
	What   string            `json:"what"`
	Status Status            `json:"status"`
	Detail string            `json:"detail"`
	Next   operator.Sentence `json:"next"` // what to do
}

// Status is the severity of a finding.
type Status string

// The severities.
const (
	OK      Status = "ok"
	Note    Status = "note"
	Problem Status = "problem"
)

// Options describe the machine to examine.
type Options struct {
	ClaudeDir string                  // where Claude Code has its settings and its registry of sessions
	Cwd       string                  // the settings of this directory count too
	Env       func(key string) string // "" for a variable that is not set
	Relay     string                  // waggle's own binary, which runs inside sandboxes; "": no sandbox is tried
}

// Operator is an operator.Operator with the methods of this package.
type Operator struct{ operator.Operator }

// Of returns an Operator of this package.
func Of(o operator.Operator) Operator { return Operator{o} }

// doctor is one examination.
type doctor struct {
	op operator.Operator
	o  Options
}
