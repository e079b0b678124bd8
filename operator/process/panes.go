package process

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"waggle/operator"
	"waggle/protocol"
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
	at     spawn.Pane   // one of the panes of the watched server
	states chan inPanes // who is in the panes whose states are to be shown; nil: Show was not called
	pause  time.Duration
	gone   chan struct{} // closed when the watch has ended
	Wg     sync.WaitGroup
}

// paneEvents is how many events may wait. The next pass finds what an event that does not fit would
// have reported.
const paneEvents = 64

// Panes returns a watch that has not started.
func (o Operator) Panes(s *operator.State) *Panes {
	return &Panes{o: o, s: s, Events: make(chan terminal.Event, paneEvents), names: map[string]string{}, pause: statePause}
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
	p.at, p.server, p.gone = *at, at.Server, make(chan struct{})
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

// inPanes is who is in the panes of a server: names by the id of the pane.
type inPanes struct {
	at    spawn.Pane
	names map[string]string
}

// statePause is the least time from one look at the states to the next.
const statePause = time.Second

// Show has the panes show the states of their members beside their names, when they change. states reads them, by the
// name of the member; it is called by a goroutine that ends with the ctx of the first call, at most once in a second, and
// only where there are panes. What fails is tried again at the next change: nobody waits for it.
func (p *Panes) Show(ctx context.Context, states func(context.Context) (map[string]string, error)) {
	if len(p.names) == 0 {
		return
	}
	if p.states == nil {
		p.states = make(chan inPanes, 1)
		p.Wg.Go(func() { p.showing(ctx, states) })
	}
	select {
	case <-p.states: // an older one
	default:
	}
	p.states <- inPanes{p.at, maps.Clone(p.names)}
}

func (p *Panes) showing(ctx context.Context, states func(context.Context) (map[string]string, error)) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	shown := map[string]string{} // by the id of the pane
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		select {
		case <-ctx.Done():
			return
		case in := <-p.states:
			p.showIn(ctx, in, shown, states)
		}
		pause.Reset(p.pause)
	}
}

// tmuxTime is the most that one command of tmux may take.
const tmuxTime = 5 * time.Second

func (p *Panes) showIn(ctx context.Context, in inPanes, shown map[string]string, states func(context.Context) (map[string]string, error)) {
	program, perr := p.o.tmuxProgram()
	now, err := states(ctx)
	if err != nil || perr != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tmuxTime)
	defer cancel()
	for id, name := range in.names {
		if state := now[name]; state != "" && shown[id] != state {
			pane := in.at
			pane.ID = id
			if terminal.TmuxState(ctx, program, p.o.Environ, pane, state) == nil {
				shown[id] = state
			}
		}
	}
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
	m, ok := p.s.Lead.Member(protocol.MemberName(name))
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
