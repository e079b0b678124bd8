package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/inspect"
)

func peekCmd(a *app.App) *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use:   "peek NAME",
		Short: "Show the last output of a member",
		Long: `Show the last output of a member, from its log and the log's older parts. The command
reads files only and sends the member nothing. It removes escape sequences, so that only
text reaches your terminal. For a program that fills its screen, it shows the present
screen. It finds NAME in all teams, also a member that died or left, and one of a team
that has ended, whose files are in the archive. Of a session of yours, by its name, @NAME,
pid or id, and of an adopted one, it shows the screen of its tmux pane, once. waggle logs
shows all of a member's output.

--json: {"team","name","state","since","why","log","at","age_s","shown","where","lines",
"earlier"}; age_s is -1 when there is no output; shown is lines or screen, where is team
or archive. With --follow, one {"line"} a line after it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 1 {
				return &operator.Error{Kind: operator.Usage, Op: "peek", Msg: fmt.Sprintf("-n %d is no number of lines", lines), Advice: "-n 1 shows the last line"}
			}
			op, of, err := a.TeamWith(cmd.Context(), args[0])
			var p *inspect.Peek
			if err == nil {
				p, err = inspect.Of(op).Peek(cmd.Context(), of, args[0], lines)
			}
			if err != nil && a.Flags.Team == "" {
				if named := inspect.Of(op).SessionNamed(cmd.Context(), "", args[0]); named != "" {
					p, err = inspect.Of(op).PeekSession(cmd.Context(), named, lines)
					follow = false // its screen is shown once
				}
			}
			if err != nil {
				return err
			}
			if err := showPeek(a, p, follow); err != nil || !follow {
				return err
			}
			return followOutput(cmd.Context(), a, op, p, p.Follow())
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 20, "number of lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue, and show new output until the member ends")
	return cmd
}

func showPeek(a *app.App, p *inspect.Peek, follow bool) error {
	switch {
	case a.Flags.JSON && follow:
		return a.Line(view.Peek(p, a.Now()))
	case a.Flags.JSON:
		return a.Document(view.Peek(p, a.Now()))
	}
	a.Tell(view.PeekHead(p, a.Now()), "")
	for _, l := range p.Lines {
		a.Say("%s", operator.Visible(l))
	}
	return nil
}

// peekEvery is how often followed output is read, and lookEvery how often the member's process is
// checked.
const (
	peekEvery = 200 * time.Millisecond
	lookEvery = 2 * time.Second
)

// followOutput prints new output until the member's process is gone, or ctx ends.
func followOutput(ctx context.Context, a *app.App, op operator.Operator, p *inspect.Peek, t *inspect.Tail) error {
	ctx, stop := a.WhileShown(ctx)
	defer stop()
	tick := time.NewTicker(peekEvery)
	defer tick.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for over := false; ; {
		lines, err := t.Next()
		if over {
			lines = append(lines, t.Rest()...)
		}
		if err := putLines(a, lines); err != nil {
			return err
		}
		if over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			over = true // Ctrl-C is how one stops following
		case <-tick.C:
		case <-look.C:
			now, err := inspect.Of(op).Peek(ctx, p.Team, p.Name, 1)
			if over = ctx.Err() != nil || err != nil; over {
				continue // a team that ends meanwhile is not an error
			}
			if over = now.State == string(inspect.StateDead) || now.State == "left"; over {
				a.Talk("%s: %s", now.State, operator.Visible(now.Why))
			}
		}
	}
}
