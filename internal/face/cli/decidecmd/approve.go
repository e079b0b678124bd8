package decidecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/control"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
)

// approveFlags are an answer, and the rule that it is to make.
type approveFlags struct {
	decide.Answer
	rule, scope, expires string
	yes                  bool
}

// Start starts the member of a proposal that the person has approved.
type Start func(ctx context.Context, a *app.App, q decide.Request) error

// Approve is waggle approve; start is how it starts proposals.
func Approve(a *app.App, start Start) *cobra.Command {
	f := approveFlags{Answer: decide.Answer{Allow: true, Via: "approve"}}
	cmd := &cobra.Command{
		Use:   "approve ID… | NAME | GROUP",
		Short: "Allow requests, each exactly as it was shown",
		Long: `Allow requests, each exactly as it was shown. ID is a request's handle, as pending shows
it, or its id; of an open request it may be shortened while it names one only. The name of
a member stands for its one open request: on a terminal the command asks about it, in six
lines, without one it is exit 2 with the handle. The key v shows all of the request; where
the lines cannot show what would run, nothing is allowed before that. The key r also adds
the rule that they show. A request of high risk is allowed by typing its handle.

GROUP is the id of a group, which pending and show print with all that it covers: exactly
those requests with exactly those inputs. It is no pattern, which would also answer
requests that you were not shown: waggle show 'Bash(go test:*)' prints the requests of a
pattern and the id. Requests of high risk, plans and hosts cannot be answered as a
group: answer them by their ids.

--input runs the given input instead of the requested one. The command shows it again,
with a digest of its own, and asks on a terminal once more, unless --yes.

--rule adds a rule with the answer, as a second act after the decision: a rule that covers
the allowed call, or the number of one that show prints (--rule 1). It applies to the
member that asked, with --for team to every member, with --for sessions to sessions that
waggle does not run (waggle policy sessions), and ends: --until task (with the task that
the member works on, after a day at the latest), today, 8h, 14d, 18:00 or a date, or
always (never); default 24h.

The handle of a proposal (waggle new --propose) starts what it proposes: the command shows
it whole and asks, unless --yes, then does what waggle new does, and prints the same.

Exit 0 also when the request had this answer already ("changed":false); 6 when it was
decided otherwise, has expired or has another digest; 9 when there is no such request.
--json: {"results":[{"id","decision","by","at","changed","delivered"}]}, with --rule also
"policy".`,
		Args: cobra.ArbitraryArgs, // without any the error says more
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, ids []string) error {
			if done, err := approveProposal(ctx, a, op, ids, f, start); done || err != nil {
				return err
			}
			return approve(ctx, a, op, ids, f)
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.Digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	fl.StringVar(&f.UpdatedInput, "input", "", "run this input (a JSON object) instead of the requested one")
	fl.StringVar(&f.rule, "rule", "", "also add this rule, or the one of this number in what show prints")
	fl.StringVar(&f.scope, "for", "member", "whom the rule is for: member, team or sessions")
	app.WhenVar(fl, &f.expires, "until", "when the rule ends: task, today, always, 8h, a date (default 24h)")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask again about a changed input, nor about a proposal")
	app.OneOf(cmd, "for", "member", "team", scopeSessions)
	return cmd
}

func Deny(a *app.App) *cobra.Command {
	with := decide.Answer{Via: "deny"}
	cmd := &cobra.Command{
		Use:   "deny ID… | NAME | GROUP",
		Short: "Deny requests, with a reason for the worker",
		Long: `Deny requests, with a reason for the worker. With NAME the command shows the one open
request of that member and asks whether to deny it (v shows all of it). Ids, groups,
exit codes and --json are as for approve.`,
		Args: cobra.ArbitraryArgs, // without any the error says more
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, ids []string) error {
			return answerOne(ctx, a, op, ids, "", with)
		}),
	}
	fl := cmd.Flags()
	fl.StringVarP(&with.Reason, "message", "m", "", "why")
	fl.StringVar(&with.Digest, "digest", "", "only if its digest begins with these (at least 16) hex digits")
	return cmd
}

