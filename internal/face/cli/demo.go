package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/backoff"
	"waggle/internal/claude"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/demo"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/draft"
)

// demoFlags are the flags of the demo.
type demoFlags struct {
	yes, keep, verbose bool
	agent              string
}

func demoCmd(a *app.App) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a scripted team in a scratch tree: every flow, no key, under a minute",
		Long: `Run a scripted team in eight acts: real processes, real mailbox files, no key, no network.
On a terminal it goes at the pace of a reader and stops once, for as long as you need, for
your answer to a call. The scratch tree is removed at the end; with --keep it stays, and
the command says where. With --agent claude two of the agents are the installed Claude
Code, which has a home of its own and a scripted model in this program: no key either.

--json: {"dir","kept","lines":[{"act","who","text","source"}],"journals","files","pids"}.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a, f) },
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask, and do not pause")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "keep the scratch tree")
	cmd.Flags().StringVar(&f.agent, "agent", "", "claude: the installed client plays two of the agents")
	app.OneOf(cmd, "agent", claude.Kind)
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "name the journal or mailbox line behind each line")
	return cmd
}

// Pauses of the demo on a terminal.
const (
	linePause = 250 * time.Millisecond
	actPause  = 700 * time.Millisecond
)

// stage shows the lines of the demo.
type stage struct {
	a       *app.App
	ctx     context.Context
	paced   bool
	sources bool
	width   int
	lines   []demo.Line
	act     demo.Act
}

// tell shows a line, below the heading of its act.
func (s *stage) tell(l demo.Line) {
	s.lines = append(s.lines, l)
	if s.a.Flags.JSON {
		return
	}
	if l.Act > s.act {
		s.act = l.Act
		s.pause(actPause)
		s.a.Say("\n%s", app.Bold(fmt.Sprintf("%d  %s", l.Act, l.Act.Heading())))
		for _, text := range wrap(l.Act.Sentence(), s.width-3) {
			s.a.Say("   %s", app.Faint(text))
		}
	}
	s.pause(linePause)
	who := app.Bold(fmt.Sprintf("%-9s", operator.Visible(l.Who)))
	for _, text := range wrap(operator.Visible(l.Text), s.width-lineIndent) {
		s.a.Say("   %s %s", who, text)
		who = strings.Repeat(" ", lineIndent-4)
	}
	if s.sources {
		s.a.Say("   %s %s", strings.Repeat(" ", lineIndent-4), app.Faint("["+l.Source+"]"))
	}
}

// lineIndent is the column at which the text of a line of the demo begins.
const lineIndent = 13

// pause waits so that a reader follows.
func (s *stage) pause(d time.Duration) {
	if s.paced {
		backoff.Pause(s.ctx, d)
	}
}

// opIn is the operator of a tree of its own below dir, whatever flags were given.
func opIn(a *app.App, dir string) (operator.Operator, error) {
	a.Flags.Root, a.Flags.State, a.Flags.Team = filepath.Join(dir, "root"), filepath.Join(dir, "state"), ""
	if err := os.MkdirAll(a.Flags.Root, 0o700); err != nil {
		return operator.Operator{}, err
	}
	return a.Op()
}

func runDemo(ctx context.Context, a *app.App, f demoFlags) (err error) {
	if f.agent != "" && f.agent != claude.Kind {
		return &operator.Error{Kind: operator.Usage, Op: "demo", Msg: fmt.Sprintf("--agent %s: the demo is played with %s, or without --agent by scripts", f.agent, claude.Kind)}
	}
	dir, err := os.MkdirTemp("", "waggle-demo-")
	if err != nil {
		return err
	}
	op, err := opIn(a, dir)
	if err != nil {
		return err
	}
	person := !f.yes && !a.Flags.JSON && app.Tty(a.Out) && a.CanAsk()
	s := &stage{a: a, ctx: ctx, paced: person, sources: f.verbose, width: helpColumns(a), lines: []demo.Line{}}
	o := demo.Options{Dir: dir, Tell: s.tell, Claude: f.agent != ""}
	if person {
		o.Ask = func(ctx context.Context, q decide.Request) (decide.Answer, error) {
			return a.RequestOnce(ctx, q, "\n\nYour turn. The demo waits for you.")
		}
	}
	if !a.Flags.JSON {
		sayLines(a, "", wrap(begins(f), s.width))
	}
	res, err := demo.Play(ctx, op, o)
	kind := operator.KindOf(err)
	if notBegun := kind == operator.NotFound || kind == operator.Refused; notBegun || err != nil && ctx.Err() != nil && !f.keep {
		if ctx.Err() != nil {
			err = ctx.Err() // what was cut short by it says nothing more
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return errors.Join(err, fmt.Errorf("what it made is in %s", dir))
	}
	if !f.keep {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("the scratch tree stays in %s: %w", dir, err)
		}
	}
	return demoEnd(a, res, s.lines, dir, f.keep)
}

// begins says what the demo starts, before that takes time.
func begins(f demoFlags) string {
	if f.agent != "" {
		return "Starting two sessions of the installed Claude Code and a script, in a scratch tree: a scripted model, no key, no network. The first line takes some seconds."
	}
	return "Starting three scripted agents: real processes and files, no key, no network."
}

func demoEnd(a *app.App, res *demo.Result, lines []demo.Line, dir string, kept bool) error {
	if a.Flags.JSON {
		return a.Document(map[string]any{"dir": dir, "kept": kept, "lines": lines, "journals": res.Journals, "files": res.Files, "pids": res.PIDs})
	}
	if kept {
		a.Say("\nIts files are in %s; look at them with --root %s --state %s", dir, a.Flags.Root, a.Flags.State)
	} else {
		a.Say("\nIts processes have ended, and its files are removed.")
	}
	sayLines(a, "", wrap(goOn(a)+":", helpColumns(a)))
	a.Say("    waggle new %s", newWords(a)+`"TASK"`)
	return nil
}

// goOn is what the one command to go on with needs.
func goOn(a *app.App) string {
	if len(draft.Installed(a.Environ)) == 0 {
		return "Now with a real agent (npm install -g @anthropic-ai/claude-code installs one), in a git repository of yours"
	}
	return "Now with a real agent, in a git repository of yours"
}

// newWords are the words before the task of waggle new for an agent that is installed.
func newWords(a *app.App) string {
	installed := draft.Installed(a.Environ)
	switch {
	case len(installed) == 0, len(installed) == 1 && installed[0] == claude.Kind:
		return ""
	case slices.Contains(installed, claude.Kind):
		return claude.Kind + " "
	}
	return agentWords[installed[0]] + " "
}
