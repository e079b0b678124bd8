package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/teamcmd"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
)

// sendFlags are the flags of send.
type sendFlags struct {
	mail.Message
	file, wait string
	timeout    time.Duration
	metadata   []string
	ends       bool // Expires was given
}

func sendCmd(a *app.App) *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send TO [TEXT | -]",
		Short: "Send a message to a member, or to everyone with '*'",
		Long: `Send a message to a member's mailbox. TO is a name, name@team, team-lead (or lead),
'*' for everyone but the sender, or an editor, bridge:ID.

@NAME, @PID or @SESSION-ID is a session of Claude Code that runs on this machine and
that waggle does not run (NAME alone where no member has it), or an adopted member that
is one: the message goes to its messaging socket. The session reads it
as a message of another session, without authority. Its client confirms no delivery: the
state of such a message is written. The client drops a message that repeats the last one
of the same sender, one beyond a rate, and one for which a busy session has no room: send
waits up to 10 s until the message would not be dropped, then exits 8. A session whose
client has no socket is an error (6).

TO may also be the socket of a running member, of a session or of another program of
yours, uds:PATH or an absolute path: the program gets the frame of a session's message,
and its first line is shown as the answer. Or it is a waggle endpoint of another process,
http://HOST:PORT/v1/TEAM/MEMBER (see waggle serve; the token is WAGGLE_TOKEN, or this
state's own).

TEXT '-' reads stdin. A message has no authority; text that decodes as a control message
is refused.

A message to a member is recorded before it is sent: waggle msg show ID shows its states,
msg withdraw ID withdraws it until the member has taken it. Once recorded, the send has
succeeded; the state is queued until the process that leads has put the message into the
mailbox. --id makes a retry harmless: the same text under the same id is sent once. A
member that is idle goes on in its session. One that has left or will not be restarted is
an error (6), with the command that brings it back (waggle resume NAME); one that is busy,
has not started yet, or waits for its restart takes the message later.

--wait delivered waits until the member's session has the message, --wait acked until
the turn that got it has ended; exit 4 when that takes longer than
--timeout, with the state that was reached, 5 when the member ends first, and 6 when
the message is refused or withdrawn.

A message to everyone is one message for each member, with a line and a result each. The
exit code is that of the failures when they all have the same, else 1; the other messages
were sent.

--priority says when a busy member gets it: normal after its turn; next-tool before its
next tool call, if its agent supports that; interrupt stops its turn, whose task stays
open. Only the lead's own messages have a priority, and only from their record.

--json: {"results":[{"to","msg_id","state","ahead","detail","error"}]}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ends = cmd.Flags().Changed("until")
			return send(cmd.Context(), a, f, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "file", "", "read the text from a file")
	fl.StringVar(&f.Summary, "summary", "", "5 to 10 words for a notification (default: the first line)")
	fl.StringVar(&f.Color, "color", "", "the sender's colour")
	fl.StringVar((*string)(&f.Priority), "priority", string(record.PriorityNormal), "normal, next-tool or interrupt")
	fl.StringVar(&f.Supersedes, "supersedes", "", "replace this message (a msg_id), if nobody has taken it")
	fl.DurationVar(&f.Expires, "until", 0, "do not deliver it any more after this long")
	fl.StringVar(&f.ID, "id", "", "the message's id, a UUID: sent once, however often the command is repeated")
	teamcmd.MetadataFlag(cmd, &f.metadata)
	fl.StringVar(&f.wait, "wait", "", "wait until it is delivered or acked")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "with --wait: how long")
	app.OneOf(cmd, "priority", "normal", "next-tool", "interrupt")
	app.OneOf(cmd, "wait", "delivered", "acked")
	return cmd
}

func send(ctx context.Context, a *app.App, f sendFlags, args []string) error {
	want, ok := map[string]mail.Delivery{"": "", "delivered": mail.Delivered, "acked": mail.Acknowledged}[f.wait]
	if !ok || f.ends && f.Expires <= 0 {
		return &operator.Error{Kind: operator.Usage, Op: "send", Msg: "--wait is delivered or acked, and --until is longer than 0"}
	}
	m := f.Message
	m.As, m.Want = a.Flags.As, want
	var err error
	if m.Text, err = messageText(a, args[1:], f.file); err != nil {
		return err
	}
	if m.Metadata, err = teamfile.ParseMetadata(f.metadata); err != nil {
		return &operator.Error{Kind: operator.Usage, Op: "send", Err: err}
	}
	if what, ok := strings.CutPrefix(args[0], "@"); ok {
		op, is, err := toSession(ctx, a, what)
		if err != nil {
			return err
		}
		if is {
			return sendSession(ctx, a, op, what, m)
		}
	}
	to, err := protocol.ParseAddress(args[0])
	if err != nil {
		return &operator.Error{Kind: operator.Usage, Op: "send", Err: err}
	}
	if to.Team != "" && a.Flags.Team == a.Env("WAGGLE_TEAM") { // the address names a team, and --team does not
		a.Flags.Team = string(to.Team)
	}
	op, name, err := teamOf(a, to)
	m.To = to
	var results []mail.Sent
	if err == nil {
		results, err = mail.Of(op).Send(ctx, name, m)
	}
	if operator.KindOf(err) == operator.NotFound && a.Flags.Team == "" && to.Scheme == protocol.SchemeMember && to.Team == "" {
		// No member here has the name; a session may.
		if op, oerr := a.Op(); oerr == nil && mail.Of(op).HasSession(args[0]) {
			return sendSession(ctx, a, op, args[0], m)
		}
	}
	if err != nil {
		return err
	}
	if want != "" {
		if err := mail.Of(op).Await(ctx, results, want, f.timeout); err != nil {
			return err
		}
	}
	return saySent(a, results)
}

// toSession reports whether @NAME names a session rather than a member of the team.
func toSession(ctx context.Context, a *app.App, what string) (op operator.Operator, is bool, err error) {
	to, perr := protocol.ParseAddress(what)
	if perr == nil && (to.Scheme != protocol.SchemeMember || to.Team != "") {
		return op, false, nil // @*, @name@team
	}
	if op, err = a.Op(); err != nil {
		return op, false, err
	}
	member := false
	name, terr := op.Pick(a.Flags.Team)
	if terr == nil && perr == nil {
		if cfg, err := op.Listing(ctx, name); err == nil {
			m, ok := cfg.Member(to.Member)
			member = ok && !m.Gone()
		}
	}
	switch session := mail.Of(op).HasSession(what); {
	case session && member && a.Flags.Team == "":
		return op, false, &operator.Error{Kind: operator.Usage, Op: "send", Msg: fmt.Sprintf("@%s is a member of team %s and a session", what, name),
			Advice: fmt.Sprintf("the member: waggle send %s; the session: waggle send @PID (waggle status shows it)", what)}
	case session && !member:
		return op, true, nil
	}
	return op, perr != nil || terr != nil && a.Flags.Team == "", nil
}

func sendSession(ctx context.Context, a *app.App, op operator.Operator, what string, m mail.Message) error {
	results, err := mail.Of(op).SendSession(ctx, what, m)
	if err != nil {
		return err
	}
	return saySent(a, results)
}

// teamOf picks the team of an address: for an address in a team as usual, for any other only the
// named one.
func teamOf(a *app.App, to protocol.Address) (operator.Operator, protocol.TeamName, error) {
	if to.Scheme == protocol.SchemeMember || to.Scheme == protocol.SchemeBroadcast || to.Scheme == protocol.SchemeBridge || a.Flags.Team != "" {
		return a.Team()
	}
	op, err := a.Op()
	return op, "", err
}

// messageText returns TEXT, stdin for "-", or the content of --file.
func messageText(a *app.App, args []string, file string) (string, error) {
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
			return "", &operator.Error{Kind: operator.Failed, Op: "send", Err: oerr}
		}
		defer f.Close()
		b, err = io.ReadAll(io.LimitReader(f, protocol.MaxText+1))
	case args[0] == "-":
		b, err = io.ReadAll(io.LimitReader(a.In, protocol.MaxText+1))
	default:
		return args[0], nil
	}
	if err != nil {
		return "", &operator.Error{Kind: operator.Usage, Op: "send", Err: err}
	}
	return string(b), nil
}

func saySent(a *app.App, results []mail.Sent) error {
	if err := a.Give(map[string]any{"results": results}, view.SentPage(results)); err != nil {
		return err
	}
	return mail.Exit(results)
}
