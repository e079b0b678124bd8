package worker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"waggle/agent"
	"waggle/boxes"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/message"
	"waggle/poll"
	"waggle/protocol"
	"waggle/team"
)

// A guest is a member of a team that another program leads. In that team it uses its own mailbox,
// the lead's mailbox to write to, and its own entry in the registry, where isActive says whether a
// turn runs. Its own files are in STATE.

// Guest has the settings of a guest.
type Guest struct {
	Journal journal.Name // the journal with its membership
	Agent   string       // the kind of its agent
	Spec    []byte       // the agent's settings
	Cwd     string
	Plan    bool // it needs an approved plan before it changes anything
}

// activeWait is the time limit for the lock of another program's registry. isActive is only a hint.
const activeWait = 50 * time.Millisecond

// unlistedGrace is how long a guest's entry may be missing: another program's rewrite can
// lose it for a moment.
const unlistedGrace = 5 * time.Second

// Foreign is the registry of a team that another program leads, as a guest uses it.
type Foreign struct {
	root team.Root
	team protocol.TeamName
	name protocol.MemberName
}

// entry is the member's entry; nil: there is none.
func (r *Foreign) entry(ctx context.Context, o team.Options) (m *team.Member, err error) {
	t, err := team.Open(r.root, r.team, o)
	var c *team.Config
	if err == nil {
		c, err = t.Load(ctx)
	}
	if _, missing := errors.AsType[*team.NotFoundError](err); missing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if m, _ = c.Member(r.name); m == nil || m.Gone() {
		return nil, nil
	}
	return m, nil
}

// setActive writes isActive of that entry. It tries for the lock once, for a short time.
func (r *Foreign) setActive(ctx context.Context, active bool) error {
	t, err := team.Open(r.root, r.team, team.Options{Deadline: activeWait})
	if err != nil {
		return err
	}
	return t.SetActive(ctx, r.name, active)
}

// activity is what the registry of another program's team says of a guest's turns.
type activity struct {
	sync.Mutex       // held while it is written
	due        *bool // isActive that is still to be written; nil: what is there is current
}

// active writes into the registry of another program's team whether a turn runs. It tries once and
// does not wait: what could not be written is tried again in each pass.
func (w *Worker) active(active bool) {
	if w.p.Foreign == nil {
		return
	}
	w.activity.Lock()
	defer w.activity.Unlock()
	w.activity.due = &active
	w.writeActive()
}

// writeActive writes what is due. activity is held.
func (w *Worker) writeActive() {
	if w.activity.due == nil {
		return
	}
	err := w.p.Foreign.setActive(context.WithoutCancel(w.ctx), *w.activity.due)
	w.trouble.Note("isActive", err, "isActive in the registry is not current, will retry")
	if err == nil {
		w.activity.due = nil
	}
}

// keepEntry keeps isActive of a guest current, and ends a guest whose entry the registry of its team has
// lost.
func (w *Worker) keepEntry(ctx context.Context) error {
	if w.p.Foreign == nil {
		return nil
	}
	w.activity.Lock()
	w.writeActive()
	w.activity.Unlock()
	entry, err := w.p.Foreign.entry(ctx, team.Options{Deadline: activeWait})
	w.trouble.Note("registry", err, "the registry of the team cannot be read, will retry")
	now := w.p.Minter.Now()
	switch {
	case err != nil:
		return ctx.Err()
	case entry != nil:
		w.unlisted = time.Time{}
	case w.unlisted.IsZero():
		w.unlisted = now
	case now.Sub(w.unlisted) >= unlistedGrace:
		return fmt.Errorf("the registry of the team does not show %s any more: %w", w.p.Fold.Name, ErrLeft)
	}
	return nil
}

// kept returns the messages that an earlier process took and removed from the mailbox.
func (w *Worker) kept() []mailbox.Entry {
	if w.p.Kept == nil {
		return nil
	}
	entries, err := w.p.Kept()
	w.trouble.Note("archive", err, "the archive of read mail cannot be read")
	return entries
}

var _ poll.Reader = (*Worker)(nil)

// Words implements poll.Reader.
func (w *Worker) Words(in message.Incoming) bool { return w.p.Fold.Guest && in.IsWords() }

// errNotLead refuses messages of a guest to other members.
var errNotLead = errors.New("a guest writes only to the lead: send it to team-lead")

// guestFiles opens the files of the wire tree that a guest uses and starts watching them.
func (p *Parts) guestFiles(o Options, m *control.Member) (stop func(), err error) {
	mail := boxes.Of(o.Root, o.Team)
	own, err := mail.Open(m.Name, mailbox.Options{Report: poll.LogReports(o.Log)})
	if err != nil {
		return nil, err
	}
	var box mailbox.Store = own
	if mail.Retention == mailbox.Prune {
		kept := mailbox.Archive{Dir: boxes.MailDir(o.State.Archive(), m.Name)}
		box, p.Kept = keeping{own, kept}, kept.Entries
	}
	if err := p.mailboxes(o, mail, m, box, "", o.Guest.Agent, o.Guest.Spec); err != nil {
		return nil, err
	}
	p.LeadPrunes = true // the other program writes no journal
	p.Peer = func(protocol.MemberName) (mailbox.Store, error) { return nil, errNotLead }
	p.Foreign = &Foreign{o.Root, o.Team, m.Name}
	if o.Guest.Agent == "exec" {
		p.Agent = onWords{p.Agent}
	}
	p.Cwd, p.Plans = o.Guest.Cwd, o.Guest.Plan
	shut := p.place(o, filepath.Join(o.State.Path, "guests", string(m.Name)))
	return p.watch(shut, append(mail.Dirs(), o.Root.TeamDir(o.Team), o.State.JournalOf(string(o.Guest.Journal)))...)
}

// keeping is a guest's mailbox. In a dialect that removes read messages, it first copies them into
// the archive.
type keeping struct {
	mailbox.Store
	archive mailbox.Archive
}

func (k keeping) MarkRead(ctx context.Context, ids ...mailbox.ID) error {
	entries, err := k.Entries(ctx)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(entries, func(e mailbox.Entry) bool { return e.Envelope.Read || !slices.Contains(ids, e.ID) })
	if err := k.archive.Keep(kept...); err != nil {
		return err
	}
	return k.Store.MarkRead(ctx, ids...)
}

// onWords gives plain words as a task to a guest's agent: a command agent reads them as it reads a
// task's instructions, and asks before it runs as it does for a task.
type onWords struct{ agent.Agent }

func (a onWords) Turn(ctx context.Context, h agent.Host, work agent.Work) (agent.Result, error) {
	if work.Task == nil {
		work.Task, work.Mail = &agent.Task{Subject: "words of " + work.Mail[0].From, Instructions: protocol.TextForm(work.Mail...), Cwd: work.Cwd}, nil
	}
	return a.Agent.Turn(ctx, h, work)
}
