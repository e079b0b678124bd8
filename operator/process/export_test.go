package process

import (
	"context"

	"waggle/operator"
	"waggle/spawn"
)

// ResolveBackend returns the backend that a word means in an environment.
func ResolveBackend(ctx context.Context, env []string, word string, attended bool) (string, error) {
	return Of(operator.Operator{Environ: env}).ResolveBackend(ctx, word, attended)
}

// ExitOf is exitOf: the Exit of a worker inside of this process.
var ExitOf = exitOf

// The functions that tests call with a table.
var (
	EndOf      = endOf
	Obstructed = obstructed
	TmuxColor  = func(color string) string { return tmuxColors[color] }
	Program    = program
	NotOurs    = notOurs
	TreeError  = worktreeError
	Crashed    = crashed

	StopUnrecorded = Operator.stopUnrecorded
	DownUnrecorded = Operator.downUnrecorded
)

// Names has the watch know whose panes there are.
func (p *Panes) Names(names map[string]string) { p.names = names }

// ShowsIn has the watch know a pane of a server, and look at states without a pause.
func (p *Panes) ShowsIn(at spawn.Pane) { p.at, p.pause = at, 0 }

// Act ends one thing that was found as garbage.
func Act(ctx context.Context, unused, gone func() bool, end func() error) *Garbage {
	g := &Garbage{unused: func(context.Context) bool { return unused() }, gone: gone, end: func(context.Context) error { return end() }}
	g.act(ctx)
	return g
}

// WorkedIn is workedIn.
var WorkedIn = workedIn
