package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle"
	"waggle/internal/worktree"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

// Command is a command that runs in a worktree.
type Command struct {
	Argv []string
	Dir  string
	Env  []string
}

// Checked is the result of the check of the team file.
type Checked struct {
	Command  string // a shell text
	Dir      string
	Confined bool
	Status   int    // of the process; -1: it did not run
	Tail     string // the end of its output
}

// checkOf returns the check of the member and its directory in the worktree: by the accepted team file, as that is
// now, of a member of it; else by its membership; else that of the file. "" where there is none.
func (o Operator) checkOf(w *work) (c Checked, err error) {
	f := &teamfile.File{}
	if _, err := os.Lstat(w.s.Dir.TeamFile()); !errors.Is(err, os.ErrNotExist) {
		if f, err = supervise.Of(o.Operator).Accepted(w.s); err != nil {
			return c, err
		}
	}
	i := slices.IndexFunc(f.Members, func(m teamfile.FileMember) bool { return waggle.SameName(m.Name, w.m.Name) })
	switch p := w.m.Prepare; {
	case i >= 0 && f.Members[i].Check != nil:
		return w.checkBy(f.Members[i].Check.Command, f.Members[i].Check.Dir), nil
	case i < 0 && w.m.Joined.Check != nil:
		return Checked{Command: w.m.Joined.Check.Command, Dir: w.m.Joined.Check.Dir}, nil
	case p != nil && p.Check != "":
		return w.checkBy(p.Check, filepath.Dir(p.Path)), nil
	case f.Check != nil:
		return w.checkBy(f.Check.Command, f.Dir), nil
	}
	return c, nil
}

// checkBy is the check of a team file in a directory of the checkout.
func (w *work) checkBy(command, dir string) Checked {
	return Checked{Command: command, Dir: w.tree.Inside(dir)}
}

// checkWait is how long what a check has started may keep its output open.
const checkWait = 5 * time.Second

// check runs the check. An error has the end of its output.
func (o Operator) check(ctx context.Context, w *work, c Checked, mo MergeOptions) (*Checked, error) {
	if c.Command == "" {
		return nil, nil
	}
	cmd := Command{Argv: []string{"sh", "-c", c.Command}, Dir: c.Dir, Env: worktree.Environ(o.Environ)}
	note(mo.Note, w, "check", c.Command)
	done := func() error { return nil }
	if c.Confined = w.confined(); c.Confined {
		if mo.Confine == nil {
			return &c, &operator.Error{Kind: operator.Refused, Op: "merge", Msg: w.name() + " is confined, and there is no sandbox here to run the check in"}
		}
		var err error
		if cmd, done, err = mo.Confine(ctx, w.tree.Path, cmd); err != nil {
			return &c, err
		}
	}
	tail := &tail{to: mo.Output}
	p := exec.CommandContext(ctx, cmd.Argv[0], cmd.Argv[1:]...)
	p.Dir, p.Env, p.Stdout, p.Stderr, p.WaitDelay = cmd.Dir, cmd.Env, tail, tail, checkWait
	err := p.Run()
	if derr := done(); err == nil {
		err = derr
	}
	c.Tail = strings.ToValidUTF8(tail.String(), "\uFFFD")
	if err == nil {
		return &c, nil
	}
	var status *exec.ExitError
	if c.Status = -1; errors.As(err, &status) {
		c.Status = status.ExitCode()
	}
	if ctx.Err() != nil {
		return &c, ctx.Err()
	}
	e := &operator.Error{Kind: operator.Failed, Op: "merge", Msg: fmt.Sprintf("the check failed (%v): %s", err, operator.Visible(c.Command)), Err: err,
		Advice: "nothing was merged; it ran in " + c.Dir}
	return &c, e
}

// tail keeps the last bytes that are written, and passes all on.
type tail struct {
	to   io.Writer
	last []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if over := len(t.last) - tailBytes; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	if t.to == nil {
		return len(p), nil
	}
	return t.to.Write(p)
}

func (t *tail) String() string { return string(t.last) }
