package decidecmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
)

// Undo is `waggle undo`.
func Undo(a *app.App) *cobra.Command {
	var plan bool
	cmd := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Take your last answer, rule or batch of answers back",
		Long: `Take back what you decided last, in any team or about sessions: an answer, all answers
that one command gave, a rule, or a change of hosts or modes. --team looks at one team. A
second undo takes back what you decided before. ID is the handle of a request: its answer
is taken back, with the rule that was made with it.

An answer is taken back as long as nothing has started by it; its request is asked again.
A rule holds no more from then on; what it has let run is listed, and nothing undoes it.

Exit code: 0 all of it is taken back; 6 something of it is not, with the reason; 9 there
is nothing. --json: {"team","at","answers":[{"handle","member","decision","what"}],
"changes":[{"rule","added"}],"late","ran","done"}.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			names, err := a.NamedOrAll(op)
			if err != nil {
				return err
			}
			act, err := decide.Of(op).LastAct(ctx, names, a.Flags.Team == "", strings.Join(args, ""))
			if err != nil {
				return err
			}
			if !plan && !act.Spent() {
				if act, err = decide.Of(op).Undo(ctx, act); err != nil {
					return err
				}
			}
			done := !plan && !act.Spent()
			if err := a.Give(view.UndoDocument{Act: act, Done: done}, view.UndoPage(act, done || act.Spent())); err != nil {
				return err
			}
			if len(act.Late) > 0 && !plan {
				return app.ExitError(app.ExitRefused)
			}
			return nil
		}),
	}
	app.PlanFlag(cmd, &plan, "show what would be taken back, and change nothing")
	return cmd
}
