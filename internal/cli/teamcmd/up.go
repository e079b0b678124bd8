package teamcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/spawn"
)

// leadFlags are the flags of commands that bring members up.
type leadFlags struct {
	detach bool
	lo     supervise.LeadOptions
}

func (l *leadFlags) add(cmd *cobra.Command, detach bool) {
	f := cmd.Flags()
	if detach {
		f.BoolVarP(&l.detach, "detach", "d", false, "lead in the background; the command ends when all are ready")
	}
	f.DurationVar(&l.lo.Ready, "ready", 30*time.Second, "how long a start may take until the member is ready")
	f.BoolVar(&l.lo.Accept, "accept", false, "take a member whose model, mode or directory is not what was asked for")
}

func Up(a *app.App) *cobra.Command {
	var l leadFlags
	cmd := &cobra.Command{
		Use:   "up [FILE]",
		Short: "Bring up a team and keep it up",
		Long: `Bring up the team in FILE and lead it: start its members, assign their tasks, ask you
what the policy does not decide, restart members whose process has died. When you name
the file, you consent to its content. Without FILE, the command shows the meaning and the
text of ./waggle.yaml on a terminal, and asks.

The command leads until the team ends: by Ctrl-C here, or by waggle down. With
--detach, or after waggle detach, or when its terminal goes away, it leads in the
background. When a leader dies, the members run on; waggle resume
takes its place.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.GraceSaid(cmd, &l.lo.Grace); err != nil {
				return err
			}
			f, err := teamFile(cmd.Context(), a, "up", args, false)
			if err != nil {
				return err
			}
			return up(cmd.Context(), a, f, l)
		},
	}
	l.add(cmd, true)
	cmd.Flags().DurationVar(&l.lo.Grace, "grace", 10*time.Second, "time for members to end by themselves")
	return cmd
}

func up(ctx context.Context, a *app.App, f *teamfile.File, l leadFlags) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	if f.Sandbox == "" || f.Sandbox == "off" || f.Sandbox == "auto" {
		a.Notes([]string{"no sandbox: members run as you, level cooperative"})
	}
	attend(a, &l)
	l.lo.Whole = true
	s, err := supervise.Of(op).Prepare(ctx, f, l.lo.Attended, a.SayNote)
	if err != nil {
		return err
	}
	defer s.Settled()
	if l.detach {
		if err = background(ctx, a, op, s, l.lo); err == nil {
			return raised(ctx, a, op, s)
		}
	} else {
		err = keep(ctx, a, op, s, f, l.lo)
	}
	if err != nil && !isUp(op, ctx, s) {
		a.Talk("%s ending what came up", app.Faint("note:"))
		err = errors.Join(err, supervise.Of(op).Abandon(context.WithoutCancel(ctx), s, time.Second, a.SayNote))
	}
	return err
}

// isUp reports a team that came up whole, or has ended.
func isUp(op operator.Operator, ctx context.Context, s *operator.State) bool {
	if err := s.Journal.Refresh(context.WithoutCancel(ctx)); err != nil {
		return true // the state is not known, so nothing is ended
	}
	return s.Lead.Ended != nil || s.Lead.Led != nil && s.Lead.Led.Up
}

// attend sets whether a person uses this terminal.
func attend(a *app.App, l *leadFlags) {
	l.lo.Note = a.SayNote
	if app.Tty(a.In) && app.Tty(a.Err) {
		l.lo.Attended = true
		if !l.detach && a.CanAsk() {
			l.lo.Ask = a.Ask
		}
	}
}

// keep leads a team in the foreground.
func keep(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, f *teamfile.File, lo supervise.LeadOptions) error {
	lo.Up = func(s *operator.State) {
		a.Talk("%s team %s is up: %d ready; Ctrl-C ends it, waggle detach%s leaves it running", app.Green("note:"), s.Team, len(s.Lead.Live()), a.Scope(s.Team))
	}
	hurry, stop := hurry(ctx, a)
	defer stop()
	lo.Hurry = hurry
	defer onHangup(ctx, op, s)()
	how, err := supervise.Of(op).Keep(ctx, s, f, lo)
	if err != nil {
		return err
	}
	switch how {
	case supervise.LedDetached:
		lo.Whole = false // the team is up
		if err := background(context.WithoutCancel(ctx), a, op, s, lo); err != nil {
			return err
		}
		a.Talk("%s detached: the members go on; waggle attach%s comes back", app.Faint("note:"), a.Scope(s.Team))
	case supervise.LedEnded:
		if a.Flags.JSON {
			return a.Document(map[string]string{"team": string(s.Team), "state": "ended"})
		}
		a.Say("team %s has ended; its history is in %s", s.Team, s.Dir.Path)
	}
	return nil
}

// hurry is closed by a second Ctrl-C, after the one that has ended ctx. stop ends the
// watch for it.
func hurry(ctx context.Context, a *app.App) (hurry <-chan struct{}, stop func()) {
	again, done, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		if a.Flags.Quiet || !app.Tty(a.In) {
			return
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		defer signal.Stop(c)
		select {
		case <-done:
		case <-c:
			a.Talk("%s ending what is left by signal", app.Faint("note:"))
			close(again)
		}
	}()
	return again, func() {
		close(done)
		<-ended
	}
}

// background starts a process without a terminal that leads, and waits until all members are ready.
func background(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, lo supervise.LeadOptions) error {
	args := []string{op.Self, "lead", "--root", op.RootURL, "--state", op.Home.Path, "--team", string(s.Team), "--ready", lo.Ready.String()}
	if a.Flags.Config != "" {
		args = append(args, "--config", a.Flags.Config)
	}
	if lo.Accept {
		args = append(args, "--accept")
	}
	if lo.Attended {
		args = append(args, "--attended")
	}
	if lo.Whole {
		args = append(args, "--whole")
	}
	err := supervise.Of(op).Background(ctx, s, supervise.Background{Argv: args, Env: a.Environ, Note: a.SayNote})
	var ended *supervise.LeaderEndedError
	if errors.As(err, &ended) {
		return &operator.Error{Kind: app.KindOfExit(ended.Exit.Code), Op: "lead", Err: err, Advice: "its log is " + ended.Log}
	}
	return err
}

// raised prints what is up.
func raised(ctx context.Context, a *app.App, op operator.Operator, s *operator.State) error {
	if a.Flags.JSON {
		st, err := inspect.Of(op).Status(ctx, s.Team)
		if err != nil {
			return err
		}
		return a.Document(view.Status(st))
	}
	return status(ctx, a, op, s.Team)
}

// Lead is the hidden command that up, resume and detach start in the background.
func Lead(a *app.App) *cobra.Command {
	var l leadFlags
	cmd := &cobra.Command{
		Use:    "lead",
		Short:  "Lead a team without a terminal (started by waggle itself)",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, err := a.Op()
			if err != nil {
				return err
			}
			name, err := waggle.ParseTeam(a.Flags.Team)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "lead", Err: err}
			}
			s, err := op.State(cmd.Context(), name)
			if err == nil && s == nil {
				err = &operator.Error{Kind: operator.NotFound, Op: "lead", Msg: "there is no team " + string(name)}
			}
			if err != nil {
				return err
			}
			if err := spawn.Subreaper(); err != nil {
				return err
			}
			stop := spawn.Reap(func(err error) { unreaped(a, err) })
			defer stop()
			defer withoutHangup()()
			l.lo.Detached, l.lo.Note = true, a.SayNote
			_, err = supervise.Of(op).Keep(cmd.Context(), s, nil, l.lo)
			return err
		},
	}
	l.add(cmd, false)
	cmd.Flags().BoolVar(&l.lo.Whole, "whole", false, "a member that does not come up is an error")
	cmd.Flags().BoolVar(&l.lo.Attended, "attended", false, "somebody looks at the multiplexer it runs in")
	return cmd
}

func Resume(a *app.App) *cobra.Command {
	var l leadFlags
	var dry, accepted bool
	cmd := &cobra.Command{
		Use:   "resume [TEAM]",
		Short: "Resume a team whose processes have died",
		Long: `Resume a team after a crash: every member whose process is gone is restarted with its
session id, and continues its turn. Tasks, messages and open requests keep their ids and
states. A member that still runs is supervised again, never started twice. A call that
was started and has no recorded end is shown as unknown, and not run again. The accepted
team file applies; when the file has changed since, the command shows the change, in its
meaning and in its text, and asks.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.GraceSaid(cmd, &l.lo.Grace); err != nil {
				return err
			}
			op, name, err := a.TeamArg(args)
			if err != nil {
				return err
			}
			return resume(cmd.Context(), a, op, name, l, dry, accepted)
		},
	}
	l.add(cmd, true)
	f := cmd.Flags()
	f.DurationVar(&l.lo.Grace, "grace", 10*time.Second, "time for members to end by themselves, at the end")
	f.BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	f.BoolVar(&accepted, "accepted", false, "go on with the team file as it was accepted, although it has changed")
	return cmd
}

