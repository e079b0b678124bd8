package cli

import (
	_ "embed"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
)

//go:embed skill.md
var skill string

func skillCmd(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "skill",
		Short: "Print a SKILL.md with which your own agent session reads members",
		Long: `Print a SKILL.md for your own agent session: it then asks members, reads
their output, compares their changes and proposes new ones. It names no command that
decides anything; what waits for an answer stays yours. To install it for Claude Code:

    mkdir -p ~/.claude/skills/waggle && waggle skill > ~/.claude/skills/waggle/SKILL.md`,
		RunE: func(*cobra.Command, []string) error {
			if a.Flags.JSON {
				return a.Document(map[string]string{"name": "waggle", "text": skill})
			}
			return a.Put(skill)
		},
	}
}
