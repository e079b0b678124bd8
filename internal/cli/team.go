package cli

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/control"
	"waggle/internal/atomicfile"
	"waggle/operator"
	"waggle/policy"
	"waggle/team"
)

func teamCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "team",
		Short: "Teams and their members",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.teamList(cmd.Context()) },
	}
	cmd.AddCommand(teamCreateCmd(a), teamListCmd(a), teamShowCmd(a), teamAddCmd(a), teamRemoveCmd(a), teamDeleteCmd(a))
	return cmd
}

// teamRow is one team as `team list` shows it (DESIGN).
type teamRow struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"`
	Layout  string `json:"layout"`
	Members int    `json:"members"`
	Live    int    `json:"live"`
}

func teamListCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the teams in this wire tree",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.teamList(cmd.Context()) },
	}
}

func (a *App) teamList(ctx context.Context) error {
	op, err := a.op()
	if err != nil {
		return err
	}
	names, err := op.Root.Names()
	if err != nil {
		return err
	}
	rows := []teamRow{}
	var cells [][]string
	for _, n := range names {
		r, err := a.teamRow(ctx, op, n)
		if err != nil {
			a.talk("%s %s: %s", yellow("note:"), n, operator.Visible(err.Error()))
			r = teamRow{Name: string(n), Dialect: "unreadable", Layout: "array"}
		}
		rows = append(rows, r)
		cells = append(cells, []string{r.Name, r.Dialect, r.Layout, strconv.Itoa(r.Members), strconv.Itoa(r.Live)})
	}
	if a.flags.json {
		return a.document(map[string]any{"teams": rows})
	}
	if len(rows) == 0 {
		a.talk("there is no team in %s", op.Root.Path)
		return nil
	}
	a.table([]string{"TEAM", "DIALECT", "LAYOUT", "MEMBERS", "LIVE"}, cells)
	return nil
}

func (a *App) teamRow(ctx context.Context, op operator.Operator, n waggle.TeamName) (teamRow, error) {
	reg, err := team.Open(op.Root, n, atomicfile.Options{})
	if err != nil {
		return teamRow{}, err
	}
	cfg, err := reg.Load(ctx)
	if err != nil {
		return teamRow{}, err
	}
	r := teamRow{Name: string(n), Dialect: string(cfg.Dialect()), Layout: "array"}
	for _, m := range cfg.Members {
		if !m.Gone() {
			r.Members++
		}
	}
	if s, err := op.State(ctx, n); err == nil && s != nil {
		if live, _, err := op.Live(s); err == nil {
			r.Live = len(live)
		}
	}
	return r, nil
}

func teamCreateCmd(a *App) *cobra.Command {
	var description, mode string
	cmd := &cobra.Command{
		Use:   "create TEAM",
		Short: "Make an empty team that waggle leads",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := waggle.ParseTeam(args[0])
			if err != nil {
				return &operator.Error{Code: operator.CodeUsage, Op: "team create", Err: err}
			}
			op, err := a.op()
			if err != nil {
				return err
			}
			m, err := policy.ParseMode(mode)
			if err != nil {
				return &operator.Error{Code: operator.CodeUsage, Op: "team create", Err: err}
			}
			if _, err := op.Create(cmd.Context(), name, description, control.PolicySet{Policy: policy.Policy{Version: 1, Mode: m}}); err != nil {
				return err
			}
			if a.flags.json {
				return a.document(map[string]string{"team": string(name), "path": op.Root.TeamDir(name)})
			}
			a.say("team %s is in %s", bold(string(name)), op.Root.TeamDir(name))
			a.talk("%s waggle team add NAME --team %s", faint("next:"), name)
			return nil
		},
	}
	cmd.Flags().StringVar(&description, "description", "", "what the team is for")
	cmd.Flags().StringVar(&mode, "mode", string(policy.ModeDefault), "permission mode")
	return cmd
}

func teamShowCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "show [TEAM]",
		Short:             "Show a team's registry",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.teamArg(args)
			if err != nil {
				return err
			}
			reg, err := team.Open(op.Root, name, atomicfile.Options{})
			if err != nil {
				return err
			}
			cfg, err := reg.Load(cmd.Context())
			if err != nil {
				return err
			}
			return a.teamShow(name, cfg)
		},
	}
}

func (a *App) teamShow(name waggle.TeamName, cfg *team.Config) error {
	created, active := waggle.FormatTime(cfg.CreatedAt), []string{}
	var rows [][]string
	for _, m := range cfg.Members {
		state := "active"
		switch {
		case m.Gone():
			state = "left " + waggle.FormatTime(m.ShutdownAt)
		case m.IsActive != nil && !*m.IsActive:
			state = "idle"
		}
		if !m.Gone() {
			active = append(active, string(m.Name))
		}
		rows = append(rows, []string{string(m.Name), m.AgentType, m.Color, m.BackendType, state, m.Cwd})
	}
	if a.flags.json {
		// The config's own fields, and what seed 002's export says of them.
		doc := map[string]any{}
		if err := json.Unmarshal(cfg.AppendJSON(nil), &doc); err != nil {
			return err
		}
		doc["team"], doc["created"], doc["active_members"], doc["total_members"] = name, created, active, len(cfg.Members)
		return a.document(doc)
	}
	a.say("%s  created %s, %s dialect, %d of %d members present", bold(string(name)), created, cfg.Dialect(), len(active), len(cfg.Members))
	if cfg.Description != "" {
		a.say("%s", operator.Visible(cfg.Description))
	}
	a.table([]string{"MEMBER", "TYPE", "COLOUR", "BACKEND", "STATE", "CWD"}, rows)
	return nil
}

func teamAddCmd(a *App) *cobra.Command {
	var color, cwd string
	var unique bool
	cmd := &cobra.Command{
		Use:   "add MEMBER",
		Short: "Register a member that another program runs",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			member, err := waggle.ParseNewMember(args[0])
			if err != nil {
				return &operator.Error{Code: operator.CodeUsage, Op: "team add", Err: err}
			}
			op, name, err := a.team()
			if err != nil {
				return err
			}
			reg, err := team.Open(op.Root, name, atomicfile.Options{})
			if err != nil {
				return err
			}
			m, old, err := reg.Add(cmd.Context(), team.Member{Name: member, AgentType: "general-purpose", Color: color, Cwd: cwd,
				JoinedAt: a.Now(), Subscriptions: []string{}}, unique)
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.document(map[string]string{"member": string(m.Name), "agent_id": string(m.AgentID), "color": m.Color, "archived": old})
			}
			a.say("%s joined as %s, %s", bold(string(m.Name)), m.AgentID, m.Color)
			if old != "" {
				a.talk("the mailbox of an earlier %s was moved to %s", m.Name, old)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&color, "color", "", "colour (default: the next of the palette)")
	cmd.Flags().StringVar(&cwd, "cwd", "", "the member's directory")
	cmd.Flags().BoolVar(&unique, "unique", false, "append -2, -3, … when the name is taken")
	return cmd
}

func teamRemoveCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:               "remove MEMBER",
		Short:             "Take a member out of the registry",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			if err := op.Remove(cmd.Context(), name, args[0]); err != nil {
				return err
			}
			if a.flags.json {
				return a.document(map[string]string{"member": args[0], "state": "removed"})
			}
			a.say("%s is out of team %s", args[0], name)
			return nil
		},
	}
}

func teamDeleteCmd(a *App) *cobra.Command {
	var force, tasks bool
	cmd := &cobra.Command{
		Use:               "delete TEAM",
		Short:             "Delete a team; what waggle led is kept in the archive",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.teamArg(args)
			if err != nil {
				return err
			}
			if err := op.Delete(cmd.Context(), name, force, tasks); err != nil {
				return err
			}
			if a.flags.json {
				return a.document(map[string]string{"team": string(name), "state": "deleted"})
			}
			a.say("team %s is deleted", name)
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "end running members first")
	cmd.Flags().BoolVar(&tasks, "tasks", false, "also the task list (of a team that another program made)")
	return cmd
}
