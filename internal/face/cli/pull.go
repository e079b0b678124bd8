package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/resultview"
	"waggle/operator/results"
)

func pullCmd(a *app.App) *cobra.Command {
	var po results.PullOptions
	cmd := &cobra.Command{
		Use:   "pr NAME",
		Short: "Push a member's work and make a pull request of it",
		Long: `Push a member's branch with your own git, and make a pull request with your own gh, from
the checkout that the worktree was made from. What is not committed is committed first,
and the message is shown. The text of the pull request has the member's tasks, its commits
and its files. A branch with an open pull request is only pushed.

--json: {"team","member","branch","into","remote","commit","title","message","files",
"url","changed"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, of, err := takenFrom(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			po.In, po.Err, po.Body = a.In, a.Err, resultview.PullBody
			p, err := results.Of(op).Pull(cmd.Context(), of, args[0], po)
			if p == nil || p.URL == "" {
				return err
			}
			return errors.Join(err, a.Give(p, resultview.PulledPage(p)))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&po.Draft, "draft", false, "as a draft")
	f.StringVar(&po.Into, "into", "", "the branch that it is for (default: the one that the worktree was made from)")
	f.StringVar(&po.Title, "title", "", "its title (default: the member's newest task)")
	f.StringVarP(&po.Message, "message", "m", "", "the message of the commit of what is not committed (default: the member's newest task)")
	return cmd
}
