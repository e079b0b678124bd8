package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/demo"
	"waggle/operator"
	"waggle/operator/decide"
)

func demoCmd(a *App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a scripted team in a scratch tree: every flow, no key, under a minute",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not stop to ask")
	return cmd
}

// askFor is how long the demo waits for a key.
const askFor = 10 * time.Second

func (a *App) demo(ctx context.Context, yes bool) error {
	dir, err := os.MkdirTemp("", "waggle-demo-")
	if err != nil {
		return err
	}
	// Never the user's tree: whatever was said, the demo has its own.
	a.flags.root, a.flags.state, a.flags.team = filepath.Join(dir, "root"), filepath.Join(dir, "state"), ""
	if err := os.MkdirAll(a.flags.root, 0o700); err != nil {
		return err
	}
	op, err := a.op()
	if err != nil {
		return err
	}
	var lines []demo.Line
	o := demo.Options{Dir: dir, AskFor: askFor, Tell: func(l demo.Line) {
		lines = append(lines, l)
		if !a.flags.json {
			a.say("%s %s  %s", bold(fmt.Sprintf("%-9s", operator.Visible(l.Who))), operator.Visible(l.Text), faint("["+l.Source+"]"))
		}
	}}
	if !yes && tty(a.Out) && a.canAsk() {
		o.Ask = a.turn
	}
	res, err := demo.Play(ctx, op, o)
	if err != nil {
		return err
	}
	return a.demoEnd(res, lines, dir)
}

func (a *App) demoEnd(res *demo.Result, lines []demo.Line, dir string) error {
	if a.flags.json {
		return a.document(map[string]any{"dir": dir, "lines": demoLines(lines), "journals": res.Journals, "files": res.Files, "pids": res.PIDs})
	}
	a.say("\n%s", bold("The files it made"))
	var names []string
	for n := range res.Journals {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		a.say("  %-8s journal  %s", n, filepath.Join(res.Journals[n], "00000001.jsonl"))
	}
	a.say("  mailboxes         %s", filepath.Join(a.flags.root, "teams", string(res.Team), "inboxes"))
	a.say("\n%s", bold("Look around"))
	for _, c := range []string{"status", "inbox bob", "log --kind decided", "pending --all", "team show"} {
		a.say("  waggle %s --root %s --state %s", c, a.flags.root, a.flags.state)
	}
	a.say("\nThen in a project of your own: waggle init")
	return nil
}

func demoLines(lines []demo.Line) []map[string]string {
	out := []map[string]string{}
	for _, l := range lines {
		out = append(out, map[string]string{"who": l.Who, "text": l.Text, "source": l.Source})
	}
	return out
}

// turn is the person's turn in the demo. Silence denies.
func (a *App) turn(ctx context.Context, q decide.Question) (decide.Answer, error) {
	return a.request(ctx, q, fmt.Sprintf("\n\nYour turn. Without an answer in %s it is denied.", askFor), false)
}
