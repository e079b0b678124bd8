package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/atomicfile"
	"waggle/internal/cli/app"
	"waggle/internal/jsonobj"
	"waggle/internal/view"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

func Run(a *app.App) *cobra.Command {
	var ro supervise.RunOptions
	var report string
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Run a team file's tasks to completion",
		Long: `Bring up the team in FILE, run its tasks to completion, end it by handshake and
report. Naming the file is consent to what it says. Without FILE, waggle.yaml here is
shown on a terminal, as it is understood and as it is written, and asked about.

With --headless nobody is asked: what the policy does not allow is denied at once
and the run ends with 3, unless --wait gives a person that long to answer from
elsewhere (waggle pending, approve, deny). Without it the run waits, and asks on
the terminal when there is one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ro.Wait > 0 && !ro.Headless {
				return &operator.Error{Kind: operator.Usage, Op: "run", Msg: "--wait goes with --headless", Advice: "without --headless a run waits anyway"}
			}
			if err := a.GraceSaid(cmd, &ro.Grace); err != nil {
				return err
			}
			f, err := teamFile(cmd.Context(), a, "run", args, ro.Headless)
			if err != nil {
				return err
			}
			return run(cmd.Context(), a, f, ro, report)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&ro.Headless, "headless", false, "ask nobody")
	fl.DurationVar(&ro.Wait, "wait", 0, "with --headless: how long a question may be answered from elsewhere")
	fl.DurationVar(&ro.Timeout, "timeout", 0, "end the run after this long (exit 4)")
	fl.DurationVar(&ro.Grace, "grace", 10*time.Second, "time for members to end by themselves")
	fl.DurationVar(&ro.Homeless, "homeless", 5*time.Second, "how long to go on when the team's directory is gone")
	fl.BoolVar(&ro.Keep, "keep", false, "leave the team's files in the wire tree")
	fl.StringVar(&report, "report", "", "write report.json and report.txt into this directory")
	return cmd
}

// teamFile reads the team file for this command. A file that the user did not name is not consent:
// the command asks, and with --headless it refuses (trust §7).
func teamFile(ctx context.Context, a *app.App, verb string, args []string, headless bool) (*teamfile.File, error) {
	if len(args) > 0 {
		return teamfile.ReadFile(args[0])
	}
	f, err := teamfile.ReadFile("waggle.yaml")
	if err != nil {
		return nil, err
	}
	if headless || !a.CanAsk() {
		return nil, &operator.Error{Kind: operator.Question, Op: verb, Msg: "found " + f.Path + ", and nobody said that it may run",
			Advice: "name it: waggle " + verb + " waggle.yaml"}
	}
	yes, err := a.Yes(ctx, view.FileText(f), "run it?")
	if err != nil {
		return nil, err
	}
	if !yes {
		return nil, &operator.Error{Kind: operator.Refused, Op: verb, Msg: "not run"}
	}
	return f, nil
}

func run(ctx context.Context, a *app.App, f *teamfile.File, ro supervise.RunOptions, report string) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	if f.Sandbox == "" || f.Sandbox == "off" || f.Sandbox == "auto" {
		a.Notes([]string{"no sandbox: members run as you, level cooperative"})
	}
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
	hurry, stop := hurry(ctx, a)
	defer stop()
	ro.Hurry = hurry
	rep, err := supervise.Of(op).Run(ctx, f, ro)
	if rep == nil {
		return err
	}
	exit := app.ExitCode(rep.Kind)
	if report != "" {
		if werr := writeReport(report, rep, exit); werr != nil {
			err = errors.Join(err, werr)
		}
	}
	if a.Flags.JSON {
		err = errors.Join(err, a.Document(view.Report(rep, exit)))
	} else {
		a.Say("%s", view.ReportText(rep, exit))
	}
	if err != nil {
		return err
	}
	if exit != 0 {
		a.Talk("%s %s", app.Red("exit "+string(rune('0'+exit))+":"), operator.Visible(rep.Reason))
		return app.ExitError(exit)
	}
	return nil
}

// writeReport writes report.json and report.txt into dir.
func writeReport(dir string, rep *supervise.Report, exit int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	b, err := jsonobj.MarshalIndent(view.Report(rep, exit))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	o := atomicfile.Options{Perm: 0o600}
	return errors.Join(atomicfile.WriteFile(filepath.Join(dir, "report.json"), append(b, '\n'), o),
		atomicfile.WriteFile(filepath.Join(dir, "report.txt"), []byte(view.ReportText(rep, exit)), o))
}
