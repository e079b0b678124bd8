package teamcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/internal/face/view/reportview"
	"waggle/internal/fs/atomicfile"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
	"waggle/protocol"
)

// reportHelp is what the help of commands that end a team says of their report.
const reportHelp = `--report DIR writes report.json, report.txt and junit.xml there. In GitHub Actions
(GITHUB_ACTIONS=true) failed and open tasks are annotations too, on stderr.`

func reportFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "report", "", "write report.json, report.txt and junit.xml into this directory")
}

// reported writes the files of a report, when dir is not empty, and in GitHub Actions its annotations.
func reported(a *app.App, rep *supervise.Report, exit int, dir string) (err error) {
	if dir != "" {
		err = writeReport(dir, rep, exit)
	}
	if slices.Contains(a.Environ, "GITHUB_ACTIONS=true") {
		for _, l := range reportview.Annotations(rep, exit) {
			app.Fprint(a, a.Err, "%s", l)
		}
	}
	return err
}

// writeReport writes report.json, report.txt and junit.xml into dir.
func writeReport(dir string, rep *supervise.Report, exit int) error {
	doc, derr := page.Document(reportview.Of(rep, exit))
	cases, cerr := reportview.JUnit(rep, exit)
	if err := cmp.Or(os.MkdirAll(dir, 0o755), derr, cerr); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	o := atomicfile.Options{Perm: 0o600}
	return errors.Join(atomicfile.WriteFile(filepath.Join(dir, "report.json"), append(doc, '\n'), o),
		atomicfile.WriteFile(filepath.Join(dir, "report.txt"), []byte(reportview.Text(rep, exit)), o),
		atomicfile.WriteFile(filepath.Join(dir, "junit.xml"), cases, o))
}

// endReport is the report of a team that has just ended.
func endReport(ctx context.Context, op operator.Operator, team protocol.TeamName) (*supervise.Report, error) {
	ended, name, err := op.EndedTeam(ctx, string(team))
	if err != nil {
		return nil, err
	}
	return supervise.Of(ended).EndReport(ctx, name)
}

// sayEnd shows the report of a team that has just ended, writes its files, and returns the exit code as an error: that
// of how its members ended and that of the work that is left undone, the first that applies (commands §6). Without a
// report it is 1, unless the leader's journal is broken, which may have left no record of the team at all: only down
// --force ends such a team, as the person wants. With --json only the files are written: the command has a document of its
// own.
func sayEnd(ctx context.Context, a *app.App, op operator.Operator, team protocol.TeamName, how operator.Kind, broken bool, dir string) error {
	rep, err := endReport(context.WithoutCancel(ctx), op, team)
	if err != nil {
		a.Talk("%s no report: %s", app.Yellow("note:"), operator.Visible(err.Error()))
		if !broken && !operator.Broken(err) { // of what was ordered in a broken leader's journal nothing is known to be undone
			how = supervise.First(how, operator.Failed)
		}
		return exitOf(how)
	}
	for _, m := range rep.Members {
		if m.Unread != "" {
			a.Talk("%s the report has the work of %s as far as its journal can be read: %s", app.Yellow("note:"), operator.Visible(m.Name), operator.Visible(m.Unread))
		}
	}
	kind := supervise.First(how, rep.Kind)
	exit := app.ExitCode(kind)
	if !a.Flags.JSON {
		a.Say("\n%s", reportview.Text(rep, exit))
		a.ShowPage(view.TodayPage(inspect.Of(op).Today(a.Clock())), "", nil)
	}
	if err := reported(a, rep, exit, dir); err != nil {
		return err
	}
	return exitOf(kind)
}

// exitOf is the exit code of a kind as an error that says nothing, nil for none.
func exitOf(kind operator.Kind) error {
	if kind == operator.None {
		return nil
	}
	return app.ExitError(app.ExitCode(kind))
}
