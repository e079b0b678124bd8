package terminal_test

import (
	"fmt"

	"waggle/spawn/terminal"
)

// InTmux reads from the environment which multiplexer this program runs in.
func ExampleInTmux() {
	socket, pane, inside := terminal.InTmux([]string{"TMUX=/tmp/tmux-1000/default,4711,0", "TMUX_PANE=%3"})
	fmt.Println(socket, pane, inside)
	_, _, inside = terminal.InTmux([]string{"TERM=xterm"})
	fmt.Println(inside)
	// Output:
	// /tmp/tmux-1000/default %3 true
	// false
}