func approve(ctx context.Context, a *app.App, op operator.Operator, ids []string, f approveFlags) (err error) {
	if f.rule == "" && (f.expires != "" || f.scope != "member") {
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "--for and --until go with --rule"}
	}
	if f.rule != "" {
		if f.Lesson, err = lesson(ctx, a, op, ids, f); err != nil {
			return err
		}
	}
	if f.UpdatedInput != "" && len(ids) == 1 {
		if err := showChanged(ctx, a, op, ids[0], f); err != nil {
			return err
		}
	}
	return answerOne(ctx, a, op, ids, f.scope, f.Answer)
}

// lesson reads the rule that an answer creates.
func lesson(ctx context.Context, a *app.App, op operator.Operator, ids []string, f approveFlags) (*decide.Lesson, error) {
	if n, err := strconv.Atoi(f.rule); err == nil {
		if f.rule, err = numbered(ctx, a, op, ids, f, n); err != nil {
			return nil, err
		}
	}
	r, err := policy.ParseRule(f.rule)
	if err != nil {
		return nil, &operator.Error{Kind: operator.Usage, Op: "approve", Err: err, Advice: "waggle show ID lists the narrowest rules"}
	}
	l := &decide.Lesson{Rule: r, Team: f.scope == "team", End: a.Now().Add(decide.LessonTime)}
	if f.scope != "team" && f.scope != "member" && f.scope != scopeSessions {
		return nil, &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "--for is member, team or sessions, not " + f.scope}
	}
	switch f.expires {
	case "":
	case "task":
		l.Task = true
	case "always":
		l.End = time.Time{} // none
	default:
		l.End, err = operator.ParseUntil(f.expires, a.Now())
	}
	return l, err
}

// numbered returns the rule that show lists at a place, from 1.
func numbered(ctx context.Context, a *app.App, op operator.Operator, ids []string, f approveFlags, n int) (string, error) {
	if len(ids) != 1 || decide.IsGroup(ids[0]) {
		return "", &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "--rule with a number goes with one request: it is the place of a rule in what show prints of it"}
	}
	q, err := find(ctx, a, op, ids[0])
	if err == nil && f.UpdatedInput != "" {
		q, err = findChanged(ctx, a, op, ids[0], f.UpdatedInput)
	}
	switch {
	case err != nil:
		return "", err
	case len(q.Suggest) == 0:
		return "", &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "no rule should allow what " + q.Handle + " asks"}
	case n < 1 || n > len(q.Suggest):
		return "", &operator.Error{Kind: operator.Usage, Op: "approve", Msg: fmt.Sprintf("%s has no rule %d", q.Handle, n), Near: q.Suggest,
			Next: operator.Next{Step: operator.NextShow, ID: q.Handle}}
	}
	return q.Suggest[n-1], nil
}

// showChanged shows the input that would run instead, and on a terminal asks about it.
func showChanged(ctx context.Context, a *app.App, op operator.Operator, id string, f approveFlags) error {
	q, err := findChanged(ctx, a, op, id, f.UpdatedInput)
	if err != nil {
		return err
	}
	above := app.Bold("this runs instead:") + "\n"
	if f.yes || !a.CanAsk() {
		app.Fprint(a, a.Err, "%s", above+a.QuestionText(*q, app.Width(a.Err)))
		return nil
	}
	return confirmed(a.RequestYes(ctx, *q, above, "allow it?", false))
}

// confirmed makes an error of anything but yes.
func confirmed(yes bool, err error) error {
	if err == nil && !yes {
		err = &operator.Error{Kind: operator.Refused, Op: "confirm", Msg: "nothing was decided"}
	}
	return err
}

