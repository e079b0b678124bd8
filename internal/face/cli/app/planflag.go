package app

import "github.com/spf13/cobra"

// PlanFlag adds --plan, with which a command shows what it would do and changes nothing.
func PlanFlag(cmd *cobra.Command, plan *bool, usage string) {
	cmd.Flags().BoolVar(plan, "plan", false, usage)
}
