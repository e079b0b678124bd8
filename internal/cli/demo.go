package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"waggle/internal/demo"
	"waggle/operator"
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
	if f, ok := a.In.(*os.File); ok && !yes && tty(a.In) && tty(a.Out) {
		o.Ask = func(ctx context.Context, q operator.Question) (bool, bool) { return a.key(ctx, f, q) }
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

// key asks for one key: a allows, d denies, nothing else counts. Silence denies.
func (a *App) key(ctx context.Context, in *os.File, q operator.Question) (allow, answered bool) {
	a.say("\n%s\n", questionText(q))
	a.say("%s", bold(fmt.Sprintf("Your turn: press a to allow it, d to deny it (%s, then it is denied).", askFor)))
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return false, false
	}
	defer func() {
		if err := term.Restore(int(in.Fd()), old); err != nil {
			a.talk("the terminal could not be restored: %v; type reset", err)
		}
	}()
	keys := make(chan byte)
	go func() { // a read of a terminal cannot be called off: it ends with the next key, or the program
		var b [1]byte
		for {
			if n, err := in.Read(b[:]); n == 0 || err != nil {
				return
			}
			select {
			case keys <- b[0]:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprint(a.Out, "nobody pressed a key: denied\r\n")
			return false, false
		case k := <-keys:
			switch k {
			case 'a':
				return true, true
			case 'd', 3: // Ctrl-C is no either
				return false, true
			}
		}
	}
}
