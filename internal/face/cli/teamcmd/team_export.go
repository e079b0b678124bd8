package teamcmd

import (
	"io"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/teams"
)

func teamExportCmd(a *app.App) *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "export TEAM [--format markdown|json|state] [-o FILE]",
		Short: "Write a team's members, messages and tasks as text or JSON",
		Long: `Write a team's members, messages and tasks, for people or for programs.

  markdown  everything, for people; text of members cannot become markup
  json      everything, for programs (also with --json)
  state     who is in the team: {"team","created","active_members","total_members"}

The command changes nothing. A FILE that exists is not overwritten.`,
		RunE: a.TeamArg(func(cmd *cobra.Command, _ []string) error {
			if a.Flags.JSON {
				if cmd.Flags().Changed("format") && format == "markdown" {
					return &operator.Error{Kind: operator.Usage, Op: "team export", Msg: "--json and --format markdown contradict each other"}
				}
				if format == "markdown" {
					format = "json"
				}
			}
			write, ok := exportFormats[format]
			if !ok {
				return &operator.Error{Kind: operator.Usage, Op: "team export", Msg: "there is no format " + format, Near: []string{"markdown", "json", "state"}}
			}
			op, name, err := a.TeamRead(cmd.Context())
			if err != nil {
				return err
			}
			e, err := teams.Of(op).ExportTeam(cmd.Context(), name)
			if err != nil {
				return err
			}
			a.Notes(e.Problems)
			if out == "" || out == "-" {
				return write(a.Out, e)
			}
			if err := newFile("team export", out, func(w io.Writer) error { return write(w, e) }); err != nil {
				return err
			}
			a.Talk("team %s is in %s", name, out)
			return nil
		}),
	}
	cmd.Flags().StringVar(&format, "format", "markdown", "markdown, json or state")
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write (default: stdout)")
	app.OneOf(cmd, "format", "markdown", "json", "state")
	return cmd
}

// exportFormats write an export.
var exportFormats = map[string]func(io.Writer, *teams.TeamExport) error{
	"markdown": func(w io.Writer, e *teams.TeamExport) error {
		_, err := io.WriteString(w, view.ExportMarkdown(e))
		return err
	},
	"json": func(w io.Writer, e *teams.TeamExport) error { return exportJSON(w, e) },
	"state": func(w io.Writer, e *teams.TeamExport) error {
		return exportJSON(w, view.ExportStateDocument{ActiveMembers: e.ActiveMembers, Created: e.Created, Team: e.Team, TotalMembers: e.TotalMembers})
	},
}

func exportJSON(w io.Writer, v any) error {
	doc, err := page.Document(v)
	return app.WriteJSON(w, doc, err)
}
