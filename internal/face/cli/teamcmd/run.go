package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/ask"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/fileview"
	"waggle/internal/face/view/reportview"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

func Run(a *app.App) *cobra.Command {
	var ro supervise.RunOptions
	var report string
	var budget budgetFlags
	var plan bool
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Run a team file's tasks to completion",
		Long: `Start the team in FILE, run its tasks to completion, end it by handshake, and report.
When you name the file, you consent to its content. Without FILE, the command shows the
meaning and the text of ./waggle.yaml on a terminal, and asks; one that is as you have
accepted it is only named, and v shows it.

With --headless nobody is asked: a call that the policy does not allow is denied at once
and the run ends with 3, unless --wait gives you that long to answer from another place
(waggle pending, approve, deny). It ends with 2 before anything starts when shell calls
are allowed by sandboxed: allow alone and no enforced sandbox is to be had: the error has
the missing rules. A budget that is used up ends it with 10. Without
--headless the run waits, and asks on the terminal when there is one. When that terminal
closes, the run ends as by Ctrl-C; nohup keeps it.

` + reportHelp + `

--json is the report: {"team","exit","reason","began","took_s","sandbox","state","tasks",
"requests","members","overlaps"}, as in the file report.json of --report; with --plan
{"file","sha256","team","members","tasks","meaning"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if ro.Wait > 0 && !ro.Headless {
				return &operator.Error{Kind: operator.Usage, Op: "run", Msg: "--wait goes with --headless", Advice: "without --headless a run waits anyway"}
			}
			ro.Budget = budget.limit()
			if plan {
				return planFile(cmd.Context(), a, args)
			}
			op, f, err := teamFile(cmd.Context(), a, "run", args, ro.Headless)
			if err != nil {
				return err
			}
			return run(cmd.Context(), a, op, f, ro, report)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&ro.Headless, "headless", false, "ask nobody")
	fl.DurationVar(&ro.Wait, "wait", 0, "with --headless: how long a request stays open for an answer from another place")
	fl.DurationVar(&ro.Timeout, "timeout", 0, "end the run after this long (exit 4)")
	a.GraceFlag(cmd, &ro.Grace, "time for members to end by themselves")
	fl.DurationVar(&ro.Homeless, "homeless", 5*time.Second, "how long to continue when the team's directory is gone")
	fl.BoolVar(&ro.Keep, "keep", false, "leave the team's files in the wire tree")
	budget.add(cmd)
	app.PlanFlag(cmd, &plan, "show what the team file means, and start nothing")
	reportFlag(cmd, &report)
	return cmd
}

// readFile reads the team file that an argument names, or the one of this directory.
func readFile(a *app.App, args []string) (*teamfile.File, error) {
	user, err := a.ClaudeDir()
	if err != nil {
		return nil, err
	}
	f, err := teamfile.ReadFile(append(args, "waggle.yaml")[0])
	if err == nil {
		err = f.Define(user)
	}
	return f, err
}

// planFile shows what a team file means.
func planFile(ctx context.Context, a *app.App, args []string) error {
	f, err := readFile(a, args)
	if err != nil {
		return err
	}
	f.Include(ctx, a.MemberEnviron())
	return a.Give(fileview.FilePlan(f), nil, func() { a.Say("%s", fileview.FileText(f)) })
}

// teamFile reads the team file for this command, and notes what confines nobody. A file that the user did not name is not
// consent: the command asks, and with --headless it refuses (trust §7).
func teamFile(ctx context.Context, a *app.App, verb string, args []string, headless bool) (op operator.Operator, f *teamfile.File, err error) {
	if f, err = readFile(a, args); err != nil {
		return op, nil, err
	}
	if len(args) == 0 && (headless || !a.CanAsk()) {
		return op, nil, &operator.Error{Kind: operator.Question, Op: verb, Msg: "found " + f.Path + ", and nobody said that it may run",
			Advice: "name it: waggle " + verb + " waggle.yaml"}
	}
	if op, err = a.Op(); err != nil {
		return op, nil, err
	}
	if len(args) == 0 {
		yes, err := runFound(ctx, a, op, f)
		if err != nil {
			return op, nil, err
		}
		if !yes {
			return op, nil, &operator.Error{Kind: operator.Refused, Op: verb, Msg: "not run"}
		}
	}
	if unconfined(f) {
		a.Notes([]string{"no sandbox: members run as you, level cooperative"})
	}
	return op, f, nil
}

// runFound asks whether to run a file that was found. It is shown whole, unless it means what it did when it was
// accepted: then that is said, and v shows it.
func runFound(ctx context.Context, a *app.App, op operator.Operator, f *teamfile.File) (bool, error) {
	same := false
	if was := supervise.Of(op).AcceptedBefore(f); was != nil {
		same = slices.Equal(fileview.Meaning(was), fileview.Meaning(f))
	}
	f.Include(ctx, a.MemberEnviron())
	if same && !slices.ContainsFunc(f.Members, func(m teamfile.FileMember) bool { return len(m.Included) > 0 }) {
		answer, err := a.Choose(ctx, fileview.FileAgain(f), "run it?", ask.Choice{Key: 'v', Does: "show it whole"})
		if err != nil || answer.Choice == 0 {
			return answer.Allow, err
		}
	}
	return a.Yes(ctx, fileview.FileText(f), "run it?")
}

// unconfined reports a file with a member whose commands nothing is to confine.
func unconfined(f *teamfile.File) bool {
	return slices.ContainsFunc(f.Everyone(), func(m *teamfile.FileMember) bool { return !m.Sandbox.Asked() })
}

func run(ctx context.Context, a *app.App, op operator.Operator, f *teamfile.File, ro supervise.RunOptions, report string) error {
	ro.Note = a.SayNote
	if !ro.Headless && a.CanAsk() {
		ro.Ask = a.Ask
	}
	if ro.Ask == nil && (!ro.Headless || ro.Wait > 0) {
		ro.Note = func(n operator.Note) {
			a.SayNote(n)
			if n.What == "asked" {
				a.Talk("  %s waggle pending%s", app.Faint("answer it from another terminal:"), a.Scope(f.Team))
			}
		}
	}
	if !ro.Headless || ro.Wait > 0 {
		waiting, end := a.Notices(op)
		defer end(true)
		ro.Waiting = waiting
	}
	hurry, stop := hurry(ctx, a)
	defer stop()
	ro.Hurry = hurry
	rep, err := supervise.Of(op).Run(ctx, f, ro)
	if rep == nil {
		return err
	}
	exit := app.ExitCode(rep.Kind)
	err = errors.Join(err, reported(a, rep, exit, report))
	if err = errors.Join(err, a.Give(reportview.Of(rep, exit), nil, func() {
		a.Say("%s", reportview.Text(rep, exit))
		a.ShowPage(view.TodayPage(inspect.Of(op).Today(a.Clock())), "", nil)
	})); err != nil {
		return err
	}
	if exit != 0 {
		a.Talk("%s %s", app.Red(fmt.Sprintf("exit %d:", exit)), operator.Visible(rep.Reason))
		return app.ExitError(exit)
	}
	return nil
}
