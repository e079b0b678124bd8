package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/protocol"
	"waggle/task"
)

func taskArtifactsCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "artifacts [MEMBER [PATH]]",
		Short: "List the files that members have made, or print one",
		Long: `List the files in each member's directory: its log (output.log, with older parts
.1, .2, …), task-status.json, and its files in artifacts/, whose path its commands find in
WAGGLE_ARTIFACTS. With PATH, as the list has it, the command prints that file, on a
terminal with control characters as codes. --json: {"artifacts":[{"member","kind","path",
"size","modified"}]}; kind is artifact, log or status.`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeArtifacts(a, args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			who := protocol.MemberName("")
			if len(args) > 0 {
				var err error
				if who, err = member("task artifacts", args[0]); err != nil {
					return err
				}
				_, of, err := a.TeamWith(cmd.Context(), args[0])
				if err == nil {
					a.Flags.Team = of // else the directory may be that of a member that no team has
				}
			}
			if len(args) > 1 {
				op, name, err := a.TaskTeamRead(cmd.Context())
				if err != nil {
					return err
				}
				f, err := board.Of(op).OpenArtifact(cmd.Context(), name, who, args[1])
				if err != nil {
					return err
				}
				return errors.Join(print(a, f), f.Close())
			}
			return a.EachTeam(cmd.Context(), a.TaskTeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
				rows, problems, err := board.Of(op).Artifacts(cmd.Context(), name, who)
				if err != nil {
					return app.Output{}, err
				}
				a.Notes(problems)
				return app.Output{Doc: map[string]any{"artifacts": rows}, Page: view.ArtifactsPage(rows, a.Now()), None: "no member has left a file"}, nil
			})
		},
	}
}

// print copies a file to stdout; on a terminal control sequences are written as codes.
func print(a *app.App, r io.Reader) error {
	if !app.Tty(a.Out) {
		_, err := io.Copy(a.Out, r)
		return err
	}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			fmt.Fprintln(a.Out, operator.Visible(strings.TrimSuffix(line, "\n")))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// completeArtifacts offers members that have files, and then their files.
func completeArtifacts(a *app.App, args []string) (out []string) {
	op, name, err := a.TaskTeam()
	if err != nil || len(args) > 1 {
		return nil
	}
	list, err := task.Open(op.Root.TasksDir(name), name, task.Options{})
	if err != nil {
		return nil
	}
	if len(args) == 0 {
		names, _ := list.Members()
		return protocol.Strings(names)
	}
	who, err := protocol.ParseMember(args[0])
	if err != nil {
		return nil
	}
	files, err := task.Files(list.MemberDir(who))
	if err != nil {
		return nil
	}
	for _, f := range files {
		out = append(out, f.Path)
	}
	return out
}
