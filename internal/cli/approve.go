package cli

import (
	"github.com/spf13/cobra"

	"waggle/operator"
)

func approveCmd(a *App) *cobra.Command {
	var digest, input string
	cmd := &cobra.Command{
		Use:               "approve ID…",
		Short:             "Allow requests, each exactly as it was shown",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if len(ids) > 1 && (digest != "" || input != "") {
				return &operator.Error{Code: operator.CodeUsage, Op: "approve", Msg: "--digest and --input go with one request"}
			}
			return a.decide(cmd, ids, operator.Answer{Allow: true, Digest: digest, UpdatedInput: input, Via: "approve"})
		},
	}
	cmd.Flags().StringVar(&digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	cmd.Flags().StringVar(&input, "input", "", "run this input (a JSON object) instead of what was asked")
	return cmd
}

func denyCmd(a *App) *cobra.Command {
	var reason, digest string
	cmd := &cobra.Command{
		Use:               "deny ID…",
		Short:             "Deny requests, with a reason that the worker is told",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.decide(cmd, ids, operator.Answer{Reason: reason, Digest: digest, Via: "deny"})
		},
	}
	cmd.Flags().StringVarP(&reason, "message", "m", "", "why")
	cmd.Flags().StringVar(&digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	return cmd
}

func (a *App) decide(cmd *cobra.Command, ids []string, with operator.Answer) error {
	op, name, err := a.team()
	if err != nil {
		return err
	}
	answers := make([]operator.Answer, len(ids))
	for i, id := range ids {
		answers[i] = with
		answers[i].ID = id
	}
	results, err := op.Decide(cmd.Context(), name, answers)
	if err != nil {
		return err
	}
	if a.flags.json {
		if err := a.document(map[string]any{"results": results}); err != nil {
			return err
		}
	}
	return a.sayDecided(results)
}

// sayDecided says what became of each and returns the first refusal.
func (a *App) sayDecided(results []operator.Decided) error {
	var first error
	for _, r := range results {
		if r.Err() != nil {
			if first == nil {
				first = r.Err()
			} else if !a.flags.json {
				a.talk("%s %s", red("error:"), operator.Visible(r.Error))
			}
			continue
		}
		if a.flags.json {
			continue
		}
		word := green(r.Decision)
		if r.Decision != "allow" {
			word = red(r.Decision)
		}
		switch {
		case !r.Changed:
			a.say("%s  %s already, by %s at %s", r.ID, word, r.By, r.At)
		case r.Delivered:
			a.say("%s  %s, delivered", r.ID, word)
		default:
			a.say("%s  %s, decided, not yet delivered", r.ID, word)
		}
	}
	return first
}
