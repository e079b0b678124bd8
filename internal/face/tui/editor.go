package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	tea "charm.land/bubbletea/v2"
)

// taker has a person go on with a member's session in its own client, and tells the model when that has ended.
type taker func(team, member string, then func(error) tea.Msg) tea.Cmd

// tookMsg says that the client of a member's session has ended.
type tookMsg struct {
	member string
	err    error
}

// lending is a run of another program on the terminal of the screen. It implements tea.ExecCommand: meanwhile
// the program reads no keys.
type lending struct {
	ctx context.Context
	out *screen
	cmd *exec.Cmd
	// told says that a failure has been told on the terminal, where the person reads it first.
	told bool
}

// edit opens a text in an editor, in a file of its own whose name ends in name.
func (s *screen) edit(ctx context.Context, editor func(context.Context, string) (*exec.Cmd, error), text, name string, then func(string, error) tea.Msg) tea.Cmd {
	dir, err := os.MkdirTemp("", "waggle-edit-")
	if err != nil {
		return func() tea.Msg { return then("", err) }
	}
	path := filepath.Join(dir, name)
	var cmd *exec.Cmd
	if err = os.WriteFile(path, []byte(text), 0o600); err == nil {
		cmd, err = editor(ctx, path)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
		return func() tea.Msg { return then("", err) }
	}
	return tea.Exec(&lending{ctx: ctx, out: s, cmd: cmd}, func(err error) tea.Msg {
		var edited []byte
		if err == nil {
			edited, err = os.ReadFile(path)
		}
		return then(string(edited), errors.Join(err, os.RemoveAll(dir)))
	})
}

// take runs the command that takes a session, unless there is none for a reason.
func (s *screen) take(ctx context.Context, cmd *exec.Cmd, err error, then func(error) tea.Msg) tea.Cmd {
	if err != nil {
		return func() tea.Msg { return then(err) }
	}
	return tea.Exec(&lending{ctx: ctx, out: s, cmd: cmd, told: true}, then)
}

// Run implements tea.ExecCommand.
func (l *lending) Run() error {
	l.out.drawing.Lock()
	l.out.lent.Store(true)
	err := l.out.leave()
	if err == nil {
		err = l.cmd.Run()
		l.out.lent.Store(false)
		if err != nil && l.told {
			l.out.untilEnter(l.ctx)
		}
	}
	l.out.lent.Store(false)
	l.out.drawing.Unlock()
	return errors.Join(err, l.out.enter())
}

// untilEnter waits until the person has read what a program has written, or ctx ends, and with it this process.
func (s *screen) untilEnter(ctx context.Context) {
	fmt.Fprint(s.out, "\nEnter goes back to the screen ")
	read := make(chan struct{})
	go func() {
		defer close(read)
		for b := make([]byte, 1); b[0] != '\n'; {
			if n, err := s.in.Read(b); n == 0 || err != nil {
				return // the terminal is gone
			}
		}
	}()
	select {
	case <-ctx.Done():
	case <-read:
	}
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand: the other program has the terminal.
func (l *lending) SetStdin(io.Reader)  { l.cmd.Stdin = l.out.in }
func (l *lending) SetStdout(io.Writer) { l.cmd.Stdout = l.out.out }
func (l *lending) SetStderr(io.Writer) { l.cmd.Stderr = l.out.out }

var _ tea.ExecCommand = (*lending)(nil)
