package decidecmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
)

func Plan(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Plans: list, read, compare, approve, reject, escalate",
		Long: `A plan is a text in which a member says what it wants to do before it changes anything.
Every revision is a request of its own with its text in the journal. A newer revision
replaces the earlier ones, and the member may withdraw its plan. PLAN is a request's id,
or a member's name for its newest plan.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return planList(cmd.Context(), a, false) },
	}
	cmd.AddCommand(planListCmd(a), planShowCmd(a), planApproveCmd(a), planRejectCmd(a), planEscalateCmd(a), planDiffCmd(a))
	return cmd
}

func planListCmd(a *app.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the open plans",
		Long:    `List the open plans. --json: {"plans":[…]}, each as waggle show --json has it.`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return planList(cmd.Context(), a, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "also answered plans, and revisions that a newer one has replaced")
	return cmd
}

func planList(ctx context.Context, a *app.App, all bool) error {
	return app.ShowEach(ctx, a, a.TeamRead, func(op operator.Operator, name protocol.TeamName) ([]decide.Request, error) {
		return decide.Of(op).Plans(ctx, name, all)
	}, func(qs []decide.Request) app.Output {
		return app.Output{Doc: map[string]any{"plans": qs}, Page: view.PlanPage(qs, a.Now()), None: "no plan waits for you"}
	})
}

func planShowCmd(a *app.App) *cobra.Command {
	var rev int
	cmd := &cobra.Command{
		Use:   "show PLAN",
		Short: "Read a plan, by default its newest revision",
		Long:  `Show the text of a plan, by default of its newest revision. --json is as for waggle show.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			if _, err := toTeam(ctx, a, op, "plan show", args[0]); err != nil {
				return err
			}
			if a.Flags.Team == "" {
				if _, of, err := a.TeamWith(ctx, args[0]); err == nil {
					a.Flags.Team = of
				}
			}
			op, name, err := a.TeamRead(ctx)
			if err != nil {
				return err
			}
			q, err := decide.Of(op).Plan(ctx, name, args[0], rev)
			if err != nil {
				return err
			}
			return showQuestion(a, *q)
		}),
	}
	cmd.Flags().IntVar(&rev, "rev", 0, "this revision")
	return cmd
}

func planApproveCmd(a *app.App) *cobra.Command {
	var rev int
	with := decide.Answer{Allow: true, Via: "plan approve"}
	cmd := &cobra.Command{
		Use:   "approve PLAN --rev N",
		Short: "Approve exactly one revision of a plan",
		Long: `Approve exactly one revision of a plan: --rev is the revision that you have read. A
revision that a newer one has replaced cannot be approved. Exit codes and --json are as
for waggle approve.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			if rev <= 0 {
				return &operator.Error{Kind: operator.Usage, Op: "plan approve", Msg: "say which revision you have read: --rev N", Advice: "waggle plan show " + args[0]}
			}
			return planDecide(ctx, a, op, args[0], rev, with)
		}),
	}
	cmd.Flags().IntVar(&rev, "rev", 0, "the revision that you have read")
	cmd.Flags().StringVar(&with.Digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	return cmd
}

func planRejectCmd(a *app.App) *cobra.Command {
	var rev int
	with := decide.Answer{Via: "plan reject"}
	cmd := &cobra.Command{
		Use:   "reject PLAN -m FEEDBACK",
		Short: "Reject a plan with feedback, for another revision",
		Long: `Reject a plan. The member gets the feedback and continues to plan. Exit codes and --json
are as for waggle deny.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			if strings.TrimSpace(with.Reason) == "" {
				return &operator.Error{Kind: operator.Usage, Op: "plan reject", Msg: "say what to change: -m FEEDBACK"}
			}
			return planDecide(ctx, a, op, args[0], rev, with)
		}),
	}
	cmd.Flags().IntVar(&rev, "rev", 0, "only this revision (default: the newest)")
	cmd.Flags().StringVarP(&with.Reason, "message", "m", "", "feedback: what to change")
	return cmd
}

func planEscalateCmd(a *app.App) *cobra.Command {
	var rev int
	var reason string
	cmd := &cobra.Command{
		Use:   "escalate PLAN",
		Short: "Escalate a plan to yourself, from the lead agent or the rules",
		Long: `Escalate a plan to yourself: from then on neither the lead agent nor the rules decide it,
only you, with plan approve and plan reject. Exit 6 when the plan was answered or
withdrawn, or needs two approvals anyway. --json: {"id","member","revision","digest",
"changed","decider"}; changed is false when you were the only one to decide already.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			op, name, err := teamHaving(ctx, a, op, "plan escalate", args[0])
			if err != nil {
				return err
			}
			e, err := decide.Of(op).EscalatePlan(ctx, name, args[0], rev, reason)
			if err != nil {
				return err
			}
			return a.Give(e, view.EscalatedPage(e), func() { a.Talk("%s waggle plan show %s%s", app.Faint("next:"), e.ID, a.Scope(name)) })
		}),
	}
	cmd.Flags().IntVar(&rev, "rev", 0, "only this revision (default: the newest)")
	cmd.Flags().StringVarP(&reason, "message", "m", "", "the reason, for the journal")
	return cmd
}

func planDecide(ctx context.Context, a *app.App, op operator.Operator, plan string, rev int, with decide.Answer) error {
	op, name, err := teamHaving(ctx, a, op, with.Via, plan)
	if err != nil {
		return err
	}
	q, err := decide.Of(op).Plan(ctx, name, plan, rev)
	if err != nil {
		return err
	}
	with.ID = q.ID
	if with.Digest == "" {
		with.Digest = q.Digest
	}
	results, err := decide.Of(op).Decide(ctx, name, []decide.Answer{with})
	if err != nil {
		return err
	}
	return sayLearned(ctx, a, op, name, results, nil)
}

func planDiffCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B | diff MEMBER REV REV",
		Short: "Compare two revisions of a plan",
		Long: `Print a unified diff of two plans, by their ids, or of two revisions of a member's newest
plan. --json: {"a","b","same","diff"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 3 {
				_, of, err := a.TeamWith(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				a.Flags.Team = of
			}
			op, name, err := a.TeamRead(cmd.Context())
			if err != nil {
				return err
			}
			x, y, err := planPair(cmd.Context(), a, op, name, args)
			if err != nil {
				return err
			}
			diff := decide.DiffPlans(x, y)
			if diff == "" && !a.Flags.JSON {
				a.Talk("%s and %s say the same", x.ID, y.ID)
				return nil
			}
			return a.Give(view.PlanDiffDocument{A: x.ID, B: y.ID, Diff: diff, Same: diff == ""}, view.DiffPage(diff))
		},
	}
}

func planPair(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName, args []string) (x, y *decide.Request, err error) {
	of, revs := []string{args[0], args[1]}, []int{0, 0}
	if len(args) == 3 {
		of[1] = args[0]
		for i, s := range args[1:] {
			if revs[i], err = strconv.Atoi(s); err != nil || revs[i] < 1 {
				return nil, nil, &operator.Error{Kind: operator.Usage, Op: "plan diff", Msg: fmt.Sprintf("%q is not a revision", s)}
			}
		}
	}
	if x, err = decide.Of(op).Plan(ctx, name, of[0], revs[0]); err != nil {
		return nil, nil, err
	}
	y, err = decide.Of(op).Plan(ctx, name, of[1], revs[1])
	return x, y, err
}
