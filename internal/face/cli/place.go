package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/spawn"
)

func pathCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "path NAME",
		Short: "Print the directory of a member's worktree, for cd",
		Long: `Print the top directory of a member's worktree, or the directory in which a member without
one works. The command only reads, and also finds a member that has left and whose
worktree is kept, and one of a team that has ended. Exit 9 when the directory is not there
any more.

--json: {"team","member","path","branch"}; branch is "" without a worktree.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := placeOf(cmd.Context(), a, args[0])
			switch {
			case err != nil:
				return err
			case a.Flags.JSON:
				return a.Document(p)
			case app.Tty(a.Out):
				a.Say("%s", operator.Visible(p.Path))
				return nil
			}
			return a.Put(p.Path + "\n")
		},
	}
}

func openCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "open NAME",
		Short: "Open a member's worktree in your editor",
		Long: `Open the directory that waggle path prints in your editor: $VISUAL, else $EDITOR. The
command waits for an editor in the terminal; one with a window of its own, such as code,
returns at once. The editor runs as you, outside of the member's sandbox, with the
member's WAGGLE_PORT_BASE.

--json: as waggle path.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := placeOf(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			c, err := editor(cmd.Context(), a, "open", p.Path, "go there with waggle shell")
			if err != nil {
				return err
			}
			c.Dir, c.Env = p.Path, environAt(a, p)
			if err := runEditor(a, "open", c); err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(p)
			}
			return nil
		},
	}
}

func shellCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "shell NAME",
		Short: "Start your shell in a member's worktree",
		Long: `Start your shell ($SHELL, else sh) in the directory that waggle path prints. It runs as
you, outside of the member's sandbox: waggle gates and records nothing of it. It has your
environment and the member's WAGGLE_PORT_BASE, and none of the member's tokens. The member
works on meanwhile. exit leaves it; the exit code is that of the shell.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.Flags.JSON {
				return &operator.Error{Kind: operator.Usage, Op: "shell", Msg: "shell starts a shell in this terminal, and has no --json", Advice: "waggle path --json has the directory"}
			}
			p, err := placeOf(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			return shellAt(cmd.Context(), a, p)
		},
	}
}

// shellAt runs the person's shell where a member works. The shell has the terminal: a Ctrl-C there is for what it runs.
func shellAt(ctx context.Context, a *app.App, p *inspect.Place) error {
	shell, outside := a.Env("SHELL"), "outside of any sandbox"
	if shell == "" {
		shell = "sh"
	}
	if p.Confined {
		outside = "outside of the sandbox of " + operator.Visible(p.Member)
	}
	// Also with --quiet: whoever opens it must know.
	app.Fprint(a, a.Err, "a shell of yours in %s, %s: waggle gates and records nothing of it; exit leaves it", operator.Visible(p.Path), outside)
	c := exec.CommandContext(context.WithoutCancel(ctx), shell)
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = p.Path, environAt(a, p), a.In, os.Stdout, os.Stderr
	err := c.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return app.ExitError(exitCode(ended))
	}
	if err != nil {
		return &operator.Error{Kind: operator.Failed, Op: "shell", Err: err, Advice: "set SHELL to the program of your shell"}
	}
	return nil
}

// exitCode is the code of a process that has ended; as shells have it, 128 and the number of the signal that ended it.
func exitCode(e *exec.ExitError) int {
	if code := e.ExitCode(); code >= 0 {
		return code
	}
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return 1
}

// placeOf finds a member in all teams, present and past, and where it works.
func placeOf(ctx context.Context, a *app.App, member string) (*inspect.Place, error) {
	op, of, err := a.TeamWith(ctx, member)
	if err != nil {
		return nil, err
	}
	return inspect.Of(op).PlaceOf(ctx, of, member)
}

// environAt is the person's environment where a member works: without the repository of a git hook, and with the
// member's ports.
func environAt(a *app.App, p *inspect.Place) []string {
	env := append(spawn.Without(a.Environ, spawn.ScopeRepository), "PWD="+p.Path)
	if p.Ports != "" {
		env = append(env, p.Ports)
	}
	return env
}
