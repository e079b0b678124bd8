package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	tea "charm.land/bubbletea/v2"
)

// editing is a run of the person's editor on the terminal of the screen. It implements
// tea.ExecCommand: meanwhile the program reads no keys.
type editing struct {
	out  *screen
	cmd  *exec.Cmd
	path string
}

// edit opens a text in an editor, in a file of its own whose name ends in name.
func (s *screen) edit(ctx context.Context, editor func(context.Context, string) (*exec.Cmd, error), text, name string, then func(string, error) tea.Msg) tea.Cmd {
	dir, err := os.MkdirTemp("", "waggle-edit-")
	if err != nil {
		return func() tea.Msg { return then("", err) }
	}
	path := filepath.Join(dir, name)
	if err = os.WriteFile(path, []byte(text), 0o600); err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
		return func() tea.Msg { return then("", err) }
	}
	cmd, err := editor(ctx, path)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
		return func() tea.Msg { return then("", err) }
	}
	return tea.Exec(&editing{s, cmd, path}, func(err error) tea.Msg {
		var edited []byte
		if err == nil {
			edited, err = os.ReadFile(path)
		}
		return then(string(edited), errors.Join(err, os.RemoveAll(dir)))
	})
}

// Run implements tea.ExecCommand.
func (e *editing) Run() error {
	e.out.drawing.Lock()
	err := e.out.leave()
	if err == nil {
		err = e.cmd.Run()
	}
	e.out.drawing.Unlock()
	return errors.Join(err, e.out.enter())
}

// SetStdin, SetStdout and SetStderr implement tea.ExecCommand: the editor has the terminal.
func (e *editing) SetStdin(io.Reader)  { e.cmd.Stdin = e.out.in }
func (e *editing) SetStdout(io.Writer) { e.cmd.Stdout = e.out.out }
func (e *editing) SetStderr(io.Writer) { e.cmd.Stderr = e.out.out }

var _ tea.ExecCommand = (*editing)(nil)
