package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/backoff"
	"waggle/internal/fs/atomicfile"
	"waggle/journal"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Edited is a change that another program made to the registry. It is appended to the
// journal before the registry is repaired.
type Edited struct {
	Entry string // names the edit
	Whom  string // the members that it changed
	Why   string
	Alarm bool // it is not put right any more
	// Correct repairs it; nil: that is not possible.
	Correct func(context.Context) error
}

// RegistryBox is what the records of edits of config.json have for a mailbox.
const RegistryBox = "config.json"

// tend has the registry put right, after the record of what was wrong. The registry is a
// phone book: no error of it ends a pass.
func (l *Leader) tend(ctx context.Context) {
	if l.p.Tend == nil {
		return
	}
	e := l.p.Tend(ctx, l.live)
	if e == nil {
		return
	}
	fresh := false
	err := l.appendNow(ctx, func() ([]journal.Draft, error) {
		if fresh = !l.p.Fold.Owns(e.Entry); !fresh {
			return nil, nil
		}
		return []journal.Draft{{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: e.Entry, Box: RegistryBox, From: e.Whom, Why: e.Why}}}, nil
	})
	if l.trouble.Note("edited", err, "an edit of the registry is not on record"); err != nil {
		return
	}
	switch {
	case fresh && e.Alarm:
		l.p.Log.Warn("another program keeps changing the registry; it is left as it is now", "members", e.Whom)
	case fresh:
		l.p.Log.Warn("another program changed the registry", "members", e.Whom, "why", e.Why)
	}
	if e.Correct != nil {
		l.trouble.Note("correct", e.Correct(ctx), "the registry cannot be corrected, will retry")
	}
}

// live copies the members that are on record now; none for a team that ends or has not begun.
func (l *Leader) live() (ms []*control.Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lead := l.p.Fold; lead.Ended != nil || lead.Closing != nil {
		return nil
	}
	for _, m := range l.p.Fold.Live() {
		now := *m
		ms = append(ms, &now)
	}
	return ms
}

const (
	// tendEvery is the shortest time before a registry that could not be read or corrected is tried
	// again; it doubles up to tendMost.
	tendEvery = time.Second
	tendMost  = 4 * time.Second
	// mostEdits within editsWithin are put right; the next is an alarm.
	mostEdits   = 3
	editsWithin = time.Minute
)

// book compares the registry with the record. A process that leads corrects what other programs
// changed about recorded members; a command's pass only rebuilds a registry that cannot be read.
type book struct {
	o   Options
	log *slog.Logger

	seen  string // the file and the record when both agreed
	torn  bool   // it could not be used at the last look
	again backoff.Backoff
	fixed []time.Time
	quiet bool   // the alarm was raised, and the file has not agreed with the record since
	edit  string // the last that was told, and the entry that it has on record
	entry string
}

// tend compares. Its caller makes the changes that it returns.
func (b *book) tend(ctx context.Context, live func() []*control.Member) *Edited {
	now, members := b.o.Minter.Now(), live()
	path := b.o.Root.ConfigPath(b.o.Team)
	id, err := atomicfile.Identify(path)
	key := fmt.Sprint(id, err, onRecord(members))
	if key == b.seen && id != (atomicfile.Identity{}) || !b.again.Due(now) {
		return nil
	}
	reg, err := team.Open(b.o.Root, b.o.Team, team.Options{Deadline: shortly})
	var cfg *team.Config
	if err == nil {
		cfg, err = reg.Load(ctx)
	}
	switch {
	case ctx.Err() != nil, team.DialectOf(b.o.Team) == team.DialectSession:
		return nil
	case err != nil:
		return b.unusable(live, err, now)
	}
	b.torn = false
	who, how := compare(cfg, members)
	switch {
	case len(who) == 0:
		b.seen, b.quiet, b.edit = key, false, ""
		b.again.Reset()
		return nil
	case b.o.Writer.Operator || b.quiet:
		return nil // a command's pass does not correct what another program changed
	}
	b.again.Fail(now)
	b.fixed = slices.DeleteFunc(b.fixed, func(t time.Time) bool { return now.Sub(t) >= editsWithin })
	e := &Edited{Entry: b.named(string(cfg.AppendJSON(nil)), now), Whom: strings.Join(who, ", "), Why: how + " in " + path + "; the record has them as members"}
	if len(b.fixed) >= mostEdits {
		b.quiet, e.Alarm = true, true
		e.Why += fmt.Sprintf("; it was corrected %d times within a minute, and is left as it is now", len(b.fixed))
		return e
	}
	e.Why += ", and it is corrected"
	e.Correct = func(ctx context.Context) error {
		err := reg.Update(ctx, func(c *team.Config) error { correct(c, live()); return nil })
		if err == nil {
			b.fixed = append(b.fixed, now)
			b.again.Reset()
		}
		return err
	}
	return e
}

