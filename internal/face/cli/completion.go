package cli

import (
	"io"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
)

// bashWords does for the script of bash what it takes from the package bash-completion, where that is not installed: it
// sets cur, prev, words and cword, and does not part words at = and :.
const bashWords = `
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
_get_comp_words_by_ref()
{
    local i w gap before='' line=$COMP_LINE
    words=()
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        w=${COMP_WORDS[i]}
        gap=${line%%"$w"*}
        line=${line#*"$w"}
        if ((i > 0)) && [[ -z $gap && ($w =~ ^[=:]+$ || $before =~ ^[=:]+$) ]]; then
            words[${#words[@]}-1]+=$w
        else
            words+=("$w")
        fi
        ((i != COMP_CWORD)) || cword=$((${#words[@]} - 1))
        before=$w
    done
    cur=${words[cword]}
    prev=''
    ((cword == 0)) || prev=${words[cword-1]}
}
fi
`

// completeBelow gives root the command completion, for bash, zsh and fish.
func completeBelow(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil || cmd == root {
		return
	}
	for _, sub := range app.Commands(cmd) {
		suggest(sub)
		switch sub.Name() {
		case "powershell":
			cmd.RemoveCommand(sub)
		case "bash":
			sub.RunE = func(cmd *cobra.Command, _ []string) error {
				short, _ := cmd.Flags().GetBool("no-descriptions")
				return BashCompletion(root, cmd.OutOrStdout(), !short)
			}
			sub.Short = "Print the completion for bash, which needs no other package"
			sub.Long = "Print the completion for bash. It needs no other package. The line\n\n  source <(waggle completion bash)\n\nin ~/.bashrc loads it."
		}
	}
}

// BashCompletion writes the completion for bash, with descriptions or without.
func BashCompletion(root *cobra.Command, w io.Writer, descriptions bool) error {
	if _, err := io.WriteString(w, "# bash completion for waggle\n"+bashWords+"\n"); err != nil {
		return err
	}
	return root.GenBashCompletionV2(w, descriptions)
}
