package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/spawn"
)

// Report is the work of a member, for the text of a pull request.
type Report struct {
	Diff
	Title   string
	Tasks   []Task
	Commits []string // subjects, newest first
	Earlier bool     // there are earlier commits than these
}

// PullOptions are the settings of Pull.
type PullOptions struct {
	Into    string // a branch; "": the one that the worktree was made from
	Draft   bool
	Title   string // "": the member's newest task
	Message string // of the commit that is made of uncommitted files; "": the title
	Body    func(Report) string
	// In and Err are the terminal of the person, whom git and gh may ask.
	In  io.Reader
	Err io.Writer
}

// Pulled is a pull request.
type Pulled struct {
	Team    string   `json:"team"`
	Member  string   `json:"member"`
	Branch  string   `json:"branch"`
	Into    string   `json:"into"`
	Remote  string   `json:"remote"`
	Commit  string   `json:"commit"`
	Title   string   `json:"title"`
	Message string   `json:"message"` // of the commit that was made of Files
	Files   []string `json:"files"`   // were in no commit
	URL     string   `json:"url"`
	Changed bool     `json:"changed"` // false: there was one for the branch, and it has the new commits
}

// Pull pushes a member's branch with the person's git, and makes a pull request with the person's
// gh. What is not committed is committed first.
func (o Operator) Pull(ctx context.Context, of, member string, po PullOptions) (*Pulled, error) {
	const op = "pr"
	w, err := o.takeable(ctx, op, of, member)
	if err != nil {
		return nil, err
	}
	gh, err := spawn.LookPath("gh", o.Environ)
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: op, Msg: "a pull request needs gh, the program of GitHub, and it is not in PATH", Err: err,
			Advice: "install gh, or push it yourself: git -C " + w.tree.Repo + " push REMOTE " + w.tree.Branch}
	}
	p := &Pulled{Team: string(w.s.Team), Member: w.name(), Branch: w.tree.Branch, Into: cmp.Or(po.Into, w.tree.From), Title: po.Title, Files: []string{}}
	if p.Into == "" {
		return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: w.tree.Branch + " was made from no branch, so it is not known where it belongs", Next: operator.NextInto.With()}
	}
	message := w.about()
	if po.Message != "" {
		message = strings.TrimSpace(po.Message) + "\n"
	}
	tip, err := w.store.Git.Commit(ctx, w.tree, message)
	if err != nil {
		return nil, w.explained(op, err)
	}
	if p.Commit = tip.Commit; tip.Made {
		p.Message, p.Files = message, tip.Files
	}
	err = o.pull(ctx, w, p, gh, po)
	return p, errors.Join(err, w.store.Git.Drop(context.WithoutCancel(ctx), w.tree))
}

func (o Operator) pull(ctx context.Context, w *work, p *Pulled, gh string, po PullOptions) error {
	d, err := w.diff(ctx, "pr")
	if err != nil {
		return err
	}
	if len(d.Files) == 0 {
		return &operator.Error{Kind: operator.Refused, Op: "pr", Msg: p.Member + " has changed nothing"}
	}
	r := Report{Diff: *d, Title: w.subject(), Tasks: w.tasks()}
	if r.Commits, r.Earlier, err = w.store.Git.Subjects(ctx, w.tree, d.Base, p.Commit); err != nil {
		return w.explained("pr", err)
	}
	p.Title = cmp.Or(p.Title, r.Title)
	if p.Remote, err = w.store.Git.Remote(ctx, w.tree, p.Into); err != nil {
		return w.explained("pr", err)
	}
	git := w.store.Git.Program
	if err := o.person(ctx, w, po, po.In, po.Err, git, "push", p.Remote, p.Commit+":refs/heads/"+p.Branch); err != nil {
		return err
	}
	if err := w.store.Git.Recorded(ctx, w.tree, p.Commit); err != nil {
		return w.explained("pr", err)
	}
	var url bytes.Buffer
	if err := o.person(ctx, w, po, po.In, &url, gh, "pr", "list", "--head", p.Branch, "--state", "open", "--json", "url", "--jq", ".[0].url"); err != nil {
		return err
	}
	if p.URL = strings.TrimSuffix(strings.TrimSpace(url.String()), "null"); p.URL != "" {
		return nil
	}
	args := []string{"pr", "create", "--head", p.Branch, "--base", p.Into, "--title", p.Title, "--body-file", "-"}
	if po.Draft {
		args = append(args, "--draft")
	}
	body := ""
	if po.Body != nil {
		body = po.Body(r)
	}
	url.Reset()
	if err := o.person(ctx, w, po, strings.NewReader(body), &url, gh, args...); err != nil {
		return err
	}
	if lines := strings.Fields(url.String()); len(lines) > 0 {
		p.URL = lines[len(lines)-1]
	}
	p.Changed = true
	return nil
}

// person runs a program of the person in the checkout, on the person's terminal.
func (o Operator) person(ctx context.Context, w *work, po PullOptions, in io.Reader, out io.Writer, program string, args ...string) error {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = w.tree.Repo, worktree.Environ(o.Environ), in, out, po.Err, checkWait
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &operator.Error{Kind: operator.Failed, Op: "pr", Msg: fmt.Sprintf("%s %s in %s: %v", program, strings.Join(args[:min(2, len(args))], " "), w.tree.Repo, err), Err: err}
	}
	return nil
}