// unusable handles a registry that cannot be read. A process that leads reads it twice: a program
// that deletes the directory may have begun with this file.
func (b *book) unusable(live func() []*control.Member, err error, now time.Time) *Edited {
	b.again.Fail(now)
	if _, gone := atomicfile.Identify(b.o.Root.TeamDir(b.o.Team)); errors.Is(gone, fs.ErrNotExist) {
		return nil // CheckDirectory reports it
	}
	if _, ok := errors.AsType[*atomicfile.LockedError](err); ok || !b.torn && !b.o.Writer.Operator {
		b.torn = true
		return nil
	}
	return &Edited{Entry: b.named(err.Error(), now), Why: fmt.Sprintf("the registry cannot be read (%v): it is made again of the record", err),
		Correct: func(ctx context.Context) error {
			place, changed, err := team.Rebuild(ctx, b.o.Root, *Book(b.o.Team, b.o.State.UID, live(), now), b.o.State.Quarantine(), team.Options{Deadline: shortly})
			if changed && b.log != nil {
				b.log.Warn("the registry was made again of the record", "path", b.o.Root.ConfigPath(b.o.Team), "set aside", place)
			}
			return err
		}}
}

// onRecord names who is a member.
func onRecord(members []*control.Member) string {
	var s strings.Builder
	for _, m := range members {
		fmt.Fprintf(&s, " %s", m.Instance)
	}
	return s.String()
}

// ours reports a member whose entry is as the record says: what another program runs
// writes its own, and the lead's entry is not a membership of its agent.
func ours(m *control.Member) bool { return m.Trust != record.FileTrust && !m.Leads() }

// compare names the members on record that the registry shows otherwise, and how.
func compare(cfg *team.Config, members []*control.Member) (who []string, how string) {
	var what []string
	for _, m := range members {
		if !ours(m) {
			continue
		}
		change := " was removed"
		switch entry, ok := cfg.Member(m.Name); {
		case !ok:
		case entry.Gone():
			change = " has shutdownAt"
		case entry.IsActive != nil && !*entry.IsActive:
			change = " has isActive false"
		default:
			continue
		}
		who, what = append(who, string(m.Name)), append(what, string(m.Name)+change)
	}
	return who, strings.Join(what, ", ")
}

// correct makes the registry show the recorded members. It adds no other.
func correct(c *team.Config, members []*control.Member) {
	for _, m := range members {
		if !ours(m) {
			continue
		}
		if entry, ok := c.Member(m.Name); ok {
			entry.ShutdownAt, entry.IsActive = time.Time{}, new(true)
		} else {
			c.Members = append(c.Members, Entry(c.Name, m))
		}
	}
}

// named names an edit by what it made of the file and when it was seen first.
func (b *book) named(edit string, now time.Time) string {
	if b.edit != edit {
		b.edit, b.entry = edit, fmt.Sprintf("%s#%s@%d", RegistryBox, record.HashText(edit)[:16], now.UnixNano())
	}
	return b.entry
}

// Entry is a member's entry of the registry (config.json), built from the journal.
func Entry(name protocol.TeamName, m *control.Member) team.Member {
	backend := m.Backend
	if backend == "tmux-window" {
		backend = "tmux" // the name that other programs know
	}
	e := team.Member{AgentID: protocol.NewAgentID(m.Name, name), Name: m.Name, AgentType: "general-purpose", Model: cmp.Or(m.Model, "none"),
		Color: m.Color, PlanModeRequired: m.PlanRequired, JoinedAt: m.JoinedAt, Cwd: m.Cwd, Subscriptions: []string{}, BackendType: backend,
		IsActive: new(true), SpawnedAt: m.JoinedAt}
	if m.Worktree != nil {
		e.WorktreePath = m.Worktree.Path
	}
	return e
}

// Book is the phone book of a team of which only the records are left.
func Book(name protocol.TeamName, uid record.TeamUID, members []*control.Member, now time.Time) *team.Config {
	for _, m := range members {
		if m.JoinedAt.Before(now) {
			now = m.JoinedAt
		}
	}
	cfg := &team.Config{Name: name, Description: team.DescriptionOf(name), CreatedAt: now, SchemaVersion: team.SchemaVersion,
		LeadAgentID: protocol.NewAgentID(protocol.Lead, name), LeadSessionID: session(uid),
		Members: []team.Member{{AgentID: protocol.NewAgentID(protocol.Lead, name), Name: protocol.Lead, AgentType: string(protocol.Lead), Model: "none",
			JoinedAt: now, TmuxPaneID: "leader", Subscriptions: []string{}, BackendType: "in-process", IsActive: new(true), SpawnedAt: now}}}
	for _, m := range members {
		if m.Leads() {
			continue // the lead is there
		}
		cfg.Members = append(cfg.Members, Entry(name, m))
	}
	return cfg
}

// session is a team's uid in the form of a session id, as the registry has it.
func session(uid record.TeamUID) string {
	if len(uid) != 32 {
		return ""
	}
	return string(uid[:8] + "-" + uid[8:12] + "-" + uid[12:16] + "-" + uid[16:20] + "-" + uid[20:])
}
