package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"waggle/internal/backoff"
	"waggle/operator"
)

// Options are what Run needs. Every field must be set.
type Options struct {
	Source Source
	// Watch returns a channel that gets a value soon after a journal has changed, and one that also gets it after
	// a member has written output. They are closed after ctx has ended.
	Watch   func(ctx context.Context) (changes, output <-chan struct{})
	Now     func() time.Time
	In, Out *os.File
	Environ []string
	Profile colorprofile.Profile
	// Explain returns an error with what to do next.
	Explain func(error) string
	// Step returns a next step as a person types it.
	Step func(operator.Next) string
	// Keys are the keys (KeyMap).
	Keys map[string]command
	// Editor is the command that has the person edit a file.
	Editor func(ctx context.Context, path string) (*exec.Cmd, error)
	// Client is the command that goes on with a member's session in its own client.
	Client func(ctx context.Context, team, member string) (*exec.Cmd, error)

	painter painter
	edit    editor
	take    taker
}

// Run shows the screen until the person leaves it or ctx ends.
func Run(ctx context.Context, o Options) (err error) {
	out := newScreen(o.In, o.Out, o.Profile)
	w, h, err := out.size()
	if err != nil {
		return fmt.Errorf("read the size of the terminal: %w", err)
	}
	if err := out.enter(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	ctx, stop := lifetime(ctx, &wg, out.lent.Load)
	defer func() {
		by := ctx.Err() // a signal
		stop()
		left := make(chan error, 1)
		go func() {
			wg.Wait()
			left <- out.leave()
		}()
		err = errors.Join(err, out.left(left, by != nil))
	}()
	o.painter = out
	o.edit = func(text, name string, then func(string, error) tea.Msg) tea.Cmd {
		return out.edit(ctx, o.Editor, text, name, then)
	}
	o.take = func(team, member string, then func(error) tea.Msg) tea.Cmd {
		cmd, err := o.Client(ctx, team, member)
		return out.take(ctx, cmd, err, then)
	}
	m := newModel(ctx, o)
	m.w, m.h = w, h
	// The program reads the keys; out draws. Without a renderer its ticker does nothing, once a second.
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithColorProfile(o.Profile), tea.WithWindowSize(w, h), tea.WithoutRenderer(), tea.WithFPS(1), tea.WithoutSignalHandler())
	out.painted = func(n int) { p.Send(paintedMsg{n}) }
	start := func(f func()) { wg.Go(out.guarded(f)) }
	requests, crew, others, done := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	start(func() { out.run(ctx) })
	start(func() { terminalSignals(ctx, func() { resize(p, out) }, func() { continued(p, out) }) })
	changes, output := o.Watch(ctx)
	start(func() { spread(changes, requests, crew, others, done) })
	start(func() { again(ctx, output, lively, o.Now, func() { p.Send(saidMsg{o.Source.Said()}) }) })
	start(func() { again(ctx, requests, quick, o.Now, load(ctx, p, o.Source.Requests)) })
	start(func() { again(ctx, crew, steady, o.Now, load(ctx, p, o.Source.Crew)) })
	start(func() { again(ctx, others, seldom, o.Now, load(ctx, p, o.Source.Seldom)) })
	start(func() {
		if !backoff.Pause(ctx, doneAfter) { // the rows of what runs come first
			return
		}
		again(ctx, done, rare, o.Now, load(ctx, p, o.Source.Done))
	})
	_, err = p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// lifetime is a context that ends with ctx or stop, or by a signal. An interrupt from the keyboard while the terminal
// is lent is for the program that has it.
func lifetime(ctx context.Context, wg *sync.WaitGroup, lent func() bool) (context.Context, func()) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	wg.Go(func() {
		defer signal.Stop(signals)
		for ended := ctx.Done(); ; {
			select {
			case <-life.Done():
				return
			case <-ended:
				if !lent() {
					stop()
					return
				}
				ended = nil // by a signal, which comes here too
			case s := <-signals:
				if s != os.Interrupt || !lent() {
					stop()
					return
				}
			}
		}
	})
	return life, stop
}

// resize tells the program the size of the terminal.
func resize(p *tea.Program, out *screen) {
	if w, h, err := out.size(); err == nil {
		p.Send(tea.WindowSizeMsg{Width: w, Height: h})
	}
}

// continued sets the terminal up again after this process was stopped: a shell has had it since.
func continued(p *tea.Program, out *screen) {
	err := out.enter()
	p.Send(continuedMsg{err})
}

// spread passes each change on to every reader. Changes that a reader has not taken are merged.
func spread(changes <-chan struct{}, to ...chan struct{}) {
	for range changes {
		for _, c := range to {
			Nudge(c)
		}
	}
}

// pace is how often something is read: at once after a change, with a pause in which it would have
// been read restful times, between least and most, and without a change when idle is over. Time
// alone ends processes, deadlines and leases.
type pace struct{ least, most, idle time.Duration }

const restful = 10

// The paces of the journals, of output, of what git says, and of what has ended, for which every process is looked at.
var (
	quick  = pace{30 * time.Millisecond, time.Second, 30 * time.Second}
	steady = pace{30 * time.Millisecond, time.Second, time.Minute} // of the members
	lively = pace{100 * time.Millisecond, time.Second, 30 * time.Second}
	seldom = pace{2 * time.Second, 15 * time.Second, 5 * time.Minute}
	rare   = pace{10 * time.Second, time.Minute, 10 * time.Minute}
)

// doneAfter is how long after its start the screen reads first what has ended.
const doneAfter = time.Second

// load gets something, and tells the program.
func load[T any](ctx context.Context, p *tea.Program, get func(context.Context) (T, error)) func() {
	return func() {
		got, err := get(ctx)
		p.Send(loaded[T]{got, err})
	}
}

// again calls load at its pace until ctx ends.
func again(ctx context.Context, changes <-chan struct{}, p pace, now func() time.Time, load func()) {
	wait := time.NewTimer(p.idle)
	defer wait.Stop()
	for {
		began := now()
		load()
		wait.Reset(min(max(restful*now().Sub(began), p.least), p.most))
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		wait.Reset(p.idle)
		select {
		case <-ctx.Done():
			return
		case <-changes:
		case <-wait.C:
		}
	}
}
