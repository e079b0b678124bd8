package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/decide"
)

func pendingCmd(a *App) *cobra.Command {
	var all, long bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List what waits for your decision, riskiest first, then oldest",
		Long: `List what waits for your decision, riskiest first, then oldest. Without --team that is
every team here and every session of yours that has the hook (waggle hooks install); a
session has no team ("-"), and its questions gate nothing. Requests of one
risk are a group when their inputs are equal, when their commands begin with the same
words and have the same options (words that begin with -, + or @, or have a =), or when
only the file below one directory differs. Each different input of a group is shown
whole, and the group's id stands for exactly that text and those requests: when one
comes or goes, the id is another. Of a group that is too long for the list no id is
shown: show --group ID, with the id of any request of it, prints all of it, and the id.

With --json: {"pending":[…],"groups":[…]}. An item of pending has team, id, kind, member,
instance, tool, input, cwd, reason, digest, risk, age_s, expires_at, status (open,
expired, unanswerable; with --all also decided, closed), and handle, the few
characters that every command takes for the id. A group has id, team, kind,
tool, pattern, risk, count, members, ids, age_s, batch (whether --group may answer it), text
(the lines that its id stands for).

It records nothing: when nobody leads, questions that no leader has taken in are listed,
those that the rules answer are not, and one whose deadline has passed is expired.

When the process that asks has died, the list says so and show says more: the question
can be answered, and the answer waits for the next start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			qs, of, err := a.waiting(cmd.Context(), all)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.document(view.Pending(qs, a.Now()))
			}
			if len(qs) == 0 {
				a.talk("nothing waits for you %s", of)
				return nil
			}
			if all || long {
				a.show(view.PendingPage(qs, a.Now()), "", nil)
			} else {
				a.show(view.GroupPage(decide.Groups(qs), a.Now()), "", nil)
			}
			a.talk("%s waggle show ID | approve ID | deny ID -m REASON | approve --group ID", faint("next:"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what was answered")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "a line for each request")
	return cmd
}

func showCmd(a *App) *cobra.Command {
	var group bool
	cmd := &cobra.Command{
		Use:   "show ID | GROUP | PATTERN",
		Short: "Show a request whole, or all of a group and its id: what you would be allowing",
		Long: `Show a request whole: what you would be allowing. Nothing is cut, characters that
cannot be seen are written out, and a line that is wrapped goes on behind a +. ID is a
request's handle or id; the beginning of an id is enough when only one begins so.

A group is named by its id, by a pattern that pending shows ('Bash(go test:*)'), or
with --group by a request of it. All of it is printed, and last the id that
approve --group takes.

--json has the fields of pending and host, port, plan, revision, hash, task, command,
pattern, suggest, trust, votes, asker, answer; of a tool call also what its digest covers
beside the input: stdin, env, held (waggle runs the call itself), program, words, scripts,
paths; else unheld. Of a group {"group","requests"}.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRequests,
		RunE: func(cmd *cobra.Command, args []string) error {
			if group || decide.IsGroup(args[0]) || strings.Contains(args[0], "(") {
				return a.showGroup(cmd.Context(), args[0])
			}
			q, err := a.find(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.showQuestion(*q)
		},
	}
	cmd.Flags().BoolVarP(&group, "group", "g", false, "the whole group of this request")
	return cmd
}

// showGroup prints all of a group, and last its id: who stops reading before has
// nothing to answer it by.
func (a *App) showGroup(ctx context.Context, word string) error {
	g, err := a.findGroup(ctx, word)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.document(view.GroupShown{Group: view.Group(*g, a.Now()), Requests: view.Questions(g.Questions, a.Now())})
	}
	for _, l := range wrapAll(g.Text, width(a.Out)) {
		a.say("%s", l)
	}
	for _, q := range g.Questions {
		a.say("\n%s", questionText(q, width(a.Out)))
	}
	if !g.Batch {
		a.say("\n%s", faint("each is answered by its id"))
		return nil
	}
	a.say("\n%s %s", bold("group   "), g.ID)
	return nil
}

func (a *App) showQuestion(q decide.Question) error {
	if a.flags.json {
		return a.document(view.Question(q, a.Now()))
	}
	a.say("%s", questionText(q, width(a.Out)))
	return nil
}

// questionText shows everything a decision is about; nothing decisive is cut and
// hidden characters are written out. Text of agents never begins a line: what is
// wider than total columns, 0 for any number, goes on behind a mark.
func questionText(q decide.Question, total int) string {
	var b strings.Builder
	row := func(k, v string) {
		for i, l := range wrap(operator.Visible(v), total-11) {
			head := bold(fmt.Sprintf("%-8s", k))
			if i > 0 {
				head = strings.Repeat(" ", 8) + " +"
			}
			fmt.Fprintf(&b, "%s %s\n", head, l)
		}
	}
	block := func(k, text string) {
		fmt.Fprintf(&b, "%s\n", bold(k))
		for _, l := range strings.Split(text, "\n") {
			for _, l := range wrapAll([]string{"  | " + operator.Visible(l)}, total) {
				fmt.Fprintf(&b, "%s\n", l)
			}
		}
	}
	for _, f := range view.QuestionFields(q) {
		if f.Block {
			block(f.Name, f.Text)
		} else {
			row(f.Name, f.Text)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
