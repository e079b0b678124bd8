package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/agent"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/agentcheck"
	"waggle/operator/teamfile"
	"waggle/protocol"
)

func doctorAgentCmd(a *app.App) *cobra.Command {
	var file, backend string
	var full bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "agent NAME",
		Short: "Show an agent's version and login, and what of its work asks; --full tries it",
		Long: `Show how an agent stands on this machine, without a turn of its model: its version,
whether it is logged in, what of its work asks the team, and what does not. NAME is an
agent (script, exec, mcp, claude), or a member of the team file, whose settings are used.
Exits 1 when it is not logged in.

With --full the agent is played through a scratch team, and the conformance table is
printed: start, receive, report, ask, be denied, plan, mode, idle, shut down, question,
and what goes wrong: two questions at once, nobody answers, a hook that fails, a worker
that is killed. Agent claude is then the installed client with a home of its own and a
scripted model on this machine: no key, no network; with --backend tmux in a pane. A
command that an exec member has of its own is run, in an empty directory. Exits 1 when a
line is a no.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, backend, err := checkedMember(args[0], file, backend)
			if err != nil {
				return err
			}
			if !full {
				return lookAtAgent(cmd.Context(), a, m, backend)
			}
			return checkAgent(cmd.Context(), a, m, backend, patience)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "waggle.yaml", "the team file that has member NAME")
	cmd.Flags().StringVar(&backend, "backend", "", "process or tmux; the member's own unless said")
	cmd.Flags().BoolVar(&full, "full", false, "play it through everything that a member does")
	cmd.Flags().DurationVar(&patience, "timeout", time.Minute, "how long one thing may take, with --full")
	return cmd
}

// lookAtAgent shows how the agent stands.
func lookAtAgent(ctx context.Context, a *app.App, m teamfile.FileMember, backend string) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	s, err := agentcheck.Look(ctx, op, agentcheck.Options{Dir: cwd, Member: m, Backend: backend})
	if err != nil {
		return &operator.Error{Kind: operator.Failed, Op: "doctor agent", Msg: err.Error()}
	}
	if err := a.Give(s, view.StandingPage(s)); err != nil {
		return err
	}
	if !s.OK {
		return app.ExitError(app.ExitFailed)
	}
	return nil
}

// checkAgent plays the agent on a scratch team.
func checkAgent(ctx context.Context, a *app.App, m teamfile.FileMember, backend string, patience time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "waggle-check-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	op, err := opIn(a, dir)
	if err != nil {
		return err
	}
	o := agentcheck.Options{Dir: dir, Member: m, Backend: backend, Patience: patience, Tell: func(r agentcheck.Row) { a.Talk("%s: %s", r.Line, r.Verdict) }}
	t, err := agentcheck.Check(ctx, op, o)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := a.Give(t, view.AgentPage(t)); err != nil {
		return err
	}
	if !t.OK {
		a.Talk("the journals of the check are in %s", dir)
		return app.ExitError(app.ExitFailed)
	}
	return os.RemoveAll(dir)
}

// checkedMember is a member of an agent, or the one that the team file describes, with how it is started.
func checkedMember(name, file, backend string) (m teamfile.FileMember, _ string, err error) {
	if backend != "" && backend != operator.BackendProcess && backend != operator.BackendTmux {
		return m, "", &operator.Error{Kind: operator.Usage, Op: "doctor agent", Msg: fmt.Sprintf("--backend %s is not one of %s, %s", backend, operator.BackendProcess, operator.BackendTmux)}
	}
	if m, err = namedMember(name, file); err == nil && backend == "" && teamfile.InPane(m.Backend) {
		backend = operator.BackendTmux
	}
	return m, backend, err
}

// namedMember is a member of an agent, or the one that the team file describes.
func namedMember(name, file string) (teamfile.FileMember, error) {
	kinds := append(agent.Kinds(), agent.KindMCP)
	if slices.Contains(kinds, name) {
		return teamfile.FileMember{Agent: name}, nil
	}
	f, err := teamfile.ReadFile(file)
	if err != nil {
		if operator.KindOf(err) == operator.NotFound {
			return teamfile.FileMember{}, &operator.Error{Kind: operator.NotFound, Op: "doctor agent", Msg: fmt.Sprintf("%q is no agent, and there is no %s with a member of that name", name, file), Near: kinds}
		}
		return teamfile.FileMember{}, err
	}
	if m, ok := f.Member(protocol.MemberName(name)); ok {
		return m, nil
	}
	for _, m := range f.Members {
		kinds = append(kinds, string(m.Name))
	}
	return teamfile.FileMember{}, &operator.Error{Kind: operator.NotFound, Op: "doctor agent", Msg: fmt.Sprintf("%q is neither an agent nor a member in %s", name, f.Path), Near: kinds}
}
