package decidecmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

func Policy(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "The rules of a team: list, change, test, suggest from your answers",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return policyList(cmd.Context(), a) },
	}
	cmd.AddCommand(policyListCmd(a), policyAddCmd(a), policyRmCmd(a), policyTestCmd(a), policySuggestCmd(a), policyExplainCmd(a), policySessionsCmd(a))
	return cmd
}

func policyListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the rules with their members, and which members have applied them",
		Long: `List the rules, whom they are for, until when, and how far each member is; with
--as NAME those that are for that member. --json: {"team","version","mode","decide",
"deadline_s","rules":[{"rule","effect","scope","expires_at","from"}],"hosts",
"members":[{"name","state","version","mode"}],"ceiling"}; ceiling is null, or
{"file","sha256","mode","allow","deny","cut"} of your own file. decide says who
decides what no rule and no mode allows or denies; operator is you.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return policyList(cmd.Context(), a) },
	}
}

func policyList(ctx context.Context, a *app.App) error {
	op, name, err := a.Team()
	if err != nil {
		return err
	}
	v, err := decide.Of(op).Policy(ctx, name, a.Flags.As)
	if err != nil {
		return err
	}
	return a.Give(view.Policy(v), view.PolicyPage(v))
}

func policyAddCmd(a *app.App) *cobra.Command {
	var deny bool
	var member, expires string
	cmd := &cobra.Command{
		Use:   "add RULE",
		Short: "Add a rule: a new version of the policy, which members apply",
		Long: `Add a rule: Tool, Tool(pattern), 'Bash(go test:*)', 'Edit(src/**)',
'WebFetch(domain:example.com)'. It is for the team, or with --for for one member, and
holds until it is taken back, or with --expires until then. It makes a new version of
the policy: the next call is judged by it. --json: {"team","version","changed",
"members":[{"name","state","version","mode"}]}; state is applied, pending or unsupported.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, op, name, err := ruleArg(a, args[0])
			if err != nil {
				return err
			}
			sc := decide.RuleScope{Member: waggle.MemberName(member)}
			if expires != "" {
				t, err := operator.ParseUntil(expires, a.Now())
				if err != nil {
					return err
				}
				t = t.UTC()
				sc.Until = &t
			}
			c, err := decide.Of(op).AddRule(cmd.Context(), name, r, deny, sc)
			if err != nil {
				return err
			}
			return changed(a, c, "rule "+r.String())
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "a rule that denies")
	cmd.Flags().StringVar(&member, "for", "", "for this member (default: the team)")
	cmd.Flags().StringVar(&expires, "expires", "", "when it ends: 8h, 14d, 18:00, 2026-12-24")
	app.Must(cmd.RegisterFlagCompletionFunc("for", a.CompleteMembers))
	return cmd
}

func policyRmCmd(a *app.App) *cobra.Command {
	var deny bool
	var member string
	cmd := &cobra.Command{
		Use:   "rm RULE",
		Short: "Remove a rule: a new version of the policy",
		Long: `Take a rule back, from the team and from every member, or with --for from one member
only. A member that waggle does not run keeps what it was told: it is named. --json is as
for policy add, with their names in "keep".`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteRules,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, op, name, err := ruleArg(a, args[0])
			if err != nil {
				return err
			}
			c, err := decide.Of(op).RemoveRule(cmd.Context(), name, r, deny, waggle.MemberName(member))
			if err != nil {
				return err
			}
			return changed(a, c, "without rule "+r.String())
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "the rule that denies")
	cmd.Flags().StringVar(&member, "for", "", "from this member only")
	app.Must(cmd.RegisterFlagCompletionFunc("for", a.CompleteMembers))
	return cmd
}

func ruleArg(a *app.App, s string) (policy.Rule, operator.Operator, waggle.TeamName, error) {
	r, err := policy.ParseRule(s)
	if err != nil {
		return r, operator.Operator{}, "", &operator.Error{Kind: operator.Usage, Op: "policy", Err: err}
	}
	op, name, err := a.Team()
	return r, op, name, err
}

func changed(a *app.App, c *decide.PolicyChange, what string) error {
	return a.Give(view.PolicyChange(c), view.PolicyChangePage(c, what))
}

