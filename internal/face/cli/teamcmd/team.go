package teamcmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"waggle/agent"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/seat"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

func Team(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "team",
		Short: "Teams and their members",
		RunE:  func(cmd *cobra.Command, _ []string) error { return teamList(cmd.Context(), a) },
	}
	cmd.AddCommand(teamCreateCmd(a), teamListCmd(a), teamShowCmd(a), teamAddCmd(a), teamRemoveCmd(a), teamDeleteCmd(a), teamValidateCmd(a),
		teamMigrateCmd(a), teamBackupCmd(a), teamRestoreCmd(a), teamExportCmd(a))
	cmd.AddCommand(teamTokenCmd(a))
	return cmd
}

func teamListCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the teams in this wire tree",
		Long: `List the teams in this wire tree. --json: {"teams":[{"name","dialect","layout","members",
"live"}]}; live counts the running processes.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return teamList(cmd.Context(), a) },
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
	var p page.Page
	t := page.Table{Head: []string{"TEAM", "DIALECT", "LAYOUT", "MEMBERS", "LIVE"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Name, r.Dialect, r.Layout, strconv.Itoa(r.Members), strconv.Itoa(r.Live)})
	}
	p.Rows(t)
	return a.Give(map[string]any{"teams": rows}, p, func() {
		if len(rows) == 0 {
			a.Talk("there is no team in %s", op.Root.Path)
		}
	})
}

func teamCreateCmd(a *app.App) *cobra.Command {
	var description, mode, layout string
	var metadata []string
	cmd := &cobra.Command{
		Use:   "create TEAM",
		Short: "Make an empty team that waggle leads",
		Long:  `Make an empty team that waggle leads. --json: {"path","team"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, nameErr := team.CheckName(args[0])
			m, modeErr := policy.ParseMode(mode)
			as, layoutErr := mailbox.ParseLayout(layout)
			data, dataErr := teamfile.ParseMetadata(metadata)
			if err := cmp.Or(nameErr, modeErr, layoutErr, dataErr); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team create", Err: err}
			}
			op, err := a.Op()
			if err != nil {
				return err
			}
			if _, err := teams.Of(op).CreateAs(cmd.Context(), name, teamfile.About{Description: description, Metadata: data}, as, record.PolicySet{Policy: policy.Policy{Version: 1, Mode: m}}); err != nil {
				return err
			}
			made := view.CreatedDocument{Path: op.Root.TeamDir(name), Team: string(name)}
			return a.Give(made, view.CreatedPage(made), func() { a.Talk("%s waggle team add NAME --team %s", app.Faint("next:"), name) })
		},
	}
	cmd.Flags().StringVar(&description, "description", "", "the purpose of the team")
	MetadataFlag(cmd, &metadata)
	layoutFlag(cmd, &layout, mailbox.Array.String(), "of the mailboxes")
	cmd.Flags().StringVar(&mode, "permission-mode", string(policy.ModeDefault), "permission mode")
	return cmd
}

