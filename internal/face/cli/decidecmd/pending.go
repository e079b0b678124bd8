package decidecmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/backoff"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
)

func Pending(a *app.App) *cobra.Command {
	var all, long, follow bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the open requests, riskiest first, then oldest",
		Long: `List the open requests, riskiest first, then oldest. Without --team the list has the
requests of every team here and of every session of yours that has the hook (waggle hooks
install); a session has no team ("-"), and waggle does not gate its calls.

Requests of one risk are a group when their inputs are equal, when their commands begin
with the same words and have the same options (words that begin with -, + or @, or have a
=), or when only the file below one directory differs. The list shows each different input
of a group whole, and the group's id covers exactly that text and those requests: with one
request more or less the id differs. A group that is too long for the list has no id
there: show --group ID, with the id of any of its requests, prints all of it, and the id.

With --json: {"pending":[…],"groups":[…]}. An item of pending has team, id, kind, member,
instance, tool, input, cwd, reason, digest, risk, age_s, expires_at, status (open,
expired, unanswerable; with --all also decided, closed), and handle, the few
characters that every command takes for the id. A group has id, team, kind,
tool, pattern, risk, count, members, ids, age_s, batch (whether its id may answer it),
text (the lines that its id covers).

The command records nothing. Without a leader it also lists requests that no leader has
recorded yet, leaves out those that the rules answer, and shows one whose deadline has
passed as expired.

A session that waits at a dialog that only its own terminal answers is a row without an
ID: kind dialog, status unanswerable, and its reason says where to answer it.

--follow goes on, and prints each new request a line (--json: one item of pending a line)
until Ctrl-C. While it runs, hooks of sessions wait for your answer (waggle away).

When the process that asks has died, the list says so, and show has the details: you can
answer the request, and the answer waits for the next start of the process.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if follow {
				return followPending(cmd.Context(), a, all)
			}
			qs, of, several, err := waiting(cmd.Context(), a, all)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(view.Pending(qs))
			}
			if len(qs) == 0 {
				a.Talk("nothing waits for you %s", of)
				return nil
			}
			if all || long {
				a.ShowPage(view.PendingPage(qs, several, a.Now()), "", nil)
			} else {
				a.ShowPage(view.GroupPage(decide.Groups(qs), several, a.Now()), "", nil)
			}
			if slices.ContainsFunc(qs, func(q decide.Request) bool { return q.Kind != decide.KindDialog }) {
				a.Talk("%s waggle show ID | approve ID | deny ID -m REASON | approve GROUP", app.Faint("next:"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also answered requests")
	cmd.Flags().BoolVarP(&long, "long", "l", false, "a line for each request")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue, and show new requests")
	return cmd
}

// pendingEvery is how often followed requests are read: those of sessions lie in many directories.
const pendingEvery = time.Second

// followPending prints the open requests, and each new one, until ctx ends.
func followPending(ctx context.Context, a *app.App, all bool) error {
	if all {
		return &operator.Error{Kind: operator.Usage, Op: "pending", Msg: "--follow shows what is open: answered requests are in the list of --all, once"}
	}
	op, err := a.Op()
	if err != nil {
		return err
	}
	defer Attend(a, op)()
	ctx, stop := a.WhileShown(ctx)
	defer stop()
	tell := func([]decide.Request) {}
	if app.Tty(a.Err) {
		bell, end := a.ScreenNotices(op, app.File(a.Err))
		defer end()
		tell = bell
	}
	shown := map[string]bool{}
	for begun := false; ; begun = true {
		qs, of, several, err := waiting(ctx, a, false)
		switch {
		case ctx.Err() != nil:
			return nil // Ctrl-C is how one stops following
		case err != nil:
			return err
		case !begun && len(qs) == 0:
			a.Talk("nothing waits for you %s yet", of)
		}
		tell(qs)
		a.Flags.Quiet = true // what cannot be read is said once
		now := map[string]bool{}
		var fresh []decide.Request
		for _, q := range qs {
			key := q.Team + " " + q.Instance + " " + q.ID
			if now[key] = true; !shown[key] {
				fresh = append(fresh, q)
			}
		}
		shown = now
		if err := sayFresh(a, fresh, several); err != nil {
			return err
		}
		if !backoff.Pause(ctx, pendingEvery) {
			return nil
		}
	}
}

func sayFresh(a *app.App, qs []decide.Request, several bool) error {
	if !a.Flags.JSON {
		if len(qs) > 0 {
			a.ShowPage(view.PendingPage(qs, several, a.Now()), "", nil)
		}
		return nil
	}
	for _, item := range view.Pending(qs).Pending {
		if err := a.Line(item); err != nil {
			return err
		}
	}
	return nil
}

func Show(a *app.App) *cobra.Command {
	var group bool
	cmd := &cobra.Command{
		Use:   "show ID | NAME | GROUP | PATTERN",
		Short: "Show a request whole, or all of a group with its id",
		Long: `Show a request whole: without cuts, with invisible characters as codes, and a + before the
continuation of a wrapped line. ID is a request's handle or id, which may be shortened
while it names one request only; or the name of a member with one open request.

A group is named by its id, by a pattern that pending shows ('Bash(go test:*)'), or
with --group by one of its requests. The command prints all of it, and last the id that
approve takes.

--json has the fields of pending and host, port, plan, revision, hash, task, command,
because, pattern, suggest, suggest_matched, suggest_calls, trust, votes, asker, answer; of
a tool call also what its digest covers beside the input: stdin, env, held (waggle runs
the call itself), program, words, scripts, paths; else unheld. Of a group
{"group","requests"}.`,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, args []string) error {
			if group || decide.IsGroup(args[0]) || strings.Contains(args[0], "(") {
				return showGroup(ctx, a, op, args[0])
			}
			q, err := look(ctx, a, op, args[0])
			if err == nil && q.Status == decide.StatusOpen {
				err = decide.Of(op).Weigh(ctx, q)
			}
			if err != nil {
				return err
			}
			return showQuestion(a, *q)
		}),
	}
	cmd.Flags().BoolVarP(&group, "group", "g", false, "show the whole group of this request")
	return cmd
}

// showGroup prints all of a group, and last its id: a person who has not read to the end has no id
// to answer with.
func showGroup(ctx context.Context, a *app.App, op operator.Operator, word string) error {
	g, err := findGroup(ctx, a, op, word)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(map[string]any{"group": g, "requests": g.Requests})
	}
	for _, l := range app.WrapAll(g.Text, app.Width(a.Out)) {
		a.Say("%s", l)
	}
	for _, q := range g.Requests {
		a.Say("\n%s", a.QuestionText(q, app.Width(a.Out)))
	}
	if !g.Batch {
		a.Say("\n%s", app.Faint("each is answered by its id"))
		return nil
	}
	a.Say("\n%s %s", app.Bold("group   "), g.ID)
	return nil
}

func showQuestion(a *app.App, q decide.Request) error {
	return a.Give(q, nil, func() { a.Say("%s", a.QuestionText(q, app.Width(a.Out))) })
}
