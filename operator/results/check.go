package results

import (
	"cmp"
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

	"waggle/internal/cut"
	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/spawn"
)

// Checked is the result of the check of the team file.
type Checked struct {
	Command  string        `json:"command"` // a shell text
	Dir      string        `json:"dir"`
	Confined bool          `json:"confined"`
	Status   int           `json:"exit"`        // of the process; -1: it did not run
	Tail     string        `json:"output_tail"` // the end of its output
	Took     time.Duration `json:"took_ms"`
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
	i := slices.IndexFunc(f.Members, func(m teamfile.FileMember) bool { return protocol.SameName(m.Name, w.m.Name) })
	switch p := w.m.Prepare; {
	case i >= 0 && f.Members[i].Check != nil:
		return w.checkBy(f.Members[i].Check.Command, f.Members[i].Check.Dir), nil
	case i < 0 && w.m.Joined.Check != nil:
		return w.checkBy(w.m.Joined.Check.Command, cmp.Or(w.m.Joined.Check.Dir, w.m.Cwd)), nil
	case p != nil && p.Check != "":
		return w.checkBy(p.Check, filepath.Dir(p.Path)), nil
	case f.Check != nil:
		return w.checkBy(f.Check.Command, f.Dir), nil
	}
	return c, nil
}

// checkBy is the check of a team file in a directory of the checkout.
func (w *work) checkBy(command, dir string) Checked {
	return Checked{Command: command, Dir: w.tree.Inside(w.tree.Outside(dir))}
}

// checkWait is how long what a check has started may keep its output open.
const checkWait = 5 * time.Second

// in is a check of the worktree in a checkout of the merged result.
func (w *work) in(c Checked, result worktree.Tree) Checked {
	c.Dir = result.Inside(w.tree.Outside(c.Dir))
	return c
}

// prepareResult gives a checkout of the merged result what the worktree got: a check needs it.
func (o Operator) prepareResult(ctx context.Context, w *work, result worktree.Tree, mo MergeOptions) error {
	want, err := supervise.Of(o.Operator).PreparationOf(ctx, w.s, w.m)
	if err != nil {
		return err
	}
	out := cmp.Or[io.Writer](mo.Output, io.Discard)
	err = process.Of(o.Operator).PrepareResult(ctx, w.s, w.m, want, result.Path, out, func(ctx context.Context, text, dir string, environ []string) error {
		_, err := o.shell(ctx, w, result, spawn.Command{Argv: []string{"sh", "-c", text}, Dir: dir, Env: environ}, mo, out)
		return err
	})
	if err != nil && ctx.Err() == nil {
		return &operator.Error{Kind: operator.Failed, Op: op, Msg: fmt.Sprintf("the merged result could not be prepared for the check: %v", err), Err: err,
			Advice: "nothing was merged"}
	}
	return err
}

// shell runs a command for a member's work: in the sandbox of the checkout when the member is confined.
func (o Operator) shell(ctx context.Context, w *work, tree worktree.Tree, cmd spawn.Command, mo MergeOptions, out io.Writer) (confined bool, err error) {
	done := func() error { return nil }
	if confined = w.confined(); confined {
		if mo.Confine == nil {
			return confined, &operator.Error{Kind: operator.Refused, Op: op, Msg: w.name() + " is confined, and there is no sandbox here to run " + cmd.Argv[len(cmd.Argv)-1] + " in"}
		}
		if cmd, done, err = mo.Confine(ctx, tree.Path, cmd); err != nil {
			return confined, err
		}
	}
	p := exec.CommandContext(ctx, cmd.Argv[0], cmd.Argv[1:]...)
	p.Dir, p.Env, p.Stdout, p.Stderr, p.WaitDelay = cmd.Dir, cmd.Env, out, out, checkWait
	err = p.Run()
	if derr := done(); err == nil {
		err = derr
	}
	return confined, err
}

// check runs the check in a checkout. An error has the end of its output.
func (o Operator) check(ctx context.Context, w *work, c Checked, tree worktree.Tree, mo MergeOptions) (*Checked, error) {
	if c.Command == "" {
		return nil, nil
	}
	note(mo.Note, w, "check", c.Command)
	tail, begun := &cut.Tail{Max: 4 << 10}, o.Minter.Now()
	var err error
	c.Confined, err = o.shell(ctx, w, tree, spawn.Command{Argv: []string{"sh", "-c", c.Command}, Dir: c.Dir, Env: worktree.Environ(o.Environ)}, mo, io.MultiWriter(tail, cmp.Or[io.Writer](mo.Output, io.Discard)))
	c.Tail, c.Took = strings.ToValidUTF8(string(tail.Kept), "\uFFFD"), o.Minter.Now().Sub(begun)
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
	if errors.As(err, new(*operator.Error)) {
		return &c, err
	}
	return &c, &operator.Error{Kind: operator.Failed, Op: op, Msg: fmt.Sprintf("the check failed (%v): %s", err, operator.Visible(c.Command)), Err: err,
		Advice: "nothing was merged; it ran on the merged result, as it is when " + w.tree.From + " is merged in " + w.tree.Path}
}
