package teamcmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/record"
	"waggle/team"
)

func Team(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "team",
		Short: "Teams and their members",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return teamList(cmd.Context(), a) },
	}
	cmd.AddCommand(teamCreateCmd(a), teamListCmd(a), teamShowCmd(a), teamAddCmd(a), teamRemoveCmd(a), teamDeleteCmd(a), teamValidateCmd(a),
		teamMigrateCmd(a), teamBackupCmd(a), teamRestoreCmd(a), teamExportCmd(a))
	cmd.AddCommand(teamTokenCmd(a))
	return cmd
}

func teamListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the teams in this wire tree",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return teamList(cmd.Context(), a) },
	}
}

func teamList(ctx context.Context, a *app.App) error {
	op, err := a.Op()
	if err != nil {
		return err
	}
	rows, problems, err := inspect.Of(op).Teams(ctx)
	if err != nil {
		return err
	}
	for _, p := range problems {
		a.Talk("%s %s", app.Yellow("note:"), operator.Visible(p.Error()))
	}
	if a.Flags.JSON {
		return a.Document(view.Teams(rows))
	}
	if len(rows) == 0 {
		a.Talk("there is no team in %s", op.Root.Path)
		return nil
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{r.Name, r.Dialect, r.Layout, strconv.Itoa(r.Members), strconv.Itoa(r.Live)})
	}
	a.Table([]string{"TEAM", "DIALECT", "LAYOUT", "MEMBERS", "LIVE"}, cells)
	return nil
}

func teamCreateCmd(a *app.App) *cobra.Command {
	var description, mode, layout string
	var metadata []string
	cmd := &cobra.Command{
		Use:   "create TEAM",
		Short: "Make an empty team that waggle leads",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := team.CheckName(args[0])
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team create", Err: err}
			}
			op, err := a.Op()
			if err != nil {
				return err
			}
			m, err := policy.ParseMode(mode)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team create", Err: err}
			}
			as, err := parseLayout("team create", layout)
			if err != nil {
				return err
			}
			data, err := teamfile.ParseMetadata(metadata)
			if err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team create", Err: err}
			}
			if _, err := teams.Of(op).CreateAs(cmd.Context(), name, teamfile.About{Description: description, Metadata: data}, as, record.PolicySet{Policy: policy.Policy{Version: 1, Mode: m}}); err != nil {
				return err
			}
			made := view.CreatedDocument{Path: op.Root.TeamDir(name), Team: string(name)}
			if err := a.Give(made, view.CreatedPage(made)); err != nil || a.Flags.JSON {
				return err
			}
			a.Talk("%s waggle team add NAME --team %s", app.Faint("next:"), name)
			return nil
		},
	}
	cmd.Flags().StringVar(&description, "description", "", "what the team is for")
	MetadataFlag(cmd, &metadata)
	layoutFlag(cmd, &layout, mailbox.Array.String(), "of the mailboxes")
	cmd.Flags().StringVar(&mode, "mode", string(policy.ModeDefault), "permission mode")
	return cmd
}

func teamAddCmd(a *app.App) *cobra.Command {
	var m team.Member
	var unique bool
	var metadata []string
	cmd := &cobra.Command{
		Use:   "add MEMBER",
		Short: "Register a member that another program runs",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if m.Name, err = waggle.ParseNewMember(args[0]); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team add", Err: err}
			}
			if m.Metadata, err = teamfile.ParseMetadata(metadata); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team add", Err: err}
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			m.JoinedAt, m.Subscriptions = a.Now(), []string{}
			m, old, err := mail.Of(op).Register(cmd.Context(), name, m, unique)
			if err != nil {
				return err
			}
			if err := a.Give(view.Registered(m, old), view.RegisteredPage(m)); err != nil {
				return err
			}
			if old != "" && !a.Flags.JSON {
				a.Talk("the mailbox of an earlier %s was moved to %s", m.Name, old)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&m.Color, "color", "", "a colour's name or #rrggbb (default: the next of the palette)")
	cmd.Flags().StringVar(&m.Cwd, "cwd", "", "the member's directory")
	cmd.Flags().StringVar(&m.AgentType, "type", "general-purpose", "what kind of agent it is")
	cmd.Flags().StringVar(&m.Model, "model", "", "the model it uses")
	cmd.Flags().StringVar(&m.Prompt, "prompt", "", "what it was told to be")
	MetadataFlag(cmd, &metadata)
	cmd.Flags().BoolVar(&unique, "unique", false, "append -2, -3, … when the name is taken")
	return cmd
}

// MetadataFlag adds --metadata, for entries with keys of the user's own.
func MetadataFlag(cmd *cobra.Command, pairs *[]string) {
	cmd.Flags().StringArrayVar(pairs, "metadata", nil, "KEY=VALUE for readers of the entry, which waggle does not act on; VALUE is JSON or text;\nrepeat it for each key")
}

func teamRemoveCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "remove MEMBER",
		Short:             "Remove a member from the registry",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			if err := teams.Of(op).Remove(cmd.Context(), name, args[0]); err != nil {
				return err
			}
			return a.Give(view.Unregistered(args[0]), view.UnregisteredPage(args[0], name))
		},
	}
}

func teamDeleteCmd(a *app.App) *cobra.Command {
	var do teams.DeleteOptions
	cmd := &cobra.Command{
		Use:               "delete TEAM",
		Short:             "Delete a team; what waggle led is kept in the archive",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteTeams,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.TeamArg(args)
			if err != nil {
				return err
			}
			do.Report = func(r inspect.Running, ends bool) { sayEnding(a, r, ends) }
			d, err := teams.Of(op).Delete(cmd.Context(), name, do)
			if err != nil {
				return err
			}
			if err := a.Give(view.Deleted(d), view.DeletedPage(d)); err != nil {
				return err
			}
			if d.Archive != "" && !a.Flags.JSON {
				a.Talk("what it left is in %s", d.Archive)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&do.Force, "force", false, "end its running members first, and say which")
	cmd.Flags().BoolVar(&do.Tasks, "tasks", false, "the task list too (default: it stays)")
	cmd.Flags().BoolVar(&do.Keep, "archive", false, "keep the files of a team that waggle has no records of, too")
	return cmd
}

// sayEnding prints what a forced deletion will do to a process.
func sayEnding(a *app.App, r inspect.Running, ends bool) {
	if ends {
		a.Talk("%s ends %s (process %d)", app.Yellow("--force"), r.Name, r.PID)
		return
	}
	a.Talk("%s leaves %s (process %d) alone: waggle did not start it", app.Yellow("--force"), r.Name, r.PID)
}