func teamAddCmd(a *app.App) *cobra.Command {
	var m team.Member
	var unique, plan bool
	var metadata []string
	var kind string
	cmd := &cobra.Command{
		Use:   "add MEMBER",
		Short: "Register a member that another program runs",
		Long: `Register a member that another program runs, and that reads and writes the files of the
team itself. With --agent mcp the member's program is an MCP client, such as an editor:
the command then prints the entry for the client's configuration, with which the client
starts 'waggle mcp'. --json: {"agent_id","archived","color","member"}, with --agent mcp
{"team","member","mcpServers"}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var nameErr, dataErr error
			m.Name, nameErr = protocol.ParseNewMember(args[0])
			m.Metadata, dataErr = teamfile.ParseMetadata(metadata)
			if err := cmp.Or(nameErr, dataErr); err != nil {
				return &operator.Error{Kind: operator.Usage, Op: "team add", Err: err}
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			if kind != "" {
				return addClient(cmd.Context(), a, op, name, kind, teamfile.FileMember{Name: m.Name, Color: m.Color, Cwd: m.Cwd, Type: m.AgentType, Model: m.Model, Prompt: m.Prompt, PlanRequired: plan, Metadata: m.Metadata})
			}
			if plan {
				return &operator.Error{Kind: operator.Usage, Op: "team add", Msg: "--require-plan is for --agent mcp: what another program does is its own"}
			}
			m.JoinedAt, m.Subscriptions = a.Now(), []string{}
			m, old, err := mail.Of(op).Register(cmd.Context(), name, m, unique)
			if err != nil {
				return err
			}
			return a.Give(view.RegisteredDocument{AgentID: string(m.AgentID), Archived: old, Color: m.Color, Member: string(m.Name)}, view.RegisteredPage(m), func() {
				if old != "" {
					a.Talk("the mailbox of an earlier %s was moved to %s", m.Name, old)
				}
			})
		},
	}
	cmd.Flags().StringVar(&kind, "agent", "", "mcp: its program is an MCP client")
	cmd.Flags().BoolVar(&plan, "require-plan", false, "with --agent mcp: it needs an approved plan before it writes")
	app.OneOf(cmd, "agent", agent.KindMCP)
	cmd.Flags().StringVar(&m.Color, "color", "", "a colour's name or #rrggbb (default: the next of the palette)")
	cmd.Flags().StringVar(&m.Cwd, "cwd", "", "the member's directory")
	cmd.Flags().StringVar(&m.AgentType, "type", "general-purpose", "its agent type")
	cmd.Flags().StringVar(&m.Model, "model", "", "the model it uses")
	cmd.Flags().StringVar(&m.Prompt, "prompt", "", "its initial prompt")
	MetadataFlag(cmd, &metadata)
	cmd.Flags().BoolVar(&unique, "unique", false, "append -2, -3, … when the name is taken")
	return cmd
}

// addClient makes a member for an MCP client and says what the client's configuration needs.
func addClient(ctx context.Context, a *app.App, op operator.Operator, name protocol.TeamName, kind string, m teamfile.FileMember) error {
	if kind != agent.KindMCP {
		return &operator.Error{Kind: operator.Usage, Op: "team add", Msg: fmt.Sprintf("--agent %s: the agent of a member that waggle does not start is %s", kind, agent.KindMCP), Next: operator.NextSpawn.With()}
	}
	var err error
	if m.Cwd, err = filepath.Abs(m.Cwd); err != nil {
		return err
	}
	added, err := seat.Of(op).Add(ctx, name, m)
	if err != nil {
		return err
	}
	state, err := a.StatePath()
	if err != nil {
		return err
	}
	c := view.Client{Team: string(name), Member: string(added.Name), Program: op.Self, Root: op.Root.Path, State: state}
	return a.Give(view.ClientAdded(c), view.ClientAddedPage(c))
}

// MetadataFlag adds --metadata, for entries with keys of the user's own.
func MetadataFlag(cmd *cobra.Command, pairs *[]string) {
	cmd.Flags().StringArrayVar(pairs, "metadata", nil, "KEY=VALUE in the registry, which waggle keeps and does not use; VALUE is JSON or text;\nrepeat it for each key")
}

func teamRemoveCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "remove MEMBER",
		Aliases: []string{"rm"},
		Short:   "Remove a member from the registry",
		Long:    `Remove a member from the registry. --json: {"member","state"}.`,
		RunE: app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, args []string) error {
			if err := teams.Of(op).Remove(ctx, name, args[0]); err != nil {
				return err
			}
			return a.Give(view.UnregisteredDocument{Member: args[0], State: "removed"}, view.UnregisteredPage(args[0], name))
		}),
	}
}

func teamDeleteCmd(a *app.App) *cobra.Command {
	var do teams.DeleteOptions
	var plan bool
	cmd := &cobra.Command{
		Use:   "delete TEAM",
		Short: "Delete a team; the files of a team that waggle led are archived",
		Long: `Delete a team's files from the wire tree. The files of a team that waggle led are kept in
the archive. A team whose members run is refused, unless --force. --json: {"team","state",
"ended":[{"name","pid"}],"archive","tasks"}; tasks is kept, archived or removed;
with --plan as for down.`,
		RunE: a.TeamArg(app.InTeam(a.Team, func(ctx context.Context, op operator.Operator, name protocol.TeamName, _ []string) error {
			if plan {
				return planEnd(ctx, a, op, name)
			}
			do.Report = func(r inspect.Running, ends bool) { sayEnding(a, r, ends) }
			d, err := teams.Of(op).Delete(ctx, name, do)
			if err != nil {
				return err
			}
			return a.Give(d, view.DeletedPage(d), func() {
				if d.Archive != "" {
					a.Talk("what it left is in %s", d.Archive)
				}
			})
		})),
	}
	app.PlanFlag(cmd, &plan, "show what runs in it, and delete nothing")
	cmd.Flags().BoolVar(&do.Force, "force", false, "end its running members first, and say which")
	cmd.Flags().BoolVar(&do.Tasks, "tasks", false, "also delete the task list (default: it stays)")
	cmd.Flags().BoolVar(&do.Keep, "archive", false, "archive also the files of a team that waggle has no records of")
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
