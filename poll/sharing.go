package poll

import "waggle/control"

// Sharing is a Machine whose mailbox another machine reads too. Each entry is for one of
// them: the other never judges, delivers or marks it.
type Sharing interface {
	Machine
	// Mine reports whether a new entry is for this machine. It is asked after Refresh.
	Mine(in control.Incoming) bool
}
