package decidecmd

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
)

func Policy(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "The rules of a team: list, change, test, suggest from your answers",
		RunE:  func(cmd *cobra.Command, _ []string) error { return policyList(cmd.Context(), a) },
	}
	cmd.AddCommand(policyListCmd(a), policyAddCmd(a), policyRmCmd(a), policySandboxedCmd(a), policyTestCmd(a), policySuggestCmd(a), policyExplainCmd(a), policySessionsCmd(a))
	return cmd
}

func policyListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list [NAME]",
		Aliases: []string{"ls"},
		Short:   "List the rules with their members, and which members have applied them",
		Long: `List the rules with their members and expiry, and which members have applied them; with
NAME the rules that apply to that member. --json: {"team","version","mode",
"sandboxed","decide","deadline_s","rules":[{"rule","effect","scope","expires_at","from"}],
"hosts","members":[{"name","state","version","mode"}],"ceiling"}; ceiling is null, or
{"file","sha256","mode","allow","deny","cut"} of your own file. decide names who decides
when no rule and no mode allows or denies a call; operator is you.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := asMember(cmd.Context(), a, args); err != nil {
				return err
			}
			return policyList(cmd.Context(), a)
		},
	}
}

// asMember chooses the member that an argument names, and its team.
func asMember(ctx context.Context, a *app.App, args []string) error {
	if len(args) == 0 {
		return nil
	}
	_, of, err := a.TeamWith(ctx, args[0])
	if err == nil {
		a.Flags.As, a.Flags.Team = args[0], of
	}
	return err
}

func policyList(ctx context.Context, a *app.App) error {
	return showPolicy(ctx, a, a.Flags.As, func(v *decide.PolicyView) app.Output {
		return app.Output{Doc: v, Page: policyview.PolicyPage(v, a.Clock())}
	})
}

// showPolicy shows a part of the policy, with a member of what applies to that one.
func showPolicy(ctx context.Context, a *app.App, as string, show func(*decide.PolicyView) app.Output) error {
	return app.ShowEach(ctx, a, a.TeamRead, func(op operator.Operator, name protocol.TeamName) (*decide.PolicyView, error) {
		return decide.Of(op).Policy(ctx, name, as)
	}, show)
}

func policyAddCmd(a *app.App) *cobra.Command {
	var deny bool
	var member, expires string
	cmd := &cobra.Command{
		Use:   "add RULE",
		Short: "Add a rule: a new version of the policy, which members apply",
		Long: `Add a rule: Tool, Tool(pattern), 'Bash(go test:*)', 'Edit(src/**)',
'WebFetch(domain:example.com)'. It applies to the team, or with --for to one member, until
you remove it, or until the time of --until. It makes a new version of the policy, which
applies to the next call, and is the policyVersion of the last message about it.
--json: {"team","version","changed","members":[{"name","state","version","mode"}]}; state
is applied, pending or unsupported.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, op, name, err := ruleArg(a, args[0])
			if err != nil {
				return err
			}
			sc := decide.RuleScope{Member: protocol.MemberName(member)}
			if sc.Until, err = untilOf(a, expires); err != nil {
				return err
			}
			c, err := decide.Of(op).AddRule(cmd.Context(), name, r, deny, sc)
			if runs := r.Runs(); err == nil && runs != "" && !deny {
				a.Notes([]string{fmt.Sprintf("%s allows whatever %s is told to run; a rule with more words, or for one exact command, allows less", r, runs)})
			}
			return changed(a, c, err, "rule "+r.String())
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "a rule that denies")
	cmd.Flags().StringVar(&member, "for", "", "for this member (default: the team)")
	app.WhenVar(cmd.Flags(), &expires, "until", "when it ends: 8h, 14d, 18:00, 2026-12-24")
	return cmd
}

