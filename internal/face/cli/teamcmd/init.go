package teamcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/draft"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

// initFlags say what waggle init writes.
type initFlags struct {
	dry, tmux, fromTeam bool
	template            string
}

func Init(a *app.App) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented waggle.yaml for this directory",
		Long: `Write a commented waggle.yaml for this directory, with a member for each check that its
files suggest: Go, Node, Python, Rust, and the target test of a Makefile. With --plan
the command only prints it. --json: {"path"}.

--template ci is these checks and nothing else. review has a coding agent that reads the
changes of the branch and edits nothing, bugfix one that fixes a bug, migrate one that
proposes a plan first. These need an installed agent; say in the task what is to be done.

--from-team writes what the team that is up amounts to: its members, their tasks, the
worktree: and check: that waggle new accepted from a waggle.yaml, and its policy and
budgets as they are now.

--tmux prints lines for ~/.tmux.conf instead, and writes nothing: keys that open the full
screen and a new task in a popup, and the status bar with waggle status --line.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.tmux && (f.fromTeam || f.template != "") || f.fromTeam && f.template != "" {
				return &operator.Error{Kind: operator.Usage, Op: "init", Msg: "give one of --template, --from-team and --tmux"}
			}
			if f.tmux {
				fmt.Fprint(a.Out, tmuxLines)
				return nil
			}
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			text, err := f.text(cmd.Context(), a, dir)
			if err != nil {
				return err
			}
			path := filepath.Join(dir, "waggle.yaml")
			if _, err := teamfile.ParseFile(path, []byte(text)); err != nil {
				return err
			}
			text = initHead + text
			if f.dry {
				fmt.Fprint(a.Out, text)
				return nil
			}
			return f.write(a, path, text)
		},
	}
	fs := cmd.Flags()
	app.PlanFlag(cmd, &f.dry, "only print it")
	fs.BoolVar(&f.tmux, "tmux", false, "print the key bindings and the status bar for tmux")
	fs.BoolVar(&f.fromTeam, "from-team", false, "write what the team that is up amounts to")
	fs.StringVar(&f.template, "template", draft.Checks, "what the team is for: "+strings.Join(draft.Templates(), ", "))
	app.OneOf(cmd, "template", draft.Templates()...)
	return cmd
}

// initHead is above what is written.
const initHead = "# Run it: waggle run waggle.yaml. Keep it up: waggle up. What this machine can confine: waggle sandbox test.\n" +
	"# Give a member work while it is up: waggle task add \"what to do\" --owner NAME.\n"

// text is the team file to write.
func (f initFlags) text(ctx context.Context, a *app.App, dir string) (string, error) {
	op, err := a.Op()
	if f.fromTeam {
		if err != nil {
			return "", err
		}
		return ofTeam(ctx, a, dir)
	}
	facts := draft.Look(dir, a.Environ)
	if err == nil {
		facts.Ceiling = op.Ceiling
	}
	return draft.Template(f.template, facts)
}

// ofTeam is the file that the team amounts to.
func ofTeam(ctx context.Context, a *app.App, dir string) (string, error) {
	op, name, err := a.TeamRead(ctx)
	if err != nil {
		return "", err
	}
	s, err := op.Open(ctx, name, operator.Act)
	if err != nil {
		return "", err
	}
	accepted, err := supervise.Of(op).Accepted(s)
	if _, serr := os.Lstat(s.Dir.TeamFile()); errors.Is(serr, fs.ErrNotExist) {
		accepted, err = nil, nil // made without one
	}
	if err != nil {
		return "", err
	}
	return draft.Team(s, accepted, dir)
}

// write makes the file, which must not be there.
func (f initFlags) write(a *app.App, path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &operator.Error{Kind: operator.Failed, Op: "init", Msg: "there is a waggle.yaml here already", Advice: "waggle init --plan prints what would be written"}
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(map[string]string{"path": path})
	}
	fmt.Fprint(a.Out, text)
	a.Talk("%s %s", app.Green("wrote"), path)
	next := "waggle run waggle.yaml"
	if f.template == draft.Bugfix || f.template == draft.Migrate {
		next = "say in the file what is to be done, then waggle up waggle.yaml"
	}
	if !f.fromTeam {
		a.Talk("%s %s", app.Faint("next:"), next)
	}
	return nil
}

// tmuxLines are for a person's own tmux configuration.
const tmuxLines = `# waggle in tmux 3.2 and newer; put these lines into ~/.tmux.conf.
# prefix w: all teams on the full screen. prefix W: write a new task in your editor.
bind-key w display-popup -E -w 95% -h 90% "waggle top"
bind-key W display-popup -E -w 80% -h 60% -d "#{pane_current_path}" "waggle new --edit || read _"
# ?2 waiting for you, >5 working, x1 failed.
set-option -g status-interval 5
set-option -ag status-right " #(waggle status --line)"
`
