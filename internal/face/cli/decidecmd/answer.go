package decidecmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/decide"
)

func Answer(a *app.App) *cobra.Command {
	with := decide.Answer{Allow: true, Via: "answer"}
	cmd := &cobra.Command{
		Use:   "answer ID CHOICE|TEXT…",
		Short: "Answer an agent's own question in words",
		Long: `Answer a question that the agent of a member or of a session asks: with the label of an
option or its number, several with commas where the question takes several, or any other
text, unless the question takes its options only. A text that is a label is that option,
also when it is the number of another. A request with several questions takes one argument
for each, in their order. waggle pending and waggle show ID list the questions.

An answer gives the agent text. It allows no call, and no later call. There is no default
answer, and an empty one is refused; deny ID -m TEXT tells the agent that the question
gets no answer.

Exit codes and --json are as for approve.`,
		Example: `  waggle answer 7KQF 2
  waggle answer 7KQF "neither: keep both"`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			with.Words = args[1:]
			return answerOne(ctx, a, op, args[:1], "", with)
		}),
	}
	cmd.Flags().StringVar(&with.Digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	return cmd
}
