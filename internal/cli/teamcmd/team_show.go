package teamcmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/internal/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/team"
)

func teamShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show [TEAM]",
		Short: "Show a team's registry, and its running members",
		Long: `Show a team's registry and its running members. --json: the registry's own keys and
{"team","created","active_members","total_members","dialect","layout","live",
"live_members","led","ours","sockets"}.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.TeamArgRead(cmd.Context(), args)
			if err != nil {
				return err
			}
			return teamShow(cmd.Context(), a, op, name)
		},
	}
}

func teamShow(ctx context.Context, a *app.App, op operator.Operator, name waggle.TeamName) error {
	tv, err := inspect.Of(op).Team(ctx, name)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		doc, err := view.Registry(tv)
		if err != nil {
			return err
		}
		return a.Document(json.RawMessage(doc))
	}
	cfg := tv.Config
	a.Say("%s  created %s, %s dialect, %d of %d members present, %d running", app.Bold(string(name)), page.When(cfg.CreatedAt, a.Clock()),
		cfg.Dialect(), len(tv.Active()), len(cfg.Members), len(tv.Live))
	if cfg.Description != "" {
		a.Say("%s", operator.Visible(cfg.Description))
	}
	var rows [][]string
	for _, m := range cfg.Members {
		rows = append(rows, []string{string(m.Name), m.AgentType, m.Color, m.BackendType, memberState(tv, m, a.Clock()), m.Cwd})
	}
	a.TableIn([]string{"MEMBER", "TYPE", "COLOUR", "BACKEND", "STATE", "CWD"}, rows, func(row, column int, cell string) string {
		if column != 0 && column != 2 {
			return cell
		}
		return app.InColor(cfg.Members[row].Color, cell)
	})
	for _, m := range cfg.Members {
		if m.WorktreePath != "" && !m.Gone() {
			a.Say("%s has the worktree %s", operator.Visible(string(m.Name)), operator.Visible(m.WorktreePath))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tv.Sockets)) {
		a.Say("%s takes words at %s", operator.Visible(name), operator.Visible(tv.Sockets[name]))
	}
	for _, p := range cfg.Problems() {
		a.Talk("%s %s", app.Yellow("note:"), operator.Visible(p))
	}
	return nil
}

// memberColors returns the colours of a team's members by name; none when the registry cannot be
// read, which does not keep the rest from being shown.
func memberColors(ctx context.Context, op operator.Operator, name waggle.TeamName) map[string]string {
	colors := map[string]string{}
	if reg, err := team.Open(op.Root, name, team.Options{}); err == nil {
		if cfg, err := reg.Load(ctx); err == nil {
			for _, m := range cfg.Members {
				colors[string(m.Name)] = m.Color
			}
		}
	}
	return colors
}

// memberState returns the state of a member from the registry and, for a running process, from the
// journal.
func memberState(tv *inspect.TeamView, m team.Member, now time.Time) string {
	for _, r := range tv.Live {
		if r.Name == m.Name && !m.Gone() {
			return "running"
		}
	}
	switch {
	case m.Gone():
		return "left " + page.When(m.ShutdownAt, now)
	case m.IsActive != nil && !*m.IsActive:
		return "idle"
	}
	return "active"
}
