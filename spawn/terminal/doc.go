// Package terminal runs members' processes in terminals that people can watch: a pseudo-terminal of
// the process's own, a pane of tmux, a split of iTerm2.
//
//	b := terminal.Process(terminal.Options{Holder: []string{waggle, "hold"}, Dir: private})
//	p, err := b.Start(ctx, spec)    // a spawn.Backend like any other
//	place := p.Place()              // record it beside p.Identity()
//	err = terminal.Attach(ctx, place.Socket, screen)
//
// The holder is a small process between a terminal and the member's process. It runs Hold: it owns
// the pseudo-terminal, starts the process in a session of its own, copies its output to the log and
// to every attached viewer, and ends with the process. So the process runs, is logged and can be
// attached to whether or not its starter lives, and with any multiplexer or with none. It is
// started by argv, never by a shell's text: a holder reads it from a private file, and a
// multiplexer is given the holder's argv only.
//
// A pane is identified by its server, its id and the holder's pid and start time (spawn.Place), and
// only a pane with exactly that identity is ever closed (ClosePane, Held.Close). List finds the
// reports of the holders in a directory, also those of a starter that is dead.
//
// Watch reports at once what happens to the panes of a tmux server: that one was closed, by a
// person too, that its process ended, that the server did.
//
// Pseudo-terminals need Unix, and without them there is no holder: elsewhere Process and Hold return
// errors.ErrUnsupported.
package terminal
