// Package terminal runs members' processes in terminals that people can look into:
// a pseudo-terminal of the process's own, a pane of tmux, a split of iTerm2.
//
//	b := terminal.Process(terminal.Options{Holder: []string{waggle, "hold"}, Dir: private})
//	p, err := b.Start(ctx, spec)    // a spawn.Backend like any other
//	place := p.Place()              // record it beside p.Identity()
//	err = terminal.Attach(ctx, place.Socket, screen)
//
// Between a terminal and the process stands the holder, a small process that runs
// Hold: it owns the pseudo-terminal, starts the process in a session of its own,
// copies what the process writes to the log and to everybody who is attached, and
// ends with the process. So the process runs, is logged and can be attached to
// whether or not its starter lives, and with any multiplexer or with none. What is
// started is argv, never a shell's text: a holder reads it from a private file, and
// a multiplexer is given the holder's argv only.
//
// A pane is known by its server, its id and the holder's pid and start time
// (spawn.Place), and only a pane that is still exactly that is ever closed
// (ClosePane, Held.Close). List finds what the holders of a directory have told, also
// those of a starter that is dead.
//
// Watch tells at once what happens to the panes of a tmux server: that one was closed,
// by a person too, that its process ended, that the server did.
//
// Panes and pseudo-terminals need Unix; elsewhere the backends return
// errors.ErrUnsupported.
package terminal
