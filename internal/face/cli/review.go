package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/resultview"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/results"
	"waggle/protocol"
	"waggle/spawn"
)

func reviewCmd(a *app.App) *cobra.Command {
	var said []string
	cmd := &cobra.Command{
		Use:   "review NAME",
		Short: "Comment on a member's changes in your editor",
		Long: `Show what a member changed (see waggle diff) in your editor ($VISUAL, else $EDITOR). Lines
that you write below a line of the diff are a comment on it. All comments become one
message to the member, with file, line and the quoted code. When nothing was written,
nothing is sent. When the message cannot be sent, your text stays in a file that is named.

Without an editor the diff is shown with the numbers of the lines, on a terminal in
$PAGER, and the comments are given as -c 'FILE:LINE: text', once for each; -LINE is a
deleted line, FILE: text is about all of a file. One that names no line of the diff is
exit 2, and none is sent.

--json: {"team","member","comments":[{"file","line","deleted","quoted","text"}],
"results"}; results is as for waggle send.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := takenFrom(cmd.Context(), a, args[0])
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
			if len(said) > 0 {
				return reviewSaid(cmd.Context(), a, op, d, said)
			}
			if editorOf(a) == "" && !a.Flags.JSON {
				return viewReview(cmd.Context(), a, d)
			}
			return review(cmd.Context(), a, op, d)
		},
	}
	cmd.Flags().StringArrayVarP(&said, "comment", "c", nil, "a comment, FILE:LINE: text; may be repeated")
	return cmd
}

// reviewSaid sends comments that name their places.
func reviewSaid(ctx context.Context, a *app.App, op operator.Operator, d *results.Diff, said []string) error {
	cs, err := results.CommentsOf(d.Text, said)
	if err != nil {
		return &operator.Error{Kind: operator.Usage, Op: "review", Err: err}
	}
	sent, err := sendReview(ctx, op, d, cs)
	if err != nil {
		return err
	}
	return giveReview(a, d, cs, sent)
}

// viewReview shows a diff with the numbers by which comments name its lines, on a terminal in the person's pager.
func viewReview(ctx context.Context, a *app.App, d *results.Diff) error {
	text := operator.VisibleOutput(results.Numbered(d.Text))
	if pager := a.Env("PAGER"); pager != "" && app.Tty(a.Out) && app.Tty(a.In) {
		c := exec.CommandContext(ctx, "sh", "-c", pager)
		c.Env, c.Stdin, c.Stdout, c.Stderr = a.Environ, strings.NewReader(text), os.Stdout, os.Stderr
		if err := c.Run(); err != nil {
			return &operator.Error{Kind: operator.Failed, Op: "review", Msg: "the pager failed: " + err.Error(), Err: err}
		}
	} else if err := a.Put(text); err != nil {
		return err
	}
	a.Talk("there is no editor; comment with -c 'FILE:LINE: text', which may be repeated")
	return nil
}

// sendReview sends comments as one message.
func sendReview(ctx context.Context, op operator.Operator, d *results.Diff, cs []results.Comment) ([]mail.Sent, error) {
	to, err := protocol.ParseAddress(d.Member)
	if err != nil {
		return nil, err
	}
	sent, err := mail.Of(op).Send(ctx, protocol.TeamName(d.Team), mail.Message{To: to, Text: resultview.ReviewText(d, cs), Summary: fmt.Sprintf("review of %s", d.Branch)})
	if err == nil {
		err = mail.Exit(sent)
	}
	return sent, err
}

func review(ctx context.Context, a *app.App, op operator.Operator, d *results.Diff) error {
	sheet := resultview.ReviewSheet(d)
	path, written, err := edit(ctx, a, "review", "review.diff", sheet, "give the comments with -c")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	cs := results.Comments(sheet, written)
	if len(cs) == 0 {
		a.Talk("no comment, so nothing is sent")
		return errors.Join(os.RemoveAll(dir), giveReview(a, d, cs, nil))
	}
	sent, err := sendReview(ctx, op, d, cs)
	if err != nil {
		a.Talk("your comments are in %s", operator.Visible(path))
		return err
	}
	return errors.Join(os.RemoveAll(dir), giveReview(a, d, cs, sent))
}

func giveReview(a *app.App, d *results.Diff, cs []results.Comment, sent []mail.Sent) error {
	if a.Flags.JSON {
		return a.Document(resultview.ReviewDocument{Team: d.Team, Member: d.Member, Comments: cs, Results: sent})
	}
	if len(cs) > 0 {
		a.Say("%s in one message", page.Count(len(cs), "comment"))
		a.ShowPage(view.SentPage(sent), "", nil)
	}
	return nil
}

// edit lets the person change a text in an editor. It returns the file, of this name, whose directory the caller removes.
// op is the command, without says what to do without an editor.
func edit(ctx context.Context, a *app.App, op, name, text, without string) (path, edited string, err error) {
	dir, err := os.MkdirTemp("", "waggle-"+op+"-")
	if err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, name)
	err = os.WriteFile(path, []byte(text), 0o600)
	var c *exec.Cmd
	if err == nil {
		c, err = editor(ctx, a, op, path, without)
	}
	if err == nil {
		err = runEditor(a, op, c)
	}
	if err != nil {
		return "", "", errors.Join(err, os.RemoveAll(dir))
	}
	b, err := os.ReadFile(path)
	return path, string(b), err
}

// runEditor runs an editor on this terminal until it ends.
func runEditor(a *app.App, op string, c *exec.Cmd) error {
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
	editor := editorOf(a)
	if editor == "" {
		return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: "there is no editor: neither VISUAL nor EDITOR is set", Advice: "set EDITOR, or " + without}
	}
	c := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path)
	c.Env = a.Environ
	return c, nil
}

// editorOf is the person's editor; "": there is none that could be used.
func editorOf(a *app.App) string {
	editor := cmp.Or(a.Env("VISUAL"), a.Env("EDITOR"))
	if editor == "" && app.Tty(a.In) && app.Tty(a.Err) {
		if _, err := spawn.LookPath("vi", a.Environ); err == nil {
			editor = "vi"
		}
	}
	return editor
}
