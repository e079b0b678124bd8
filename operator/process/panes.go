package process

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"

	"waggle"
	"waggle/operator"
	"waggle/spawn"
	"waggle/spawn/terminal"
)

// Panes watches the multiplexer that shows members, and sends the process that leads an event when
// a pane ends or is closed.
type Panes struct {
	o      Operator
	s      *operator.State
	Events chan terminal.Event
	server spawn.Identity // the watched server; zero: none
	names  map[string]string
	gone   chan struct{} // closed when the watch has ended
	Wg     sync.WaitGroup
}

// paneEvents is how many events may wait. The next pass finds what an event that does not fit would
// have reported.
const paneEvents = 64

// Panes returns a watch that has not started.
func (o Operator) Panes(s *operator.State) *Panes {
	return &Panes{o: o, s: s, Events: make(chan terminal.Event, paneEvents), names: map[string]string{}}
}

// Watch starts a watch of the tmux server that shows members, unless one runs, and reads whose
// panes they are. The goroutine ends with ctx; the caller waits for it.
func (p *Panes) Watch(ctx context.Context) error {
	held, err := p.o.Terminals(p.s)
	if err != nil {
		return err
	}
	var at *spawn.Pane
	for _, h := range held {
		if h.Place.Pane == nil || h.Place.Pane.Mux != spawn.MuxTmux {
			continue
		}
		if h.Ended && h.Exit.Signal != syscall.SIGHUP.String() {
			delete(p.names, h.Place.Pane.ID) // it ended by itself, and its pane is there until we close it
		}
		for _, m := range p.s.Lead.Live() {
			if m.Process != nil && m.Process.ID == h.Process {
				p.names[h.Place.Pane.ID], at = string(m.Name), h.Place.Pane
			}
		}
	}
	if at == nil || p.server == at.Server && !p.over() {
		return nil
	}
	program, err := p.o.tmuxProgram()
	if err != nil {
		return err
	}
	p.server, p.gone = at.Server, make(chan struct{})
	opts, gone := terminal.WatchOptions{Program: program, Env: p.o.Environ, Socket: at.Socket, Server: at.Server}, p.gone
	p.Wg.Go(func() {
		defer close(gone)
		_ = terminal.Watch(ctx, opts, func(e terminal.Event) { // without the watch the passes find the same, later
			select {
			case p.Events <- e:
			default:
			}
		})
	})
	return nil
}

// over reports that the watch has ended, for example with its server.
func (p *Panes) over() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// stays reports a member that nobody has asked to end.
func (p *Panes) stays(name string) bool {
	m, ok := p.s.Lead.Member(waggle.MemberName(name))
	return ok && m.Left == nil && m.Stopping == nil && !m.Approved
}

// Note describes an event for a person; the zero Note: it needs no note.
func (p *Panes) Note(e terminal.Event) operator.Note {
	name, ours := p.names[e.Pane]
	switch {
	case e.What == terminal.ServerGone:
		p.server = spawn.Identity{}
		if !slices.ContainsFunc(slices.Collect(maps.Values(p.names)), p.stays) {
			return operator.Note{} // it goes with its last pane
		}
		return operator.Note{What: "trouble", Member: "", Text: "the tmux server that shows the members has ended"}
	case ours && e.What == terminal.PaneExited:
		delete(p.names, e.Pane) // its process has ended by itself: who closes the pane now does no harm
	case ours && e.What == terminal.PaneClosed:
		delete(p.names, e.Pane)
		if p.stays(name) {
			return operator.Note{What: "closed", Member: name, Text: "somebody closed its pane"}
		}
	}
	return operator.Note{}
}
