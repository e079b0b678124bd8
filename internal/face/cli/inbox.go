package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli/app"
	"waggle/internal/face/cli/decidecmd"
	"waggle/internal/face/view"
	"waggle/internal/face/view/page"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
)

func inboxCmd(a *app.App) *cobra.Command {
	var in inboxView
	var follow, address, prompt bool
	cmd := &cobra.Command{
		Use:   "inbox [NAME]",
		Short: "Show a member's messages, by default the lead's; marks nothing",
		Long: `Show the messages in a member's mailbox, by default in the lead's, oldest first, a
sentence each: with the handle of the request that it asks or answers, and whether that is
open or how and by whom it was answered. --raw shows their kind and their text as it is.
NAME is found in all teams. Only --mark-read marks them as read. Without NAME, where there
are several teams and none of them is that of this directory, it shows, or follows, the
messages for the lead of each. With --news and no leader, the command first records the
reports that have arrived.

--json: {"team","member","entries":[{"index","from","timestamp","read","kind","text",
"payload","summary","color","msg_id","warnings","id","archive"}]}, where it is known with
"request" {"handle","status","decision","by","via","at"}, and with "reply" to a shutdown
request; with --news also "news"; with --follow one entry a line, of several teams with
"team". Of several teams: {"inboxes":[…]}.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b := in
			b.a, b.member = a, protocol.Lead
			if len(args) > 0 {
				to, err := protocol.ParseAddress(args[0])
				switch {
				case err != nil:
					return &operator.Error{Kind: operator.Usage, Op: "inbox", Err: err}
				case to.Scheme != protocol.SchemeMember:
					return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: args[0] + " is not a member's name"}
				}
				b.member = to.Member
			}
			if b.archive && (follow || b.mark) {
				return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: "--archive shows what is over: nothing arrives there, and nothing is unread"}
			}
			if prompt && (follow || b.archive || b.news) {
				return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: "--as-prompt gives what is unread in the mailbox, once",
					Advice: "leave out --follow, --archive and --news"}
			}
			var err error
			b.op, b.team, err = teamWith(cmd.Context(), a, args, b.member)
			if len(args) == 0 && operator.KindOf(err) == operator.Usage && !b.mark && !prompt {
				switch {
				case address:
					return a.EachTeam(cmd.Context(), a.TeamRead, func(op operator.Operator, name protocol.TeamName) (app.Output, error) {
						return addressOf(cmd.Context(), op, name, b.member)
					})
				case follow:
					return followAll(cmd.Context(), b)
				}
				return allInboxes(cmd.Context(), b)
			}
			if err != nil {
				return err
			}
			if b.op.Reads != nil && (b.mark || follow || b.news || address) {
				return &operator.Error{Kind: operator.Refused, Op: "inbox", Msg: "team " + string(b.team) + " has ended: nothing arrives there, and what is kept of it stays as it is",
					Advice: "waggle inbox " + string(b.member) + " --team " + string(b.team) + " shows what is kept"}
			}
			if address {
				x, err := addressOf(cmd.Context(), b.op, b.team, b.member)
				if err != nil {
					return err
				}
				return a.Give(x.Doc, x.Page)
			}
			if b.news && b.member != protocol.Lead {
				return &operator.Error{Kind: operator.Usage, Op: "inbox", Msg: "--news is for the lead's mailbox: members report their status to the lead only"}
			}
			switch {
			case prompt:
				return b.prompt(cmd.Context())
			case follow:
				b.seen = map[string]bool{}
				return follows(cmd.Context(), &b)
			}
			return b.once(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&in.unread, "unread", false, "only unread messages")
	cmd.Flags().BoolVar(&in.mark, "mark-read", false, "mark the shown messages as read")
	cmd.Flags().BoolVar(&in.archive, "archive", false, "show the archived messages of the member")
	cmd.Flags().BoolVar(&in.raw, "raw", false, "show the text of messages as it is, JSON where it is that")
	cmd.Flags().BoolVar(&prompt, "as-prompt", false, "print the unread messages as one message for an agent, a teammate-message block each,\nor nothing when none is unread (with --json a list of {\"type\",\"message\",\"isMeta\"})")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "continue, and show the messages that arrive (with --json one entry a line)")
	cmd.Flags().BoolVar(&address, "address", false, "show the address, uds:PATH, at which NAME takes messages of other sessions now\n(the lead's: the operator's socket)")
	cmd.Flags().BoolVar(&in.news, "news", false, "show of the members' reports only results, failures, the first idle after work,\nand when all are idle; without a leader, record what the members reported first")
	return cmd
}

// allInboxes shows the lead's messages in every team. A team that cannot be read is left out with a
// note.
func allInboxes(ctx context.Context, b inboxView) error {
	a := b.a
	names, err := b.op.Names()
	if err != nil {
		return err
	}
	doc, found := view.InboxList{Inboxes: []view.InboxDocument{}}, 0
	for _, b.team = range names {
		in, err := b.read(ctx)
		if err != nil {
			decidecmd.SaySkipped(a, b.team, err)
			continue
		}
		doc.Inboxes = append(doc.Inboxes, view.Inbox(in))
		found += len(in.Entries) + len(in.News)
		b.told = 0
		if !a.Flags.JSON {
			a.ShowPage(view.TeamInboxPage(in, b.raw, a.Clock()), b.team, nil)
		}
	}
	if a.Flags.JSON {
		return a.Document(doc)
	}
	if found == 0 {
		a.Talk("no messages for you in %d teams", len(names))
	}
	return nil
}

// teamWith picks the team in which a member's mailbox is read: with a NAME the team that has it, and
// without one the usual one.
func teamWith(ctx context.Context, a *app.App, args []string, member protocol.MemberName) (operator.Operator, protocol.TeamName, error) {
	if len(args) == 0 {
		return a.TeamRead(ctx)
	}
	op, of, err := a.TeamWith(ctx, string(member))
	if err != nil {
		return op, "", err
	}
	if of != "" {
		a.Flags.Team = of
	}
	return a.TeamRead(ctx)
}

// addressOf is the address at which a member takes messages.
func addressOf(ctx context.Context, op operator.Operator, team protocol.TeamName, member protocol.MemberName) (x app.Output, err error) {
	at, err := mail.Of(op).SocketAddress(ctx, team, member)
	if err == nil {
		x.Doc = view.AddressDocument{Address: at, Member: string(member), Team: string(team)}
		x.Page.Text(page.Plain(at))
	}
	return x, err
}

// inboxView is a mailbox that is shown, with the flags that say how.
type inboxView struct {
	a            *app.App
	op           operator.Operator
	team         protocol.TeamName
	member       protocol.MemberName
	unread, mark bool
	news         bool
	told         journal.Seq // news up to this seq were shown
	archive, raw bool
	several      bool // it is followed beside those of other teams
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
	page := view.InboxPage(in, b.raw, b.a.Clock())
	if len(page) == 0 && !b.a.Flags.JSON {
		b.a.Talk("no messages for %s in team %s", in.Member, in.Team)
	}
	if err := b.a.Give(view.Inbox(in), page); err != nil {
		return err
	}
	if b.mark && b.a.Shown() {
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
		err = b.a.Put(operator.VisibleStyled(text) + "\n")
	}
	if err != nil || !b.mark || !b.a.Shown() {
		return err
	}
	return mail.Of(b.op).MarkRead(ctx, in)
}

// followAll follows the lead's messages of every team.
func followAll(ctx context.Context, b inboxView) error {
	names, err := b.op.Names()
	if err != nil {
		return err
	}
	all := make([]*inboxView, len(names))
	for i, name := range names {
		of := b
		of.team, of.seen, of.several = name, map[string]bool{}, true
		all[i] = &of
	}
	return follows(ctx, all...)
}

// follows shows what arrives until Ctrl-C, or until nothing can arrive any more.
func follows(ctx context.Context, all ...*inboxView) error {
	ctx, stop := all[0].a.WhileShown(ctx)
	defer stop()
	var dirs []string
	for _, b := range all {
		dirs = append(dirs, b.op.Boxes(b.team).Dirs()...)
	}
	nudges, end, err := operator.Watch(ctx, 0, dirs...)
	if err != nil {
		return err
	}
	defer end()
	for {
		for _, b := range slices.Clone(all) {
			err := b.arrived(ctx)
			switch {
			case ctx.Err() != nil:
				return nil // Ctrl-C is how one stops following
			case err != nil && len(all) == 1:
				return err
			case err != nil:
				decidecmd.SaySkipped(b.a, b.team, err)
				all = slices.DeleteFunc(all, func(of *inboxView) bool { return of == b })
			}
		}
		select {
		case <-ctx.Done():
		case <-nudges:
		}
	}
}

// arrived shows the messages that it has not shown yet.
func (b *inboxView) arrived(ctx context.Context) error {
	in, err := b.read(ctx)
	if err != nil {
		return err
	}
	in.Entries = slices.DeleteFunc(in.Entries, func(e mail.InboxEntry) bool { return b.seen[e.ID] })
	if b.several && !b.a.Flags.JSON && len(in.Entries)+len(in.News) > 0 {
		b.a.Say("%s", app.Bold(string(b.team)))
	}
	for _, e := range in.Entries {
		b.seen[e.ID] = true
		if !b.a.Flags.JSON {
			b.a.ShowPage(view.EntryPage(e, b.raw, b.a.Clock()), b.team, nil)
		} else if err := b.line(e); err != nil {
			return err
		}
	}
	if !b.a.Flags.JSON {
		b.a.ShowPage(view.NewsPage(in.News, b.a.Clock()), b.team, nil)
	} else if len(in.News) > 0 { // one line for each wake-up of the lead's session
		if err := b.line(view.News(in.News)); err != nil {
			return err
		}
	}
	if in.Gone {
		return &operator.Error{Kind: operator.NotFound, Op: "inbox", Msg: "nothing can arrive any more",
			Advice: "waggle status" + b.a.Scope(b.team)}
	}
	if b.mark && b.a.Shown() {
		return mail.Of(b.op).MarkRead(ctx, in)
	}
	return nil
}

// line writes a document in one line, of several teams with its team.
func (b *inboxView) line(doc any) error {
	if b.several {
		doc = app.OfTeam(b.team, doc)
	}
	return b.a.Line(doc)
}