func resume(ctx context.Context, a *app.App, op operator.Operator, name waggle.TeamName, l leadFlags, dry, accepted bool) error {
	s, p, err := supervise.Of(op).PlanResume(ctx, name)
	if err != nil {
		return err
	}
	if dry {
		return a.Give(view.Resume(p), view.ResumePage(p))
	}
	if p.Changed && !accepted {
		if err := askChanged(ctx, a, s, op, p); err != nil {
			return err
		}
	}
	attend(a, &l)
	switch {
	case p.Led && p.PID != 0:
		if p.Starts() == 0 {
			a.Say("team %s is led by process %d and every member runs: there is nothing to resume", name, p.PID)
			return nil
		}
		if err := supervise.Of(op).Restart(ctx, s, l.lo); err != nil {
			return err
		}
		return raised(ctx, a, op, s)
	case l.detach:
		if err := background(ctx, a, op, s, l.lo); err != nil {
			return err
		}
		if err := raised(ctx, a, op, s); err != nil {
			return err
		}
		return supervise.Absent(s)
	}
	a.ShowPage(view.ResumePage(p), "", nil)
	return keep(ctx, a, op, s, nil, l.lo)
}

// comeBack takes over a team that a background process leads.
func comeBack(ctx context.Context, a *app.App) error {
	op, name, err := a.Team()
	if err != nil {
		return err
	}
	s, p, err := supervise.Of(op).PlanResume(ctx, name)
	if err != nil {
		return err
	}
	if d, err := inspect.Of(op).Digest(ctx, string(name), time.Time{}); err == nil && !a.Flags.JSON {
		a.ShowPage(view.DigestPage(d, a.Now().Local()), waggle.TeamName(d.Team), nil) // what happened meanwhile; without it the team is led all the same
	}
	if err := supervise.Of(op).TakeLead(ctx, s); err != nil {
		return err
	}
	if p.Starts() > 0 {
		a.ShowPage(view.ResumePage(p), "", nil)
	}
	var l leadFlags
	attend(a, &l)
	return keep(ctx, a, op, s, nil, l.lo)
}

