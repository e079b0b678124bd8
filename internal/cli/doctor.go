package cli

import (
	"os"

	"github.com/spf13/cobra"

	"waggle/operator"
	"waggle/operator/doctor"
)

func doctorCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "What works on this machine, and what to do about the rest",
		Long:  "Report versions, the wire tree, locks, tmux, bubblewrap, Claude Code sessions without the hooks of waggle, and problems, each with the next command to type. Changes nothing. Exits 1 when there is a problem.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			op, err := a.op()
			if err != nil {
				return err
			}
			o := doctor.Options{Env: a.env}
			if o.ClaudeDir, err = a.claudePath(); err != nil {
				return err
			}
			if o.Cwd, err = os.Getwd(); err != nil {
				return err
			}
			fs, err := doctor.Of(op).Examine(cmd.Context(), o)
			if err != nil {
				return err
			}
			spellFindings(fs)
			return a.sayFindings(fs)
		},
	}
}

func (a *App) sayFindings(fs []doctor.Finding) error {
	bad := false
	for _, f := range fs {
		bad = bad || f.Status == doctor.Problem
	}
	if a.flags.json {
		if err := a.document(map[string]any{"findings": fs}); err != nil {
			return err
		}
	} else {
		for _, f := range fs {
			mark := map[doctor.Status]string{doctor.OK: green("ok     "), doctor.Note: yellow("note   "), doctor.Problem: red("problem")}[f.Status]
			a.say("%s %s  %s", mark, bold(f.What), operator.Visible(f.Detail))
			if f.Next != "" {
				a.say("        %s %s", faint("next:"), f.Next)
			}
		}
	}
	if bad {
		return exitError(ExitFailed)
	}
	return nil
}
