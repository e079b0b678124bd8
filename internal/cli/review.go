package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/cli/decidecmd"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/internal/view/resultview"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/results"
)

func reviewCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "review NAME",
		Short: "Comment on a member's changes in your editor",
		Long: `Show what a member changed (see waggle diff) in your editor ($VISUAL, else $EDITOR). Lines
that you write below a line of the diff are a comment on it. All comments become one
message to the member, with file, line and the quoted code. When nothing was written,
nothing is sent. When the message cannot be sent, your text stays in a file that is named.

--json: {"team","member","comments":[{"file","line","deleted","quoted","text"}],
"results"}; results is as for waggle send.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := decidecmd.Past(a, nil)
			if err != nil {
				return err
			}
			d, err := results.Of(op).Reviewed(cmd.Context(), of, args[0])
			if err != nil {
				return err
			}
			if len(d.Files) == 0 {
				a.Talk("%s has changed nothing since %.12s", d.Member, d.Base)
				return nil
			}
			return review(cmd.Context(), a, op, d)
		},
	}
}

func review(ctx context.Context, a *app.App, op operator.Operator, d *results.Diff) error {
	dir, err := os.MkdirTemp("", "waggle-review-")
	if err != nil {
		return err
	}
	path, sheet := filepath.Join(dir, "review.diff"), resultview.ReviewSheet(d)
	if err := os.WriteFile(path, []byte(sheet), 0o600); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := edit(ctx, a, "review", path, "read it with waggle diff and answer with waggle send"); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	edited, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	cs := results.Comments(sheet, string(edited))
	if len(cs) == 0 {
		a.Talk("no comment, so nothing is sent")
		return errors.Join(os.RemoveAll(dir), giveReview(a, d, cs, nil))
	}
	to, err := waggle.ParseAddress(d.Member)
	if err != nil {
		return err
	}
	sent, err := mail.Of(op).Send(ctx, waggle.TeamName(d.Team), mail.Message{To: to, Text: resultview.ReviewText(d, cs), Summary: fmt.Sprintf("review of %s", d.Branch)})
	if err == nil {
		err = mail.Exit(sent)
	}
	if err != nil {
		a.Talk("your comments are in %s", operator.Visible(path))
		return err
	}
	return errors.Join(os.RemoveAll(dir), giveReview(a, d, cs, sent))
}

func giveReview(a *app.App, d *results.Diff, cs []results.Comment, sent []mail.Sent) error {
	if a.Flags.JSON {
		return a.Document(resultview.Review(d, cs, sent))
	}
	if len(cs) > 0 {
		a.Say("%s in one message", page.Count(len(cs), "comment"))
		a.ShowPage(view.SentPage(sent), "", nil)
	}
	return nil
}

// edit opens a file in the person's editor and waits for its end. op is the command, without says what
// to do without an editor.
func edit(ctx context.Context, a *app.App, op, path, without string) error {
	c, err := editor(ctx, a, op, path, without)
	if err != nil {
		return err
	}
	c.Stdin, c.Stdout, c.Stderr = a.In, os.Stderr, os.Stderr
	if app.Tty(a.Out) {
		c.Stdout = os.Stdout
	}
	if err := c.Run(); err != nil {
		return &operator.Error{Kind: operator.Failed, Op: op, Msg: "the editor failed: " + err.Error() + "; nothing is done", Err: err}
	}
	return nil
}

// editor is the command that opens a file in the person's editor, which is a shell text, as for git.
func editor(ctx context.Context, a *app.App, op, path, without string) (*exec.Cmd, error) {
	editor := a.Env("VISUAL")
	if editor == "" {
		editor = a.Env("EDITOR")
	}
	if editor == "" && app.Tty(a.In) && app.Tty(a.Err) {
		editor = "vi"
	}
	if editor == "" {
		return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: "there is no editor: neither VISUAL nor EDITOR is set", Advice: "set EDITOR, or " + without}
	}
	c := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path)
	c.Env = a.Environ
	return c, nil
}
