package decidecmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/control"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

func Answer(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "answer ID CHOICE|TEXT…",
		Short: "Answer an agent's own question in words",
		Long: `Answer an agent's own question: the number of an option, several numbers with commas
where the question takes several, or any other text. A request that holds several
questions takes one argument for each, in their order. waggle show ID lists them.

An answer is words: it opens no gate and is no consent to a later call. There is no
default, and an empty answer is never given; deny ID -m TEXT tells the agent that the
question gets no answer.

Exit codes and --json are as for approve.`,
		Example: `  waggle answer 7KQF 2
  waggle answer 7KQF "neither: keep both"`,
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.CompleteRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			return answer(cmd.Context(), a, args[0], args[1:])
		},
	}
}

func answer(ctx context.Context, a *app.App, id string, words []string) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	of, err := ofSession(ctx, a, op, id)
	if err != nil {
		return err
	}
	if !of {
		if _, err := find(ctx, a, id); err != nil {
			return err
		}
		return &operator.Error{Kind: operator.Usage, Op: "answer", Msg: id + " asks for permission, not for words", Advice: "waggle show " + id + ", then approve or deny it"}
	}
	d, err := decide.Of(op).DecideSession(ctx, decide.Answer{ID: id, Allow: true, Via: "answer"}, words)
	if err != nil {
		return err
	}
	if d == nil { // its session was removed meanwhile
		return &control.UnknownRequestError{ID: waggle.RequestID(id)}
	}
	results := []decide.Decided{*d}
	if a.Flags.JSON {
		if err := a.Document(view.Results(results)); err != nil {
			return err
		}
	}
	return sayDecided(a, results)
}
