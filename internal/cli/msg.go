package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"waggle/operator"
)

func msgCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "msg", Short: "One message", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(&cobra.Command{
		Use:   "show ID",
		Short: "Show a message whole, and what became of it",
		Long:  "Show a message whole, by its msg_id or the beginning of its id, and what the journals know of it.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			op, name, err := a.team()
			if err != nil {
				return err
			}
			msgs, err := op.Message(cmd.Context(), name, args[0])
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.document(map[string]any{"messages": msgs})
			}
			for _, m := range msgs {
				a.sayMessage(m)
			}
			return nil
		},
	})
	return cmd
}

func (a *App) sayMessage(m operator.StoredMessage) {
	a.say("%s %s  %s", bold("to"), m.To, faint(m.Entry.ID))
	a.sayEntry(m.Entry)
	for _, s := range m.States {
		a.say("  %s %s %s", faint(s.At), s.State, operator.Visible(s.Detail))
	}
	a.say("  %s %s", faint("raw"), operator.VisibleLines(strings.TrimSpace(string(m.Raw))))
}