func policyRmCmd(a *app.App) *cobra.Command {
	var deny bool
	var member string
	cmd := &cobra.Command{
		Use:   "rm RULE",
		Short: "Remove a rule: a new version of the policy",
		Long: `Remove a rule from the team and from every member, or with --for from one member only. A
member that waggle does not run is told, and keeps the rule when its program does not read
permissionUpdate.removedRules: the command names it. --json is as for policy add, with the
names of such members in "keep".`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, op, name, err := ruleArg(a, args[0])
			if err != nil {
				return err
			}
			c, err := decide.Of(op).RemoveRule(cmd.Context(), name, r, deny, protocol.MemberName(member))
			return changed(a, c, err, "without rule "+r.String())
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "the rule that denies")
	cmd.Flags().StringVar(&member, "for", "", "from this member only")
	return cmd
}

func policySandboxedCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "sandboxed allow|ask",
		Short: "Allow shell calls that run inside a verified sandbox, or ask about them",
		Long: `Set whether a shell call that runs wholly inside a sandbox is allowed without a request.
The setting applies to members whose sandbox passed its self-test when they started. Deny
rules and the modes plan, safe and locked-down apply as before, and a call that names a
guarded file asks. The record of such a call names the rule "sandboxed". --json is as for
policy add.`,
		Args:      cobra.MatchAll(app.Arguments(1, 1), cobra.OnlyValidArgs),
		ValidArgs: []string{"allow", "ask"},
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			c, err := decide.Of(op).AllowSandboxed(ctx, name, args[0] == "allow")
			return changed(a, c, err, "sandboxed: "+args[0])
		}),
	}
}

func ruleArg(a *app.App, s string) (policy.Rule, operator.Operator, protocol.TeamName, error) {
	r, err := policy.ParseRule(s)
	if err != nil {
		return r, operator.Operator{}, "", &operator.Error{Kind: operator.Usage, Op: "policy", Err: err}
	}
	op, name, err := a.Team()
	return r, op, name, err
}

// untilOf reads the end that --until gives; nil for "".
func untilOf(a *app.App, s string) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	end, err := operator.ParseUntil(s, a.Now())
	end = end.UTC()
	return &end, err
}

// changed shows a change of the policy, or that it has failed.
func changed(a *app.App, c *decide.PolicyChange, err error, what string) error {
	if err != nil {
		return err
	}
	return a.Give(c, policyview.PolicyChangePage(c, what))
}

const callHelp = `TOOLCALL is written as 'Bash(go test ./...)', 'Read(docs/a.md)',
'WebFetch(https://example.com/)', 'net example.com:443', or as JSON:
'{"tool":"Bash","input":{"command":"ls"}}'.`

// judging are the flags of a command that judges a call.
type judging struct{ cwd, member string }

func (f *judging) add(a *app.App, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "directory of the call (default: the member's, or this one)")
	cmd.Flags().StringVar(&f.member, "for", "", "as a call of this member, with its rules, mode and directory (default: the team)")
}

// team is the team whose policy judges: that of --team, else the one that has the member. --as is the older
// spelling of --for.
func (f *judging) team(a *app.App) func(context.Context) (operator.Operator, protocol.TeamName, error) {
	return func(ctx context.Context) (operator.Operator, protocol.TeamName, error) {
		if f.member == "" {
			f.member = a.Flags.As
		}
		if f.member != "" {
			_, of, err := a.TeamWith(ctx, f.member)
			if err != nil {
				return operator.Operator{}, "", err
			}
			a.Flags.Team = of
		}
		return a.TeamRead(ctx)
	}
}

