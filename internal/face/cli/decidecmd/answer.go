package decidecmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/control"
	"waggle/internal/face/cli/app"
	"waggle/operator/decide"
	"waggle/protocol"
)

func Answer(a *app.App) *cobra.Command {
	var digest string
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
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.CompleteRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			return answer(cmd.Context(), a, args[0], args[1:], digest)
		},
	}
	cmd.Flags().StringVar(&digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	return cmd
}

func answer(ctx context.Context, a *app.App, id string, words []string, digest string) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	of, err := ofSession(ctx, a, op, id)
	if err != nil {
		return err
	}
	with := decide.Answer{ID: id, Allow: true, Words: words, Digest: digest, Via: "answer"}
	if !of {
		return answerOne(ctx, a, []string{id}, answerFlags{digest: digest}, with, nil)
	}
	d, err := decide.Of(op).DecideSession(ctx, with, words)
	if err != nil {
		return err
	}
	if d == nil { // its session was removed meanwhile
		return &control.UnknownRequestError{ID: protocol.RequestID(id)}
	}
	return sayLearned(ctx, a, op, "", []decide.Decided{*d}, nil)
}
