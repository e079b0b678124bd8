// Package pane shows a program on the terminal of this process: it runs in a pseudo-terminal of its
// own, so that this process knows what the program shows, and gets the terminal back at its end.
//
//	p := pane.New(os.Stdin, os.Stdout)
//	exit, err := p.Run(ctx, exec, spawn.Command{Argv: argv}) // the person types to the program
//	lines, _ := p.Shown()
//
// Keys go to the program that runs, and nowhere else. It needs Unix.
package pane