const callHelp = `TOOLCALL is written as 'Bash(go test ./...)', 'Read(docs/a.md)',
'WebFetch(https://example.com/)', 'net example.com:443', or as JSON:
'{"tool":"Bash","input":{"command":"ls"}}'.`

func policyTestCmd(a *app.App) *cobra.Command {
	var cwd string
	cmd := &cobra.Command{
		Use:   "test TOOLCALL",
		Short: "Show which rule would decide a call, and why",
		Long: `Say which rule would decide a call now, and why. Nothing is asked and nothing
recorded. --as NAME judges it as that member's, with its rules, mode and directory.
` + callHelp + ` --json: {"as","tool","input","cwd","decision","rule","why","decider","mode",
"area","risk","policy_version","rules":[{"rule","effect","match","counts"}]}.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			return judge(cmd.Context(), a, op, name, args[0], cwd, false)
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory of the call (default: the member's, or this one)")
	return cmd
}

// judge returns the policy's verdict on a call, in the named directory, the member's, or this one.
func judge(ctx context.Context, a *app.App, op operator.Operator, name waggle.TeamName, call, cwd string, every bool) error {
	if cwd == "" && a.Flags.As == "" {
		var err error
		if cwd, err = os.Getwd(); err != nil {
			return err
		}
	}
	j, err := decide.Of(op).TestPolicy(ctx, name, a.Flags.As, call, cwd)
	if err != nil {
		return err
	}
	return a.Give(view.Judged(j), view.JudgedPage(j, every))
}

func policyExplainCmd(a *app.App) *cobra.Command {
	var cwd string
	cmd := &cobra.Command{
		Use:   "explain ID | TOOLCALL",
		Short: "Show what decided a past call, and the result of every rule now",
		Long: `Say what decided a call that was made, by its id, and what every rule makes of the
same call now; or only the latter, of a call as policy test takes it.
` + callHelp + ` --json of an id: {"id","kind","member","decision","by","rule","reason","at",
"policy_version","digest","now"}; now is as policy test has it.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			if isCall(args[0]) {
				return judge(cmd.Context(), a, op, name, args[0], cwd, true)
			}
			e, err := decide.Of(op).Explain(cmd.Context(), name, args[0])
			if err != nil {
				return err
			}
			return a.Give(view.Explained(e), view.ExplainedPage(e))
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "directory of the call (default: the member's, or this one)")
	return cmd
}

func isCall(s string) bool {
	return strings.ContainsAny(s, "({") || strings.HasPrefix(s, "net ")
}

func policySuggestCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "suggest",
		Short: "Propose the narrowest rules from what you have approved more than once",
		Long: `Propose rules from what you have approved more than once, those for identical calls
first, and show which of the last calls each would have matched. Nothing of high risk
is proposed, nothing that you have ever denied, and nothing that holds already. Nothing
is changed. --json: {"suggestions":[{"rule","scope","approvals","identical","risk",
"members","matched":[{"id","member","tool","input","decision","by"}],"matched_total",
"calls_looked_at"}]}.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			ss, err := decide.Of(op).Suggest(cmd.Context(), name)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(view.Suggestions(ss))
			}
			if len(ss) == 0 {
				a.Talk("nothing to suggest: no call of low or medium risk was approved twice")
				return nil
			}
			for _, s := range ss {
				saySuggestion(a, s, name)
			}
			return nil
		},
	}
}

// saySuggestion shows a suggestion and the command that makes it a rule.
func saySuggestion(a *app.App, s decide.Suggestion, name waggle.TeamName) {
	a.ShowPage(view.SuggestionPage(s), name, nil)
	who := ""
	if !slices.Contains([]string{"", "team"}, s.Scope) {
		who = " --for " + s.Scope
	}
	a.Say("  %s waggle policy add %s%s --expires 14d%s", app.Faint("next:"), shellQuote(s.Rule), who, a.Scope(name))
}

// shellQuote writes a word for a shell.
func shellQuote(s string) string {
	return fmt.Sprintf("'%s'", strings.ReplaceAll(s, "'", `'\''`))
}
