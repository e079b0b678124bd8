package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func logsCmd(a *app.App) *cobra.Command {
	var n int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the output of a member from its beginning",
		Long: `Show the output of a member from its beginning, or its last lines with -n, for a pager or
a pipe: text without escape sequences, and nothing else on stdout. waggle peek shows how
the member is, its last lines, and the screen of a program that fills it. The command
reads files only. It finds NAME in all teams, also a member that died or left, and one of
a team that has ended. Very old output is gone: a log is kept in a few parts.

--json: {"team","name","log","where","lines"}; where is team or archive. With --follow one
{"line"} a line.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 0 || n == 0 && cmd.Flags().Changed("lines") {
				return &operator.Error{Kind: operator.Usage, Op: "logs", Msg: fmt.Sprintf("-n %d is no number of lines", n), Advice: "-n 1 shows the last line; without -n all are shown"}
			}
			op, of, err := a.TeamWith(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var all []string
			p, err := inspect.Of(op).Logs(cmd.Context(), of, args[0], n, func(lines []string) error {
				if a.Flags.JSON && !follow {
					all = append(all, lines...)
					return nil
				}
				return putLines(a, lines)
			})
			switch {
			case err != nil:
				return err
			case a.Flags.JSON && !follow:
				return a.Document(view.Logs(p, all))
			case p.Log == "":
				a.Talk("%s has written nothing", operator.Visible(p.Name))
			}
			if !follow {
				return nil
			}
			return followOutput(cmd.Context(), a, op, p, p.Follow())
		},
	}
	cmd.Flags().IntVarP(&n, "lines", "n", 0, "only the last so many lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue, and show new output until the member ends")
	return cmd
}

// putLines prints lines of output, with --json a document for each.
func putLines(a *app.App, lines []string) error {
	for _, l := range lines {
		if !a.Flags.JSON {
			a.Say("%s", operator.Visible(l))
		} else if err := a.Line(map[string]any{"line": l}); err != nil {
			return err
		}
	}
	return nil
}