// askChanged shows how the team file differs from the accepted one, and asks whether to continue
// with the accepted one.
func askChanged(ctx context.Context, a *app.App, s *operator.State, op operator.Operator, p *supervise.ResumePlan) error {
	change, err := supervise.Of(op).FileChange(s)
	if err != nil {
		return err
	}
	if !a.CanAsk() {
		return &operator.Error{Kind: operator.Question, Op: "resume", Msg: p.File + " has changed since it was accepted, and nobody is here to ask",
			Advice: "--accepted goes on with what was accepted; waggle down and up take the new one"}
	}
	yes, err := a.Yes(ctx, view.FileChangeText(change), "go on with what was accepted?")
	if err != nil {
		return err
	}
	if !yes {
		return &operator.Error{Kind: operator.Refused, Op: "resume", Msg: "not resumed", Advice: "waggle down and up take the new file"}
	}
	return nil
}

func Detach(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "detach [TEAM]",
		Short: "Leave a team running in the background",
		Long: `Have the waggle up or resume that leads a team in a terminal hand over to a process in
the background, and end. The members run on.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.TeamArg(args)
			if err != nil {
				return err
			}
			s, err := supervise.Of(op).Detach(cmd.Context(), name)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(map[string]any{"team": string(name), "state": "detached", "pid": s.Lead.Led.ID.PID})
			}
			a.Say("team %s is led in the background by process %d", name, s.Lead.Led.ID.PID)
			return nil
		},
	}
}
