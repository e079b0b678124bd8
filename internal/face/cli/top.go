package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/cli/teamcmd"
	"waggle/internal/face/tui"
	"waggle/internal/face/tui/live"
	"waggle/operator"
	"waggle/operator/fresh"
	"waggle/protocol"
)

func topCmd(a *app.App) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show all teams on the full screen, and answer there",
		Long: `Show all teams, or that of --team, on the full screen: what needs you, riskiest first,
then oldest; what works; what is done. Beside the list are the selected request, or the
member's output, changes, records and tasks. ? shows the keys.

A key answers only a request whose lines have all stood on the screen for half a second,
page by page, and only when no other key comes with it. A request of high risk is
allowed by typing its handle. Pasted text never answers. q leaves the screen and prints
the page of waggle, and the team goes on. While it is open, hooks of sessions wait for
your answer (waggle away).

Into a pipe, and on a terminal that cannot draw (TERM=dumb), it prints the page of waggle.

--plain is for screen readers, on any terminal: without columns, colours and cursor
movement, it writes each request as lines of text and asks about it, and writes what
changes. When a member is done it writes what the member has changed, and asks whether to
merge it; c comments on a line of it, s sends the comments.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if plain && a.CanAsk() {
				return topPlain(cmd.Context(), a)
			}
			return screenOrPage(cmd.Context(), a, plain)
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "lines of text, for screen readers")
	return cmd
}

// topTeam returns the operator of the screen, and the team of --team; "" for all. What is logged
// would destroy the screen.
func topTeam(a *app.App) (op operator.Operator, name protocol.TeamName, err error) {
	if op, err = a.Op(); err != nil {
		return op, "", err
	}
	op.Log = slog.New(slog.DiscardHandler)
	if a.Flags.Team != "" {
		name, err = op.Pick(a.Flags.Team)
	}
	return op, name, err
}

// fullScreen returns the terminal that the screen can be drawn on.
func fullScreen(a *app.App) (in, out *os.File, ok bool) {
	in, ok = a.In.(*os.File)
	out = app.File(a.Out)
	return in, out, ok && out != nil && app.Tty(in) && app.Tty(out) && a.Env("TERM") != "" && a.Env("TERM") != "dumb"
}

// screenOrPage shows the full screen on a terminal that can draw it, and then the page of waggle there; else the
// page alone, which is all of plain. A screen that a signal ended leaves none.
func screenOrPage(ctx context.Context, a *app.App, plain bool) error {
	if ended, err := teamcmd.Ended(ctx, a); ended {
		return err
	}
	if in, out, ok := fullScreen(a); ok && !plain && !a.Flags.JSON {
		if err := top(ctx, a, in, out); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return teamcmd.Bare(ctx, a)
}

func top(ctx context.Context, a *app.App, in, out *os.File) error {
	op, name, err := topTeam(a)
	if err != nil {
		return err
	}
	own, path, err := a.Keys()
	if err != nil {
		return err
	}
	keys, err := tui.KeyMap(own)
	if err != nil {
		return &operator.Error{Kind: operator.Usage, Op: "top", Err: fmt.Errorf("your settings in %s: %w", path, err)}
	}
	defer decidecmd.Attend(a, op)()
	src := liveOf(a, op, name)
	defer a.HoldScreen(in)()
	waiting, end := a.ScreenNotices(op, out)
	defer end()
	src.Waiting = waiting
	open := func(ctx context.Context, path string) (*exec.Cmd, error) {
		return editor(ctx, a, "top", path, "read it with waggle diff and answer with waggle send")
	}
	return tui.Run(ctx, tui.Options{Source: src, Keys: keys, Editor: open, Client: taker(a), Watch: src.Watch, Now: a.Now, In: in, Out: out, Environ: a.Environ,
		Profile: a.Profile(out), Explain: explained, Step: app.StepText})
}

// taker returns the command that takes a member's session: waggle take, whose process becomes the client.
func taker(a *app.App) func(ctx context.Context, team, member string) (*exec.Cmd, error) {
	return func(ctx context.Context, team, member string) (*exec.Cmd, error) {
		self, err := app.Relay()
		if err != nil {
			return nil, err
		}
		args := []string{"take", "--team", team}
		for flag, value := range map[string]string{"root": a.Flags.Root, "state": a.Flags.State, "config": a.Flags.Config} {
			if value != "" {
				args = append(args, "--"+flag, value)
			}
		}
		cmd := exec.CommandContext(ctx, self, append(args, "--", member)...)
		cmd.Env, cmd.Cancel = a.Environ, func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return cmd, nil
	}
}

// liveOf is what both faces of top show and do.
func liveOf(a *app.App, op operator.Operator, name protocol.TeamName) *live.Source {
	src := live.Of(op, name)
	src.Step = app.StepText
	src.First = func() (lines []string) {
		for _, f := range teamcmd.FirstOf(a) {
			lines = append(lines, f.What+": "+f.Does)
		}
		return lines
	}
	src.Confine = confined(op)
	src.Start = func(ctx context.Context, act tui.Act) ([]string, error) { return startFresh(ctx, a, op, name, act) }
	return src
}

// startFresh starts a new member with a task, as waggle new does. "exec: make test" names the agent. A
// setup that is not accepted is a *fresh.UnacceptedError, about which the screen asks.
func startFresh(ctx context.Context, a *app.App, op operator.Operator, team protocol.TeamName, act tui.Act) ([]string, error) {
	opt, err := newOptions(a, op)
	if err != nil {
		return nil, err
	}
	if team != "" {
		opt.Team = string(team)
	}
	opt.Note = nil // the screen has no place for notes
	opt.NoSetup, opt.Accept = act.NoSetup, fresh.AcceptShown(act.Setup)
	if act.Verb == tui.Allow { // a proposal, exactly as it was shown
		st, err := fresh.Of(op).Start(ctx, act.Requests[0].ID, act.Requests[0].Digest, opt)
		return startedLines(st, err)
	}
	w := fresh.Want{Task: act.Text}
	if kind, rest, ok := strings.Cut(act.Text, ": "); ok && slices.Contains(newAgents(), kind) {
		w.Agent, w.Task = kind, rest
	}
	return startedLines(fresh.Of(op).New(ctx, []fresh.Want{w}, opt))
}

// startedLines are the members that were started.
func startedLines(st *fresh.Started, err error) ([]string, error) {
	if st == nil {
		return nil, err
	}
	var lines []string
	for _, m := range st.Members {
		lines = append(lines, fmt.Sprintf("%s of team %s is %s", m.Name, st.Team, m.State))
	}
	return lines, errors.Join(err, notStarted(st))
}

// explained is an error in a line, with what to do next.
func explained(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if _, hint := app.Explain(err); hint != "" {
		return fmt.Sprintf("%s (%s)", text, hint)
	}
	return text
}
