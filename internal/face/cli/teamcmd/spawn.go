package teamcmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waggle/agent"
	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
)

func Spawn(a *app.App) *cobra.Command {
	var l leadFlags
	var o spawnFlags
	cmd := &cobra.Command{
		Use:   "spawn NAME [PROMPT]",
		Short: "Start a new member in a team that is up",
		Long: `Start a new member. PROMPT is its first task and is in its mailbox before its process
starts. The command returns when the member is ready, and shows its model, mode and
directory. When these are not as requested, it ends the member again, unless --accept
keeps it. --json: {"team","name","session","pid","backend","task","ready"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := o.member(args)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "spawn", Err: err}
			}
			op, team, err := a.Team()
			if err != nil {
				return err
			}
			attend(a, &l)
			sp, err := supervise.Of(op).Spawn(cmd.Context(), team, m, &l.lo)
			if err != nil {
				return err
			}
			return a.Give(sp, nil, func() { a.Say("%s is up: process %d, %s", sp.Name, sp.PID, sp.Backend) })
		},
	}
	l.add(cmd, false)
	o.add(cmd)
	for flag, words := range map[string][]string{"backend": operator.Backends(), "agent": agent.Kinds(), "restart": {teamfile.RestartOnFailure, teamfile.RestartNever}} {
		app.OneOf(cmd, flag, words...)
	}
	return cmd
}

// spawnFlags say what a new member is to be.
type spawnFlags struct {
	supervise.NewMember
	cwd, mode, restart string
	command, metadata  []string
}

func (o *spawnFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Agent, "agent", "exec", "the kind of its agent")
	f.StringArrayVar(&o.command, "command", nil, "argument of the program that an exec member runs for each task; repeat it for each argument")
	f.StringVar(&o.Backend, "backend", operator.BackendAuto, "where its process runs")
	f.StringVar(&o.cwd, "cwd", ".", "its directory")
	f.StringVar(&o.Color, "color", "", "its colour")
	f.StringVar(&o.Model, "model", "", "the model that it must have")
	f.StringVar(&o.mode, "permission-mode", "", "its permission mode")
	f.StringVar(&o.Type, "type", "general-purpose", "its agent type in the registry")
	MetadataFlag(cmd, &o.metadata)
	f.BoolVar(&o.PlanRequired, "require-plan", false, "it needs an approved plan before it changes anything")
	f.BoolVar(&o.Worktree, "worktree", false, "give it a git worktree of its own, made from the checkout that has its directory")
	f.StringVar(&o.restart, "restart", teamfile.RestartOnFailure, "whether the leader restarts it when its process dies: on-failure, never")
}

func (o *spawnFlags) member(args []string) (m supervise.NewMember, err error) {
	m = o.NewMember
	if m.Name, err = protocol.ParseNewMember(args[0]); err != nil {
		return m, err
	}
	if m.Metadata, err = teamfile.ParseMetadata(o.metadata); err != nil {
		return m, err
	}
	if len(args) > 1 {
		m.Prompt = args[1]
	}
	if m.Cwd, err = filepath.Abs(o.cwd); err != nil {
		return m, err
	}
	if fi, err := os.Stat(m.Cwd); err != nil || !fi.IsDir() {
		return m, fmt.Errorf("%s is not a directory", m.Cwd)
	}
	if o.mode != "" {
		if m.Mode, err = policy.ParseMode(o.mode); err != nil {
			return m, err
		}
	}
	if m.Restart, err = teamfile.ParseRestart(o.restart); err != nil {
		return m, err
	}
	if err := m.Fit(); err != nil {
		return m, &operator.Error{Kind: operator.Usage, Op: "spawn", Err: err}
	}
	m.Spec, err = m.SpecOf(o.command)
	return m, err
}
