package teamcmd

import (
	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/record"
)

func Budget(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "What agents may use, and have used",
		Long: `Lists the budgets of the team, of its run, and of members, with what was used of each.

A member that reaches a budget pauses: it takes no work and its calls wait, and it asks
with the tool Budget (waggle pending). To allow that raises the budget to what the request
says. After a denial the member stays paused until the budget is set anew, or its process
starts anew. What agents use they say themselves, and tokens are all of them: input,
output and cache. Turns are those of the model, as the agent's client counts them (Claude
Code does), else one for each turn of the member's session.

A team for which nobody set a budget has a brake: it asks once when it has used $20, or
what brake: {usd: N} of your own settings said when the team was made (off: nothing).
Setting a budget, or --none, ends it.

--json: {"team","budgets":[{"scope","member","limit_usd_micros","limit_tokens",
"limit_turns","used","raised_usd_micros","raised_tokens","raised_turns"}]}; scope is team,
run, member or brake.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, team, err := a.TeamRead(cmd.Context())
			if err != nil {
				return err
			}
			all, err := supervise.Of(op).Budgets(cmd.Context(), team)
			if err != nil {
				return err
			}
			return a.Give(view.Budgets(string(team), all), view.BudgetsPage(all))
		},
	}
	cmd.AddCommand(budgetSet(a))
	return cmd
}

func budgetSet(a *app.App) *cobra.Command {
	var l budgetFlags
	var run, none bool
	cmd := &cobra.Command{
		Use:   "set [MEMBER]",
		Short: "Set a budget, or remove it with --none",
		Long: `Sets the budget of MEMBER, without MEMBER the team's, with --run that of its run, which
counts from when it was first set. It takes the place of the one before, with what was
raised of it.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, member := record.ScopeTeam, ""
			switch {
			case run && len(args) > 0:
				return &operator.Error{Kind: operator.Usage, Op: "budget", Msg: "--run is of the whole team: it takes no member"}
			case run:
				scope = record.ScopeRun
			case len(args) > 0:
				scope, member = record.ScopeMember, args[0]
			}
			limit, err := l.limit("budget")
			if err != nil {
				return err
			}
			if (limit == nil) != none {
				return &operator.Error{Kind: operator.Usage, Op: "budget", Msg: "give --usd, --tokens or --turns, or several of them, or --none"}
			}
			op, team, err := a.Team()
			if err != nil {
				return err
			}
			return supervise.Of(op).SetBudget(cmd.Context(), team, scope, member, limit)
		},
	}
	f := cmd.Flags()
	f.Float64Var(&l.usd, "usd", 0, "dollars")
	f.Int64Var(&l.tokens, "tokens", 0, "tokens: input, output and cache together")
	f.Int64Var(&l.turns, "turns", 0, "turns of the model")
	f.BoolVar(&run, "run", false, "the budget of the team's run")
	f.BoolVar(&none, "none", false, "no budget any more")
	return cmd
}

// budgetFlags are the flags that bound what agents use.
type budgetFlags struct {
	usd    float64
	tokens int64
	turns  int64
}

// add adds those of commands that begin a run.
func (b *budgetFlags) add(cmd *cobra.Command) {
	cmd.Flags().Float64Var(&b.usd, "max-cost", 0, "dollars that the run's agents may use together; then each asks you")
	cmd.Flags().Int64Var(&b.tokens, "max-tokens", 0, "the same in tokens")
	cmd.Flags().Int64Var(&b.turns, "max-turns", 0, "the same in turns of the model")
}

// limit is what they bound; nil: nothing.
func (b budgetFlags) limit(op string) (*record.Limit, error) {
	if b == (budgetFlags{}) {
		return nil, nil
	}
	l := &record.Limit{Tokens: b.tokens, Turns: b.turns}
	for name, n := range map[string]int64{"tokens": b.tokens, "turns": b.turns} {
		if n < 0 {
			return nil, &operator.Error{Kind: operator.Usage, Op: op, Msg: name + ": want a number above 0"}
		}
	}
	if b.usd != 0 {
		var err error
		if l.CostMicros, err = record.Micros(b.usd); err != nil {
			return nil, &operator.Error{Kind: operator.Usage, Op: op, Err: err}
		}
	}
	return l, nil
}
