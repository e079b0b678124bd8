package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"waggle"
	"waggle/internal/cli/app"
	"waggle/internal/view"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/mail"
)

func inboxCmd(a *app.App) *cobra.Command {
	var unread, mark, follow, news, archive, address, prompt bool
	cmd := &cobra.Command{
		Use:               "inbox [NAME]",
		Short:             "Show a member's messages, by default the lead's; marks nothing",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.CompleteMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			member := waggle.Lead
			if len(args) > 0 {
				to, err := waggle.ParseAddress(args[0])
				if err != nil || to.Scheme != waggle.SchemeMember {
					return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: args[0] + " is not a member's name", Err: err}
				}
				member = to.Member
			}
			op, name, err := a.Team()
			if err != nil {
				return err
			}
			if address {
				return sayAddress(cmd.Context(), a, op, name, member)
			}
			if news && member != waggle.Lead {
				return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: "--news is for the lead's mailbox: members report their status to the lead only"}
			}
			b := inboxView{a: a, op: op, team: name, member: member, unread: unread, mark: mark, news: news, archive: archive, seen: map[string]bool{}}
			if archive && (follow || mark) {
				return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: "--archive shows what is over: nothing arrives there, and nothing is unread"}
			}
			if prompt && (follow || archive || news) {
				return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: "--as-prompt gives what is unread in the mailbox, once",
					Advice: "leave out --follow, --archive and --news"}
			}
			if prompt {
				return b.prompt(cmd.Context())
			}
			if follow {
				return b.follow(cmd.Context())
			}
			return b.once(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&unread, "unread", false, "only what is unread")
	cmd.Flags().BoolVar(&mark, "mark-read", false, "mark what is shown as read")
	cmd.Flags().BoolVar(&archive, "archive", false, "show what is kept of the member's mail outside its mailbox")
	cmd.Flags().BoolVar(&prompt, "as-prompt", false, "give what is unread as one message for an agent, a teammate-message block each; nothing\nwhen nothing is unread (with --json a list of {\"type\",\"message\",\"isMeta\"})")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on and show what arrives (with --json one entry a line)")
	cmd.Flags().BoolVar(&address, "address", false, "show the address, uds:PATH, at which other sessions' words to NAME are taken now\n(the lead's: the operator's socket)")
	cmd.Flags().BoolVar(&news, "news", false, "of the members' status only what is worth a turn: a result, a failure,\nthe first idle after work, and when all are idle; takes in what they said when nobody leads")
	return cmd
}

// sayAddress shows the address at which a member takes messages.
func sayAddress(ctx context.Context, a *app.App, op operator.Operator, team waggle.TeamName, member waggle.MemberName) error {
	at, err := mail.Of(op).SocketAddress(ctx, team, member)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.Document(view.AddressDocument{Address: at, Member: string(member), Team: string(team)})
	}
	a.Say("%s", operator.Visible(at))
	return nil
}

type inboxView struct {
	a            *app.App
	op           operator.Operator
	team         waggle.TeamName
	member       waggle.MemberName
	unread, mark bool
	news         bool
	told         journal.Seq // news up to this seq were shown
	archive      bool
	seen         map[string]bool
}

func (b *inboxView) read(ctx context.Context) (*mail.Inbox, error) {
	read := mail.Of(b.op).Inbox
	if b.archive {
		read = mail.Of(b.op).Archived
	}
	in, err := read(ctx, b.team, b.member, b.unread)
	if err != nil {
		return nil, err
	}
	if b.news {
		in.Entries = slices.DeleteFunc(in.Entries, mail.IsStatus)
		if in.News, b.told, err = mail.Of(b.op).News(ctx, b.team, b.told); err != nil {
			return nil, err
		}
	}
	b.a.Notes(in.Reports)
	return in, nil
}

func (b *inboxView) once(ctx context.Context) error {
	in, err := b.read(ctx)
	if err != nil {
		return err
	}
	page := view.InboxPage(in)
	if len(page) == 0 && !b.a.Flags.JSON {
		b.a.Talk("no messages for %s in team %s", in.Member, in.Team)
	}
	if err := b.a.Give(view.Inbox(in), page); err != nil {
		return err
	}
	if b.mark {
		return mail.Of(b.op).MarkRead(ctx, in)
	}
	return nil
}

// prompt prints unread mail as a message for an agent, and then marks it.
func (b *inboxView) prompt(ctx context.Context) error {
	b.unread = true
	in, err := b.read(ctx)
	if err != nil {
		return err
	}
	text, err := mail.Of(b.op).Attach(ctx, in)
	if err != nil {
		return err
	}
	if b.a.Flags.JSON {
		err = b.a.Document(view.Attachments(text))
	} else if text != "" {
		_, err = io.WriteString(b.a.Out, operator.VisibleStyled(text)+"\n")
	}
	if err != nil || !b.mark {
		return err
	}
	return mail.Of(b.op).MarkRead(ctx, in)
}

func (b *inboxView) follow(ctx context.Context) error {
	watch, cancel := context.WithCancel(ctx)
	nudges, err := mailbox.Watch(watch, mailbox.WatchOptions{}, b.op.Boxes(b.team).Dirs()...)
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel()
		for range nudges {
		}
	}()
	for {
		in, err := b.read(ctx)
		if err != nil {
			return err
		}
		for _, e := range in.Entries {
			if b.seen[e.ID] {
				continue
			}
			b.seen[e.ID] = true
			if !b.a.Flags.JSON {
				b.a.ShowPage(view.EntryPage(e), b.team, nil)
			} else if err := b.a.Line(view.Entry(e)); err != nil {
				return err
			}
		}
		if !b.a.Flags.JSON {
			b.a.ShowPage(view.NewsPage(in.News), b.team, nil)
		} else if len(in.News) > 0 { // one line for each wake-up of the lead's session
			if err := b.a.Line(view.NewsDocument{News: in.News}); err != nil {
				return err
			}
		}
		if in.Gone {
			return &operator.Error{Kind: operator.NotFound, Op: "inbox", Msg: "nothing can arrive any more",
				Advice: "waggle status" + b.a.Scope(b.team)}
		}
		if b.mark {
			if err := mail.Of(b.op).MarkRead(ctx, in); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil // Ctrl-C is how one stops following
		case <-nudges:
		}
	}
}
