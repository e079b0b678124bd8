package results

import (
	"context"
	"errors"
	"strings"

	"waggle/internal/fs/worktree"
	"waggle/operator"
)

// FileChange is the change of one file. A binary file has no lines.
type FileChange struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary"`
}

// Diff is what a member changed since its worktree was made.
type Diff struct {
	Team   string       `json:"team"`
	Member string       `json:"member"`
	Turn   int          `json:"turn,omitempty"` // that it is of; 0: of all work
	Branch string       `json:"branch"`
	Path   string       `json:"path"` // the worktree
	Base   string       `json:"base"` // the commit that the files are compared with
	Head   string       `json:"head"`
	Files  []FileChange `json:"files"`
	// Uncommitted are the files of which something is in no commit. They are part of the diff.
	Uncommitted []string `json:"uncommitted"`
	More        bool     `json:"cut"`  // it is cut
	Text        string   `json:"diff"` // "" with --stat
}

// Lines returns the added and deleted lines of all files.
func (d *Diff) Lines() (added, deleted int) {
	for _, f := range d.Files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	return added, deleted
}

// DiffOptions are the settings of Diff.
type DiffOptions struct {
	Turn  int  // what this one turn changed, from 1; those that changed no file do not count. 0: all work
	Patch bool // with a text that git apply takes: the contents of binary files are in it
}

// Diff shows what a member changed, committed or not, compared with the commit that its worktree
// began at. It changes nothing.
func (o Operator) Diff(ctx context.Context, of, member string, do DiffOptions) (*Diff, error) {
	w, err := o.find(ctx, "diff", of, member)
	if err != nil {
		return nil, err
	}
	if do.Patch {
		w.store.Git = w.store.Git.Patch()
	}
	if do.Turn > 0 {
		return w.diffTurn(ctx, do.Turn)
	}
	return w.diff(ctx, "diff")
}

func (w *work) diffTurn(ctx context.Context, turn int) (*Diff, error) {
	got, err := w.store.Git.DiffTurn(ctx, w.tree, turn)
	var none *worktree.TurnError
	if errors.As(err, &none) {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "diff", Msg: w.name() + ": " + err.Error(), Err: err}
	}
	if err != nil {
		return nil, w.explained("diff", err)
	}
	d := w.of(got)
	d.Turn = turn
	return d, nil
}

// of is a difference of the member.
func (w *work) of(got worktree.Difference) *Diff {
	d := &Diff{Team: string(w.s.Team), Member: w.name(), Branch: w.tree.Branch, Path: w.tree.Path, Base: got.Base, Head: got.Head, Files: []FileChange{},
		Uncommitted: []string{}, Text: strings.ToValidUTF8(got.Text, "\uFFFD"), More: got.More}
	for _, f := range got.Files {
		d.Files = append(d.Files, FileChange(f))
	}
	return d
}

func (w *work) diff(ctx context.Context, op string) (*Diff, error) {
	got, err := w.store.Git.Diff(ctx, w.tree)
	if err != nil {
		return nil, w.explained(op, err)
	}
	files, _, err := w.store.Git.Uncommitted(ctx, w.tree)
	if err != nil {
		return nil, w.explained(op, err)
	}
	d := w.of(got)
	d.Uncommitted = append(d.Uncommitted, files...)
	return d, nil
}

// Reviewed is Diff for a member that is still there to read comments on it.
func (o Operator) Reviewed(ctx context.Context, of, member string) (*Diff, error) {
	w, err := o.find(ctx, "review", of, member)
	if err != nil {
		return nil, err
	}
	if err := o.Guard(ctx, w.s, "review"); err != nil {
		return nil, err
	}
	if !w.present() {
		return nil, &operator.Error{Kind: operator.Refused, Op: "review", Msg: w.name() + " has left, and would not read your comments", Advice: "its changes are in " + w.tree.Path}
	}
	return w.diff(ctx, "review")
}