func policyTestCmd(a *app.App) *cobra.Command {
	var f judging
	cmd := &cobra.Command{
		Use:   "test TOOLCALL",
		Short: "Show which rule would decide a call, and why",
		Long: `Show which rule would decide a call now, and why. The command asks and records nothing.
--for NAME judges it as a call of that member, with its rules, mode and directory; the
command finds NAME in all teams.
` + callHelp + `

--json: {"as","tool","input","cwd","decision","rule","why","decider","mode",
"area","risk","policy_version","rules":[{"rule","effect","match","counts"}]}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.judge(cmd.Context(), a, args[0], false)
		},
	}
	f.add(a, cmd)
	return cmd
}

// judge shows the policy's verdict on a call, in the named directory, the member's, or this one.
func (f *judging) judge(ctx context.Context, a *app.App, call string, every bool) error {
	return app.ShowEach(ctx, a, f.team(a), func(op operator.Operator, name protocol.TeamName) (*decide.Judged, error) {
		return f.judged(ctx, op, name, call)
	}, func(j *decide.Judged) app.Output {
		return app.Output{Doc: j, Page: policyview.JudgedPage(j, every)}
	})
}

func (f judging) judged(ctx context.Context, op operator.Operator, name protocol.TeamName, call string) (*decide.Judged, error) {
	if f.cwd == "" && f.member == "" {
		var err error
		if f.cwd, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	return decide.Of(op).TestPolicy(ctx, name, f.member, call, f.cwd)
}

func policyExplainCmd(a *app.App) *cobra.Command {
	var f judging
	cmd := &cobra.Command{
		Use:   "explain ID | TOOLCALL",
		Short: "Show what decided a past call, and the result of every rule now",
		Long: `Show what decided a past call, by its id, and the result of every rule for the same call
now. With a TOOLCALL, as policy test takes it with --for NAME, show only the latter.
` + callHelp + `

--json of an id: {"id","kind","member","decision","by","rule","reason","at",
"policy_version","digest","now"}; now is as for policy test.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !isToolCall(args[0]) && f.member != "" {
				return &operator.Error{Kind: operator.Usage, Op: "policy explain", Msg: "--for is for a TOOLCALL: a past call has its member", Advice: "waggle policy explain " + args[0]}
			}
			if isToolCall(args[0]) {
				return f.judge(cmd.Context(), a, args[0], true)
			}
			return explain(cmd.Context(), a, args[0])
		},
	}
	f.add(a, cmd)
	return cmd
}

// explain shows what decided a past call.
func explain(ctx context.Context, a *app.App, id string) error {
	return app.ShowEach(ctx, a, a.TeamRead, func(op operator.Operator, name protocol.TeamName) (*decide.Explained, error) {
		return decide.Of(op).Explain(ctx, name, id)
	}, func(e *decide.Explained) app.Output {
		return app.Output{Doc: e, Page: policyview.ExplainedPage(e, a.Clock())}
	})
}

func policySuggestCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "suggest",
		Short: "Propose the narrowest rules from what you have approved more than once",
		Long: `Propose rules for calls that you have approved more than once, those for identical calls
first, and show which of the last calls each rule would have matched. The command proposes
no rule for a call of high risk, for a call that you have ever denied, or for one that a
rule already allows, and changes nothing. --json: {"suggestions":[{"rule","scope",
"approvals","identical","risk","members","matched":[{"id","member","tool","input",
"decision","by"}],"matched_total","calls_looked_at"}]}.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.EachTeam(cmd.Context(), a.TeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				ss, err := decide.Of(op).Suggest(cmd.Context(), name)
				if err != nil {
					return app.Output{}, err
				}
				x := app.Output{Doc: map[string]any{"suggestions": ss}, None: "nothing to suggest: no call of low or medium risk was approved twice"}
				for _, s := range ss {
					x.Page = append(x.Page, suggestion(a, s, name)...)
				}
				return x, nil
			})
		},
	}
}

// suggestion is a page of a suggestion and the command that makes it a rule.
func suggestion(a *app.App, s decide.Suggestion, name protocol.TeamName) page.Page {
	p := policyview.SuggestionPage(s)
	who := ""
	if !slices.Contains([]string{"", "team"}, s.Scope) {
		who = " --for " + s.Scope
	}
	p.Text(page.Plain("  next: waggle policy add " + app.ShellWord(s.Rule) + who + " --until 14d" + a.Scope(name)))
	return p
}
