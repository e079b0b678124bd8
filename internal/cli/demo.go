package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/internal/demo"
	"waggle/operator"
	"waggle/operator/decide"
)

func demoCmd(a *app.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a scripted team in a scratch tree: every flow, no key, under a minute",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not stop to ask")
	return cmd
}

// askFor is how long the demo waits for a key.
const askFor = 10 * time.Second

func runDemo(ctx context.Context, a *app.App, yes bool) error {
	dir, err := os.MkdirTemp("", "waggle-demo-")
	if err != nil {
		return err
	}
	// The demo has a tree of its own, whatever flags were given.
	a.Flags.Root, a.Flags.State, a.Flags.Team = filepath.Join(dir, "root"), filepath.Join(dir, "state"), ""
	if err := os.MkdirAll(a.Flags.Root, 0o700); err != nil {
		return err
	}
	op, err := a.Op()
	if err != nil {
		return err
	}
	var lines []demo.Line
	o := demo.Options{Dir: dir, AskFor: askFor, Tell: func(l demo.Line) {
		lines = append(lines, l)
		if !a.Flags.JSON {
			a.Say("%s %s  %s", app.Bold(fmt.Sprintf("%-9s", operator.Visible(l.Who))), operator.Visible(l.Text), app.Faint("["+l.Source+"]"))
		}
	}}
	if !yes && app.Tty(a.Out) && a.CanAsk() {
		o.Ask = func(ctx context.Context, q decide.Question) (decide.Answer, error) { return turn(ctx, a, q) }
	}
	res, err := demo.Play(ctx, op, o)
	if err != nil {
		return err
	}
	return demoEnd(a, res, lines, dir)
}

func demoEnd(a *app.App, res *demo.Result, lines []demo.Line, dir string) error {
	if a.Flags.JSON {
		return a.Document(map[string]any{"dir": dir, "lines": demoLines(lines), "journals": res.Journals, "files": res.Files, "pids": res.PIDs})
	}
	a.Say("\n%s", app.Bold("The files it made"))
	var names []string
	for n := range res.Journals {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		a.Say("  %-8s journal  %s", n, filepath.Join(res.Journals[n], "00000001.jsonl"))
	}
	a.Say("  mailboxes         %s", filepath.Join(a.Flags.Root, "teams", string(res.Team), "inboxes"))
	a.Say("\n%s", app.Bold("Look around"))
	for _, c := range []string{"status", "inbox bob", "log --kind decided", "pending --all", "team show"} {
		a.Say("  waggle %s --root %s --state %s", c, a.Flags.Root, a.Flags.State)
	}
	a.Say("\nThen in a project of your own: waggle init")
	return nil
}

func demoLines(lines []demo.Line) []map[string]string {
	out := []map[string]string{}
	for _, l := range lines {
		out = append(out, map[string]string{"who": l.Who, "text": l.Text, "source": l.Source})
	}
	return out
}

// turn asks the person for the answer of the demo. Without an answer it denies.
func turn(ctx context.Context, a *app.App, q decide.Question) (decide.Answer, error) {
	return a.Request(ctx, q, fmt.Sprintf("\n\nYour turn. Without an answer in %s it is denied.", askFor), false)
}
