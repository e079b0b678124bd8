package teamcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/fileview"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// leadFlags are the flags of commands that bring members up.
type leadFlags struct {
	detach bool
	budget budgetFlags // of the run
	lo     supervise.LeadOptions
}

func (l *leadFlags) add(cmd *cobra.Command, detach bool) {
	f := cmd.Flags()
	if detach {
		f.BoolVarP(&l.detach, "detach", "d", false, "lead in the background; the command ends when all members are ready")
	}
	f.DurationVar(&l.lo.Ready, "ready", 30*time.Second, "how long a member may take to become ready")
	f.BoolVar(&l.lo.Accept, "accept", false, "keep a member whose model, mode or directory is not as requested")
}

func Up(a *app.App) *cobra.Command {
	var l leadFlags
	var plan bool
	var report string
	cmd := &cobra.Command{
		Use:   "up [FILE]",
		Short: "Start a team and lead it",
		Long: `Start the team in FILE and lead it: start its members, assign their tasks, ask you about
the calls that the policy does not decide, restart members whose process has died. When
you name the file, you consent to its content. Without FILE, the command shows the meaning
and the text of ./waggle.yaml on a terminal, and asks.

The command leads until the team ends: by Ctrl-C here, or by waggle down. With --detach,
or after waggle detach, or when its terminal closes, it leads in the background. When a
leader dies, the members run on, and waggle resume leads them again.

The command shows a report when the team ends, and exits as waggle down does.
` + reportHelp + `

--json with --detach is as for status; without it {"team","state"} at the end; with --plan
{"file","sha256","team","members","tasks","meaning"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if plan {
				return planFile(cmd.Context(), a, args)
			}
			if report != "" && l.detach {
				return &operator.Error{Kind: operator.Usage, Op: "up", Msg: "--report is written when the team ends, which --detach does not wait for", Advice: "waggle down --report " + report}
			}
			op, f, err := teamFile(cmd.Context(), a, "up", args, false)
			if err != nil {
				return err
			}
			return up(cmd.Context(), a, op, f, l, report)
		},
	}
	l.add(cmd, true)
	l.budget.add(cmd)
	app.PlanFlag(cmd, &plan, "show what the team file means, and start nothing")
	reportFlag(cmd, &report)
	a.GraceFlag(cmd, &l.lo.Grace, "time for members to end by themselves")
	return cmd
}

func up(ctx context.Context, a *app.App, op operator.Operator, f *teamfile.File, l leadFlags, report string) error {
	attend(a, &l)
	l.lo.Whole = true
	s, err := supervise.Of(op).Prepare(ctx, f, l.lo.Attended, a.SayNote)
	if err != nil {
		return err
	}
	defer s.Settled()
	if limit := l.budget.limit(); limit != nil { // no process runs yet
		if err := supervise.Of(op).SetBudget(ctx, f.Team, record.ScopeRun, "", limit); err != nil {
			return errors.Join(err, supervise.Of(op).Abandon(context.WithoutCancel(ctx), s, time.Second, a.SayNote))
		}
	}
	if l.detach {
		if err = background(ctx, a, op, s, l.lo); err == nil {
			return raised(ctx, a, op, s)
		}
	} else {
		err = keep(ctx, a, op, s, f, l.lo, report)
	}
	if err != nil && !isUp(ctx, s) {
		a.Talk("%s ending what came up", app.Faint("note:"))
		err = errors.Join(err, supervise.Of(op).Abandon(context.WithoutCancel(ctx), s, time.Second, a.SayNote))
	}
	return err
}

// isUp reports a team that came up whole, or has ended.
func isUp(ctx context.Context, s *operator.State) bool {
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
func keep(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, f *teamfile.File, lo supervise.LeadOptions, report string) error {
	lo.Up = func(s *operator.State) {
		a.Talk("%s team %s is up: %d ready, sandbox %s; Ctrl-C ends it, waggle detach%s leaves it running", app.Green("note:"), s.Team, len(s.Lead.Live()), inspect.SandboxOf(s), a.Scope(s.Team))
	}
	hurry, stop := hurry(ctx, a)
	defer stop()
	lo.Hurry = hurry
	defer a.OnHangup(ctx, func(ctx context.Context) { leaveTerminal(ctx, op, s) })()
	how, err := led(ctx, a, op, s, f, lo)
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
		if err := a.Give(map[string]string{"team": string(s.Team), "state": "ended"}, nil, func() { a.Say("team %s has ended; its history is in %s", s.Team, s.Dir.Path) }); err != nil {
			return err
		}
		return sayEnd(ctx, a, op, s.Team, operator.None, false, report)
	}
	return nil
}

// led leads a team, and tells the person of what waits meanwhile.
func led(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, f *teamfile.File, lo supervise.LeadOptions) (how string, err error) {
	waiting, end := a.Notices(op)
	lo.Waiting = waiting
	how, err = supervise.Of(op).Keep(ctx, s, f, lo)
	end(err == nil && how == supervise.LedEnded)
	return how, err
}

// leaveTerminal makes the loss of the terminal mean the same as waggle detach: the process that leads
// hands over to one in the background.
func leaveTerminal(ctx context.Context, op operator.Operator, s *operator.State) {
	if err := supervise.Of(op).LeaveTerminal(ctx, s); err != nil && !errors.Is(err, context.Canceled) {
		op.Log.Error("the terminal is gone, and the team is not led from the background", "team", s.Team, "err", err)
	}
}

// hurry is closed by a second Ctrl-C, after the one that has ended ctx. stop ends the
// watch for it.
func hurry(ctx context.Context, a *app.App) (hurry <-chan struct{}, stop func()) {
	again := make(chan struct{})
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	var ended sync.WaitGroup
	ended.Go(func() {
		select {
		case <-watch.Done():
			return
		case <-ctx.Done():
		}
		if a.Flags.Quiet || !app.Tty(a.In) {
			return
		}
		second, stop := signal.NotifyContext(watch, os.Interrupt)
		defer stop()
		if <-second.Done(); watch.Err() == nil {
			a.Talk("%s ending what is left by signal", app.Faint("note:"))
			close(again)
		}
	})
	return again, func() {
		end()
		ended.Wait()
	}
}

// Own is the command line of a command of this program for a team, with the files of this invocation.
func Own(a *app.App, op operator.Operator, command string, team protocol.TeamName) []string {
	args := []string{op.Self, command, "--root", op.RootURL, "--state", op.Home.Path, "--team", string(team)}
	if a.Flags.Config != "" {
		args = append(args, "--config", a.Flags.Config)
	}
	return args
}

// background starts a process without a terminal that leads, and waits until all members are ready.
func background(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, lo supervise.LeadOptions) error {
	args := append(Own(a, op, "lead", s.Team), "--ready", lo.Ready.String())
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
	if ended, ok := errors.AsType[*supervise.LeaderEndedError](err); ok {
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
	return status(ctx, a, op, s.Team, false)
}

// Lead is the hidden command that up, resume and detach start in the background.
func Lead(a *app.App) *cobra.Command {
	var l leadFlags
	cmd := &cobra.Command{
		Use:    "lead",
		Short:  "Lead a team without a terminal (started by waggle itself)",
		Hidden: true,
		RunE: a.WithOp(func(ctx context.Context, op operator.Operator, _ []string) error {
			name, err := protocol.ParseTeam(a.Flags.Team)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "lead", Err: err}
			}
			s, err := op.Open(ctx, name, operator.Act)
			if err != nil {
				return err
			}
			if err := spawn.Subreaper(); err != nil {
				return err
			}
			stop := spawn.Reap(func(err error) { unreaped(a, err) })
			defer stop()
			defer app.OnSignal(syscall.SIGHUP, func(context.Context) {})() // it does not end with its session, and the programs that it starts do
			l.lo.Detached, l.lo.Note = true, a.SayNote
			_, err = led(ctx, a, op, s, nil, l.lo)
			return err
		}),
	}
	l.add(cmd, false)
	cmd.Flags().BoolVar(&l.lo.Whole, "whole", false, "a member that does not come up is an error")
	cmd.Flags().BoolVar(&l.lo.Attended, "attended", false, "a person uses the terminal multiplexer in which it runs")
	return cmd
}

func Resume(a *app.App) *cobra.Command {
	var l leadFlags
	var dry, accepted bool
	cmd := &cobra.Command{
		Use:   "resume [TEAM|NAME]",
		Short: "Resume a team whose processes have died",
		Long: `Resume a team after a crash. The command starts every member whose process is gone again,
with its session id, and the member continues its turn. Tasks, messages and open requests
keep their ids and states. A member that still runs is supervised again, never started
twice. A call that was started and has no recorded end is shown as unknown, and not run
again. The accepted team file applies; when the file has changed since, the command shows
the change, in its meaning and in its text, and asks.

A team whose work was stopped (waggle stop --all) goes on, also where it is led.

NAME is a member of a team that is led: only that member is started again, also after its
setup failed or after too many deaths. One that has left (waggle stop, a merge, its own
agreement) is a member again: in its session, with its log, and in its worktree, or in a
new one where nothing was left in it. What it was allowed before does not hold any more,
and its tasks stay given back.

--json with --plan: {"team","led","pid","halted","members":[{"name","action","session",
"pid","why"}],"file_changed","file","open_tasks","undelivered","pending","unknown",
"leftover"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, member, err := teamOrMember(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			s, p, err := supervise.Of(op).PlanResume(cmd.Context(), name)
			if err != nil {
				return err
			}
			if dry {
				if member != "" {
					p.PlanReturn(s, member)
				}
				return a.Give(p, view.ResumePage(p))
			}
			if member != "" {
				return resumeMember(cmd.Context(), a, op, s, member, l)
			}
			return resume(cmd.Context(), a, op, s, p, l, accepted)
		},
	}
	l.add(cmd, true)
	f := cmd.Flags()
	a.GraceFlag(cmd, &l.lo.Grace, "time for members to end by themselves, at the end")
	app.PlanFlag(cmd, &dry, "show what resume would do, and change nothing")
	f.BoolVar(&accepted, "accepted", false, "continue with the team file as it was accepted, although it has changed")
	return cmd
}

// teamOrMember reads an argument that names a team, or else a member of the team that --team, the
// directory or the only team says.
func teamOrMember(ctx context.Context, a *app.App, args []string) (op operator.Operator, team protocol.TeamName, member string, err error) {
	op, team, member, err, terr := a.TeamOr(args)
	if member == "" {
		return op, team, "", err
	}
	if terr != nil {
		if all, oerr := a.Op(); oerr == nil {
			if with, werr := inspect.Of(all).TeamsWith(ctx, member); werr == nil && len(with) > 0 {
				err = terr // a member, and no team is chosen
			}
		}
		return op, "", "", err
	}
	s, terr := op.Open(ctx, team, operator.Act)
	if terr != nil {
		return op, "", "", err
	}
	_, left := operator.Departed(s, member)
	if _, terr := decide.Member(s, member); terr != nil && !left {
		if a.Flags.Team != "" {
			err = terr
		}
		return op, "", "", err
	}
	return op, team, member, nil
}

// resumeMember starts one member of a team that is led.
func resumeMember(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, member string, l leadFlags) error {
	attend(a, &l)
	started, err := supervise.Of(op).RestartMember(ctx, s, member, l.lo)
	switch {
	case err != nil:
		return err
	case !started:
		a.Say("%s runs: there is nothing to resume", member)
		return nil
	}
	return raised(ctx, a, op, s)
}

// resume resumes a team, as p says.
func resume(ctx context.Context, a *app.App, op operator.Operator, s *operator.State, p *supervise.ResumePlan, l leadFlags, accepted bool) error {
	if p.Changed && !accepted {
		if err := askChanged(ctx, a, s, op, p); err != nil {
			return err
		}
	}
	attend(a, &l)
	for p.Led && p.PID != 0 {
		err := supervise.Of(op).Restart(ctx, s, l.lo)
		switch {
		case errors.Is(err, supervise.ErrNotLed): // it was killed just before, or meanwhile
			if s, p, err = supervise.Of(op).PlanResume(ctx, s.Team); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		halted, err := goOn(ctx, a, op, s)
		switch {
		case err != nil:
			return err
		case p.Starts() == 0 && halted:
			return nil
		case p.Starts() == 0:
			a.Say("team %s is led by process %d and every member runs: there is nothing to resume", s.Team, p.PID)
			return nil
		}
		return raised(ctx, a, op, s)
	}
	if _, err := goOn(ctx, a, op, s); err != nil {
		return err
	}
	if l.detach {
		if err := background(ctx, a, op, s, l.lo); err != nil {
			return err
		}
		if err := raised(ctx, a, op, s); err != nil {
			return err
		}
		return supervise.Absent(s)
	}
	a.ShowPage(view.ResumePage(p), "", nil)
	return keep(ctx, a, op, s, nil, l.lo, "")
}

// goOn lets a team whose work was stopped go on, and names the members that were ended meanwhile.
func goOn(ctx context.Context, a *app.App, op operator.Operator, s *operator.State) (halted bool, err error) {
	h := s.Lead.Halt
	if halted, err = process.Of(op).GoOn(ctx, s); err != nil || !halted {
		return halted, err
	}
	a.Say("team %s goes on", s.Team)
	for _, m := range s.Lead.Members {
		if now, ok := s.Lead.Member(m.Name); ok && now == m && m.Left != nil && m.Left.How == record.LeftStopped && m.LeftAt.After(h.At) {
			a.Talk("%s was ended meanwhile: %s", m.Name, app.StepText(operator.Next{Step: operator.NextBringBack, Team: s.Team, Member: m.Name}))
		}
	}
	return true, nil
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
	if d, err := inspect.Of(op).Recap(ctx, string(name), time.Time{}); err == nil && !a.Flags.JSON {
		a.ShowPage(view.RecapPage(a.Clock(), d), protocol.TeamName(d.Team), nil) // what happened meanwhile; without it the team is led all the same
	}
	if err := supervise.Of(op).TakeLead(ctx, s); err != nil {
		return err
	}
	if p.Starts() > 0 {
		a.ShowPage(view.ResumePage(p), "", nil)
	}
	var l leadFlags
	attend(a, &l)
	return keep(ctx, a, op, s, nil, l.lo, "")
}

// askChanged shows how the team file differs from the accepted one, and asks whether to continue
// with the accepted one.
func askChanged(ctx context.Context, a *app.App, s *operator.State, op operator.Operator, p *supervise.ResumePlan) error {
	change, err := supervise.Of(op).FileChange(s)
	if err != nil {
		return err
	}
	return a.Agree(ctx, fileview.FileChangeText(change), "go on with what was accepted?",
		&operator.Error{Kind: operator.Question, Op: "resume", Msg: p.File + " has changed since it was accepted, and nobody is here to ask",
			Advice: "--accepted goes on with what was accepted; waggle down and up take the new one"},
		&operator.Error{Kind: operator.Refused, Op: "resume", Msg: "not resumed", Advice: "waggle down and up take the new file"})
}

func Detach(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "detach [TEAM]",
		Short: "Leave a team running in the background",
		Long: `Make the waggle up or resume that leads a team in a terminal hand over to a process in
the background, and end. The members run on. --json: {"team","state","pid"}.`,
		RunE: a.TeamArg(app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, _ []string) error {
			s, err := supervise.Of(op).Detach(ctx, name)
			if err != nil {
				return err
			}
			pid := s.Lead.Led.ID.PID
			return a.Give(map[string]any{"team": string(name), "state": "detached", "pid": pid}, nil, func() { a.Say("team %s is led in the background by process %d", name, pid) })
		})),
	}
}
