package app

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// OldFlags makes older spellings of a command's flags mean the present ones. Help shows the present
// ones only.
func OldFlags(cmd *cobra.Command, present map[string]string) {
	before := cmd.Flags().GetNormalizeFunc()
	cmd.Flags().SetNormalizeFunc(func(fs *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := present[name]; ok {
			name = now
		}
		return before(fs, name)
	})
}

// PlanFlag adds --plan, with which a command shows what it would do and changes nothing. --dry-run is
// its older spelling.
func PlanFlag(cmd *cobra.Command, plan *bool, usage string) {
	OldFlags(cmd, map[string]string{"dry-run": "plan"})
	cmd.Flags().BoolVar(plan, "plan", false, usage)
}

// RequirePlanFlag adds --require-plan. --plan is its older spelling: it is no preview here.
func RequirePlanFlag(cmd *cobra.Command, require *bool, usage string) {
	OldFlags(cmd, map[string]string{"plan": "require-plan"})
	cmd.Flags().BoolVar(require, "require-plan", false, usage)
}

// OldMember adds an older flag that names the member, which is an argument now. Help does not show it.
func OldMember(cmd *cobra.Command, flag string, member *string) {
	cmd.Flags().StringVar(member, flag, "", "the member: an argument now")
	Must(cmd.Flags().MarkHidden(flag))
}