// answerOne answers requests, or those of a group. scope is whom the rule of the answer is for.
func answerOne(ctx context.Context, a *app.App, op operator.Operator, ids []string, scope string, with decide.Answer) error {
	group := ""
	if len(ids) == 1 && (decide.IsGroup(ids[0]) || strings.Contains(ids[0], "(")) { // a pattern is no group's id, which is said there
		group, ids = ids[0], nil
	}
	bad := func(msg string) error {
		return &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: msg, Advice: "usage: waggle " + with.Via + " ID… | NAME | GROUP"}
	}
	switch {
	case group == "" && len(ids) == 0:
		return bad("name a request, a member or a group")
	case len(ids) > 1 && slices.ContainsFunc(ids, decide.IsGroup):
		return bad("name requests or one group, not both")
	case (len(ids) > 1 || group != "") && (with.Digest != "" || with.UpdatedInput != ""):
		return bad("--digest and --input go with one request")
	}
	if len(ids) == 1 && with.Words == nil {
		if done, err := askNamed(ctx, a, ids[0], with); done || err != nil {
			return err
		}
	}
	named := a.Flags.Team != ""
	op, name, err := teamOf(ctx, a, op, with.Via, ids, group)
	switch {
	case err != nil:
	case name == decide.SessionTeam:
		err = forSessions(with.Lesson, scope)
	case with.Lesson != nil && scope == scopeSessions:
		err = &operator.Error{Kind: operator.Usage, Op: with.Via, Msg: "--for sessions goes with a request of a session", Advice: "waggle policy sessions add '" + with.Lesson.Rule.String() + "'"}
	}
	if err != nil {
		return err
	}
	results, err := answers(ctx, op, name, ids, group, with)
	if err != nil {
		return err
	}
	if named && len(results) == 1 && decide.IsUnknown(results[0].Err()) {
		return elsewhere(ctx, op, name, ids[0], results[0].Err())
	}
	return sayLearned(ctx, a, op, name, results, with.Lesson)
}

// sayLearned makes the rule of answers, nil for none, unless all were refused, and prints what was decided and learned.
func sayLearned(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName, results []decide.Decided, lesson *decide.Lesson) error {
	doc := policyview.DecidedList{Results: results}
	var learned page.Page
	if lesson != nil && slices.ContainsFunc(results, decide.Decided.Allows) {
		var err error
		if doc.Policy, learned, err = learn(ctx, a, op, name, results, *lesson); err != nil {
			return errors.Join(err, sayDecided(a, name, results, nil, nil))
		}
	}
	return sayDecided(a, name, results, doc, learned)
}

// learn makes the rule of answers, and returns it as a document and as a page.
func learn(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName, results []decide.Decided, l decide.Lesson) (any, page.Page, error) {
	if name != decide.SessionTeam {
		c, err := decide.Of(op).Learn(ctx, name, results, l)
		if err != nil {
			return nil, nil, err
		}
		return c, policyview.PolicyChangePage(c, "rule "+l.Rule.String()), nil
	}
	var end *time.Time
	if at := l.End.UTC(); !l.End.IsZero() {
		end = &at
	}
	r, err := decide.Of(op).AddSessionRule(ctx, l.Rule, false, end)
	if err != nil {
		return nil, nil, err
	}
	return r, policyview.SessionRulesPage(r, a.Clock()), nil
}

// teamOf is the team of the requests, of the group or of the member that a command answers.
func teamOf(ctx context.Context, a *app.App, op operator.Operator, via string, ids []string, group string) (_ operator.Operator, name protocol.TeamName, err error) {
	if group != "" && a.Flags.Team == "" {
		if _, err := decide.Of(op).ShowGroup(ctx, decide.SessionTeam, group); operator.KindOf(err) != operator.NotFound {
			return op, decide.SessionTeam, err
		}
		if g, err := findGroup(ctx, a, op, group); err == nil {
			a.Flags.Team = g.Team
		}
	} else if sessions, err := toTeam(ctx, a, op, via, ids...); sessions || err != nil {
		return op, decide.SessionTeam, err
	}
	if op, name, err = a.Team(); operator.KindOf(err) != operator.Usage || len(ids) != 1 {
		return op, name, err
	}
	names, nerr := op.Names()
	if nerr != nil {
		return op, "", nerr
	}
	var of []string
	for _, n := range names {
		if _, ok := memberNamed(ctx, op, n, ids[0]); ok {
			of = append(of, string(n))
		}
	}
	if len(of) == 0 {
		return op, "", &control.UnknownRequestError{ID: protocol.RequestID(ids[0])}
	}
	return op, "", &operator.Error{Kind: operator.Usage, Op: via, Msg: fmt.Sprintf("%s is a member of %s: name the team", ids[0], strings.Join(of, ", ")),
		Advice: fmt.Sprintf("waggle %s %s --team %s", via, ids[0], of[0]), Near: protocol.Strings(names)}
}

