package agent

import (
	"context"

	"waggle/spawn"
)

// Displayed is an Agent whose program a person can watch and type into, where the member's process
// has a pane.
type Displayed interface {
	Agent
	// Display gives it the member's pane, before anything else.
	Display(d Display)
}

// Display is a member's pane. One program at a time runs on it.
type Display interface {
	// Run runs a program by an Exec, with a terminal of its own that the pane shows, and returns as
	// the Exec does.
	Run(ctx context.Context, by Exec, c spawn.Command) (spawn.Exit, error)
	// Shown is the text on the screen, and how much the program has written so far.
	Shown() (lines []string, wrote int64)
}

// Waiter is a Host that shows that a person has to do something in the member's pane.
type Waiter interface {
	// Waits says what the pane waits for, "" that it waits no more. It decides nothing.
	Waits(ctx context.Context, why string) error
}
