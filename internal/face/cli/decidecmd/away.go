package decidecmd

import (
	"context"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/decide"
)

// Away is `waggle away`: whether hooks that hold their client's own dialog back wait for the list.
func Away(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "away",
		Short: "Let questions of sessions wait for your answer from the list, or in their terminals only",
		Long: `Show whether you are away from the terminals of your sessions. Some clients show their own
dialog only after waggle's hook has ended: Codex always, Claude Code for teammates and
sub-agents. Such a hook waits for your answer from the list (30 s for Codex, two minutes
for a teammate) while you are away, or while a screen of waggle (waggle, waggle top) or
waggle pending --follow is open. Else it ends at once, so that the dialog is there without
delay; the request is then a row of waggle pending that its own terminal answers.

The dialog of Claude Code's main session is shown beside its hook and never waits for it.

--json: {"on","until","changed","attended"}; until is null without an end, attended says
whether somebody is there to answer, by this or by a screen.`,
		RunE: a.WithOp(func(_ context.Context, op operator.Operator, _ []string) error {
			w, err := decide.Of(op).Away()
			return sayAway(a, w, err)
		}),
	}
	var until string
	on, off := a.Turns("Let such questions wait for your answer from the list", "Let such questions be asked in their terminals at once", func(ctx context.Context, op operator.Operator, on bool) error {
		end, err := untilOf(a, until)
		if err != nil {
			return err
		}
		w, err := decide.Of(op).SetAway(ctx, on, end)
		return sayAway(a, w, err)
	})
	app.WhenVar(on.Flags(), &until, "until", "when it ends: 2h, 18:00, 2026-12-24 (default: with away off)")
	cmd.AddCommand(on, off)
	return cmd
}

func sayAway(a *app.App, w decide.Away, err error) error {
	if err != nil {
		return err
	}
	state, means := "off", ": a question that would hold its session's own dialog back is asked there at once"
	switch {
	case w.On:
		state, means = "on", ": questions of sessions wait for your answer from the list"
		if w.Until != nil {
			means = " until " + page.Clock(*w.Until, a.Clock()) + means
		}
	case w.Attended:
		means = ", and a screen or pending --follow is open: questions of sessions wait for your answer from the list while it is"
	}
	return a.Give(w, page.Page{{Line: page.Line{{Text: "away is "}, {Role: page.RoleStrong, Text: state}, {Text: means}}}})
}

// Attend says until release that a person sees here what waits. A failure is a note: what is shown is right all
// the same.
func Attend(a *app.App, op operator.Operator) (release func()) {
	done, err := decide.Of(op).Attend()
	if err != nil {
		a.Talk("%s sessions do not wait for your answer here: %s", app.Yellow("note:"), operator.VisibleLines(err.Error()))
		return func() {}
	}
	return func() { _ = done() } // the end of the process releases it, too
}