func answers(ctx context.Context, op operator.Operator, name protocol.TeamName, ids []string, group string, with decide.Answer) ([]decide.Decided, error) {
	if group != "" {
		return decide.Of(op).DecideGroup(ctx, name, group, with)
	}
	answers := make([]decide.Answer, len(ids))
	for i, id := range ids {
		answers[i] = with
		answers[i].ID = id
	}
	return decide.Of(op).Decide(ctx, name, answers)
}

// sayDecided prints the result of each answer and what it changed, or with --json doc, unless that is nil. It returns the
// first refusal.
func sayDecided(a *app.App, name protocol.TeamName, results []decide.Decided, doc any, changed page.Page) error {
	var first error
	for _, r := range results {
		switch err := r.Err(); {
		case err != nil && first == nil:
			first = err
		case a.Flags.JSON:
		case err != nil:
			a.Talk("%s %s", app.Red("error:"), operator.Visible(err.Error()))
		default:
			a.Say("%s", a.Spelled(policyview.DecidedLine(r, a.Clock()), ""))
		}
	}
	if a.Flags.JSON && doc != nil {
		return cmp.Or(a.Document(doc), first)
	}
	a.ShowPage(changed, name, nil)
	return first
}

// scopeSessions is the scope of a rule that answers sessions' requests.
const scopeSessions = "sessions"

// forSessions refuses a rule for a team or one of its members.
func forSessions(l *decide.Lesson, scope string) error {
	switch {
	case l == nil, scope == scopeSessions && !l.Task:
		return nil
	case l.Task:
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a session has no task of waggle", Advice: "--until today, 8h, always"}
	}
	return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: "a session is in no team of waggle, so the rule has no member to be for", Advice: "--for sessions makes it a rule for sessions"}
}

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

// approveProposal shows a proposal that a person names, asks, and starts it. done is false where no proposal is named.
func approveProposal(ctx context.Context, a *app.App, op operator.Operator, ids []string, f approveFlags, start Start) (done bool, err error) {
	var q *decide.Request
	for _, id := range ids {
		if a.Flags.Team != "" || q != nil {
			break
		}
		_, err := decide.Of(op).Show(ctx, decide.SessionTeam, id)
		if decide.IsUnknown(err) {
			continue
		}
		if err == nil {
			q, err = find(ctx, a, op, id) // a team may have one of this name too, which is refused
		}
		if err != nil {
			return false, err
		}
		if q.Kind != decide.KindProposal || isMember(ctx, op, id) { // whoever writes a proposal can choose its handle
			q = nil
		}
	}
	usage := func(msg string) error {
		return &operator.Error{Kind: operator.Usage, Op: "approve", Msg: msg, Next: operator.Next{Step: operator.NextApproveOf, ID: q.Handle}}
	}
	switch {
	case q == nil:
		return false, nil
	case len(ids) > 1:
		return true, usage(q.Handle + " is a proposal: start each by itself")
	case f.UpdatedInput != "" || f.rule != "" || f.expires != "" || f.scope != "member":
		return true, usage(q.Handle + " is a proposal, which takes no rule and no other input")
	case f.Digest != "" && (len(f.Digest) < 16 || !strings.HasPrefix(q.Digest, f.Digest)):
		return true, &operator.Error{Kind: operator.Refused, Op: "approve", Msg: "the digest is not that of what " + q.Handle + " proposes", Next: operator.Next{Step: operator.NextShowAgain, ID: q.Handle}}
	case q.Status != decide.StatusOpen || f.yes:
	case !a.CanAsk():
		return true, &operator.Error{Kind: operator.Question, Op: "approve", Msg: q.Handle + " is a proposal, and nobody said that its text, which an agent wrote, may start a member",
			Advice: "waggle show " + q.Handle + " shows it whole; waggle approve " + q.Handle + " --yes starts it"}
	default:
		if err := confirmed(a.RequestYes(ctx, *q, "", "start it?", false)); err != nil {
			return true, err
		}
	}
	return true, start(ctx, a, *q)
}
