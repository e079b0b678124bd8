package teamcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/team"
)

func teamShowCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "show [TEAM]",
		Short: "Show a team's registry, and its running members",
		Long: `Show a team's registry and its running members. --json: the registry's own keys and
{"team","created","active_members","total_members","dialect","layout","live",
"live_members","led","ours","sockets"}.`,
		RunE: a.TeamArg(func(cmd *cobra.Command, _ []string) error {
			return a.EachTeam(cmd.Context(), a.TeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				tv, err := inspect.Of(op).Team(cmd.Context(), name)
				if err != nil {
					return app.Output{}, err
				}
				doc, err := view.Registry(tv)
				if err != nil {
					return app.Output{}, err
				}
				a.Notes(tv.Config.Problems())
				return app.Output{Doc: json.RawMessage(doc), Page: registryPage(tv, name, a.Clock()),
					Colors: func() map[string]string { return memberColors(cmd.Context(), op, name) }}, nil
			})
		}),
	}
}

// registryPage shows the registry of a team.
func registryPage(tv *inspect.TeamView, name protocol.TeamName, now time.Time) (p page.Page) {
	cfg := tv.Config
	p.Line(page.Strong(string(name)), page.Plain(fmt.Sprintf("  created %s, %s dialect, %d of %d members present, %d running", page.When(cfg.CreatedAt, now),
		cfg.Dialect(), len(tv.Active()), len(cfg.Members), len(tv.Live))))
	if cfg.Description != "" {
		p.Line(page.Plain(cfg.Description))
	}
	t := page.Table{Head: []string{"MEMBER", "TYPE", "COLOUR", "BACKEND", "STATE", "CWD"}}
	for _, m := range cfg.Members {
		t.Rows = append(t.Rows, []string{string(m.Name), m.AgentType, m.Color, m.BackendType, memberState(tv, m, now), m.Cwd})
		t.Names = append(t.Names, string(m.Name))
	}
	p.Table(t)
	for _, m := range cfg.Members {
		if m.WorktreePath != "" && !m.Gone() {
			p.Line(page.Plain(string(m.Name) + " has the worktree " + m.WorktreePath))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tv.Sockets)) {
		p.Line(page.Plain(name + " takes words at " + tv.Sockets[name]))
	}
	return p
}

// memberColors returns the colours of a team's members by name; none when the registry cannot be
// read, which does not keep the rest from being shown.
func memberColors(ctx context.Context, op operator.Operator, name protocol.TeamName) map[string]string {
	colors := map[string]string{}
	if cfg, err := op.Listing(ctx, name); err == nil {
		for _, m := range cfg.Members {
			colors[string(m.Name)] = m.Color
		}
	}
	return colors
}

// memberState returns the state of a member from the registry and, for a running process, from the
// journal.
func memberState(tv *inspect.TeamView, m team.Member, now time.Time) string {
	switch {
	case !m.Gone() && slices.ContainsFunc(tv.Live, func(r inspect.Running) bool { return r.Name == m.Name }):
		return "running"
	case m.Gone():
		return "left " + page.When(m.ShutdownAt, now)
	case m.IsActive != nil && !*m.IsActive:
		return "idle"
	}
	return "active"
}

func teamValidateCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [TEAM]",
		Short: "Check a team's files against their formats",
		Long: `Check a team's registry, mailboxes, tasks and status files against their formats.

For each problem the command prints the file, the place in it as a JSON pointer, and what
is wrong. Colours and backends of members that no document has are problems; docker and
k8s are named as reserved. It changes nothing. Exit code 1 when there are problems.
--json: {"problems":[{"path","pointer","message"}]}.`,
		RunE: a.TeamArg(func(cmd *cobra.Command, _ []string) error {
			return a.EachTeam(cmd.Context(), a.TeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				problems, err := teams.Of(op).Validate(cmd.Context(), name)
				if err != nil {
					return app.Output{}, err
				}
				x := app.Output{Doc: map[string]any{"problems": problems}, Page: view.ProblemsPage(problems, name)}
				if len(problems) == 0 {
					return x, nil
				}
				x.Talk = app.Red(page.Count(len(problems), "problem"))
				return x, app.ExitError(app.ExitFailed)
			})
		}),
	}
}
