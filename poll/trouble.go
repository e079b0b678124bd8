package poll

import (
	"context"
	"log/slog"
	"sync"

	"waggle/boxes"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/record"
)

// Troubles logs what cannot be done now: once, until it could be done again. A
// loop that retries every second would say it every second.
type Troubles struct {
	Log *slog.Logger

	mu     sync.Mutex
	logged map[string]bool
}

// Note logs err under key unless that was logged already; nil ends the trouble.
func (t *Troubles) Note(key string, err error, msg string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		delete(t.logged, key)
	case !t.logged[key]:
		if t.logged == nil {
			t.logged = map[string]bool{}
		}
		t.logged[key] = true
		t.Log.Warn(msg, append(args[:len(args):len(args)], "err", err)...)
	}
}

// Directory asks check whether the team's directory is still in its place. It logs a change, and has it recorded. No
// process ends because of it: decisions and orders are in the journals. A nil check checks nothing.
func (t *Troubles) Directory(ctx context.Context, check func() *boxes.Change, put func(ctx context.Context, propose func() ([]journal.Draft, error)) error) {
	if check == nil {
		return
	}
	n := check()
	if n == nil {
		return
	}
	n.LogTo(t.Log)
	t.Note("directory", n.Err, "not all of the team's mail could be kept")
	err := put(ctx, func() ([]journal.Draft, error) {
		return []journal.Draft{{Kind: record.KindNoticed, Body: record.Noticed{What: n.What, Path: n.Path, Moved: n.Moved, Saved: n.Saved}}}, nil
	})
	t.Note("noticed", err, "the change of the team's directory is not recorded")
}

// Refused audits a connection to the socket of this mailbox's owner that was refused: from whom, and why.
func (t *Troubles) Refused(ctx context.Context, m Minter, box protocol.MemberName, from, why string, put func(ctx context.Context, propose func() ([]journal.Draft, error)) error) {
	mint, err := m.Mint()
	if err == nil {
		err = put(ctx, func() ([]journal.Draft, error) {
			return []journal.Draft{{Kind: record.KindUnverified, Must: true, Body: record.Unverified{
				Entry: "socket#" + mint.MsgID, Box: string(box), Why: "connection refused: " + why}}}, nil
		})
	}
	t.Note("refusal", err, "a refused connection is not on record", "from", from)
}

// LogReports returns the function for a mailbox's reports (mailbox.Options): it logs each repair and the
// path of the copy. A nil log logs nothing.
func LogReports(log *slog.Logger) func(mailbox.Report) {
	if log == nil {
		return nil
	}
	return func(r mailbox.Report) { log.Warn(r.What, "mailbox", r.Path, "quarantine", r.Quarantine) }
}

// Watch is boxes.Watch that logs what keeps the mailbox from being read and changed, and what was set aside. A nil log
// is none.
func Watch(box mailbox.Store, o boxes.WatchOptions, log *slog.Logger) *boxes.Watched {
	o.Trouble = once(log, "the mailbox cannot be used now and counts as empty, will retry")
	o.Locked = once(log, "the mailbox cannot be changed now: what is missing is taken from the journal, and what was read is marked later")
	o.Report = LogReports(log)
	return boxes.Watch(box, o)
}

func once(log *slog.Logger, msg string) func(error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	t := &Troubles{Log: log}
	return func(err error) { t.Note("mailbox", err, msg) }
}
