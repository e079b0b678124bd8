package teamcmd

import (
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/protocol"
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.EachTeam(cmd.Context(), a.TeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				all, err := supervise.Of(op).Budgets(cmd.Context(), name)
				if err != nil {
					return app.Output{}, err
				}
				return app.Output{Doc: view.BudgetsDocument{Team: string(name), Budgets: all}, Page: view.BudgetsPage(all)}, nil
			})
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
			limit := l.limit()
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
	l.flags(cmd, "usd", "dollars", "tokens", "tokens: input, output and cache together", "turns", "turns of the model")
	f := cmd.Flags()
	f.BoolVar(&run, "run", false, "the budget of the team's run")
	f.BoolVar(&none, "none", false, "no budget any more")
	return cmd
}

// budgetFlags are the flags that bound what agents use.
type budgetFlags record.Limit

// add adds those of commands that begin a run.
func (b *budgetFlags) add(cmd *cobra.Command) {
	b.flags(cmd, "max-cost", "dollars that the run's agents may use together; then each asks you", "max-tokens", "the same in tokens", "max-turns", "the same in turns of the model")
}

func (b *budgetFlags) flags(cmd *cobra.Command, usd, dollars, tokens, tokensHelp, turns, turnsHelp string) {
	cmd.Flags().Var((*micros)(&b.CostMicros), usd, dollars)
	cmd.Flags().Var((*count)(&b.Tokens), tokens, tokensHelp)
	cmd.Flags().Var((*count)(&b.Turns), turns, turnsHelp)
}

// limit is what they bound; nil: nothing.
func (b budgetFlags) limit() *record.Limit {
	if b == (budgetFlags{}) {
		return nil
	}
	return (*record.Limit)(&b)
}

// micros is a flag of dollars; 0: it is not given.
type micros int64

func (m *micros) Set(s string) error {
	usd, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return errors.New("want dollars")
	}
	n, err := record.Micros(usd)
	*m = micros(n)
	return err
}

func (m *micros) String() string { return "" } // the default that help shows: none
func (m *micros) Type() string   { return "float" }

// count is a flag of a number above 0; 0: it is not given.
type count int64

func (c *count) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return errors.New("want a whole number above 0")
	}
	*c = count(n)
	return nil
}

func (c *count) String() string { return "" } // likewise
func (c *count) Type() string   { return "int" }
