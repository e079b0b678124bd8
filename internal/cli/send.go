package cli

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/operator"
)

func sendCmd(a *App) *cobra.Command {
	var file, summary, color string
	cmd := &cobra.Command{
		Use:   "send TO [TEXT | -]",
		Short: "Send words to a member, or to everyone with '*'",
		Long: `Send words to a member's mailbox. TO is a name, name@team, team-lead (or lead),
'*' for everyone but the sender, or an editor, bridge:ID.

It may also be a running member's socket, uds:PATH or an absolute path, or a waggle
endpoint of another process, http://HOST:PORT/v1/TEAM/MEMBER (see waggle serve; the
token is WAGGLE_TOKEN, or this state's own).

TEXT '-' reads stdin. Words never carry authority; text that looks like a control
message is refused.`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := waggle.ParseAddress(args[0])
			if err != nil {
				return &operator.Error{Code: operator.CodeUsage, Op: "send", Err: err}
			}
			text, err := a.text(args[1:], file)
			if err != nil {
				return err
			}
			if a.flags.team == "" && to.Team != "" {
				a.flags.team = string(to.Team)
			}
			op, name, err := a.teamOf(to)
			if err != nil {
				return err
			}
			results, err := op.Send(cmd.Context(), name, operator.Message{To: to, Text: text, Summary: summary, Color: color, As: a.flags.as})
			if err != nil {
				return err
			}
			return a.saySent(results)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "read the text from a file")
	cmd.Flags().StringVar(&summary, "summary", "", "5 to 10 words for a notification (default: the first line)")
	cmd.Flags().StringVar(&color, "color", "", "the sender's colour")
	return cmd
}

// teamOf picks the team of an address: for one that is in a team as always, for
// any other only the one that was named.
func (a *App) teamOf(to waggle.Address) (operator.Operator, waggle.TeamName, error) {
	if to.Scheme == waggle.SchemeMember || to.Scheme == waggle.SchemeBroadcast || to.Scheme == waggle.SchemeBridge || a.flags.team != "" {
		return a.team()
	}
	op, err := a.op()
	return op, "", err
}

// text is TEXT, stdin for "-", or the content of --file.
func (a *App) text(args []string, file string) (string, error) {
	var b []byte
	var err error
	switch {
	case file != "" && len(args) > 0:
		err = errors.New("give TEXT or --file, not both")
	case file == "" && len(args) == 0:
		err = errors.New("give TEXT, - for stdin, or --file")
	case file != "":
		f, oerr := os.Open(file)
		if oerr != nil {
			return "", &operator.Error{Code: operator.CodeFailed, Op: "send", Err: oerr}
		}
		defer f.Close()
		b, err = io.ReadAll(io.LimitReader(f, waggle.MaxText+1))
	case args[0] == "-":
		b, err = io.ReadAll(io.LimitReader(a.In, waggle.MaxText+1))
	default:
		return args[0], nil
	}
	if err != nil {
		return "", &operator.Error{Code: operator.CodeUsage, Op: "send", Err: err}
	}
	return string(b), nil
}

func (a *App) saySent(results []operator.Sent) error {
	if a.flags.json {
		if err := a.document(map[string]any{"results": results}); err != nil {
			return err
		}
	}
	var first error
	for _, r := range results {
		if r.Err() != nil && first == nil {
			first = r.Err()
		}
		if a.flags.json {
			continue
		}
		switch {
		case r.Err() != nil && len(results) > 1:
			a.say("%s  %s: %s", r.To, red("not sent"), operator.Visible(r.Error))
		case r.Err() != nil: // said once, below
		case r.Ahead > 0:
			a.say("%s  %s, %d unread ahead of it (%s)", r.To, green(r.State), r.Ahead, r.MsgID)
		default:
			a.say("%s  %s (%s)", r.To, green(r.State), r.MsgID)
		}
	}
	return first
}
