package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"waggle/internal/claude/claudesessions"
	"waggle/journal"
	"waggle/protocol"
	"waggle/spawn"
)

// NameOf is the name by which words reach the session that a process belongs to, among those that a
// client has registered: "@NAME", or "@PID" where another session has the name too or it could be read
// as a member's; "" when it belongs to none. Only the process and its ancestors decide which session it is.
func (l Liveness) NameOf(configDir string, pid int) string {
	if pid <= 0 {
		return ""
	}
	self, err := spawn.Identify(pid)
	if err != nil {
		return ""
	}
	above, _ := l.Ancestors(pid) // those that can be seen
	entries, _ := registered(configDir)
	for _, p := range append([]spawn.Identity{self}, above...) {
		for _, e := range entries {
			if e.PID != p.PID {
				continue
			}
			if alive, err := l.Check(p); err != nil || !alive {
				return "" // the pid is another's by now, or may be
			}
			return "@" + address(e, entries)
		}
	}
	return ""
}

// address is what names a session among others: its name if it is a plain one that no
// other has, else its pid.
func address(e claudesessions.Entry, all []claudesessions.Entry) string {
	name := nameOf(e.Name, e.Cwd, e.PID)
	if _, err := protocol.ParseMember(name); err != nil || protocol.SameName(protocol.MemberName(name), protocol.Lead) {
		return strconv.Itoa(e.PID)
	}
	for _, o := range all {
		if o.PID != e.PID && (protocol.SameName(protocol.MemberName(nameOf(o.Name, o.Cwd, o.PID)), protocol.MemberName(name)) || o.SessionID == name) {
			return strconv.Itoa(e.PID)
		}
	}
	return name
}

// Called finds the rows of sessions by name, pid or id; a whole id or a pid goes before a name. It
// does not find teammates within a session: words go to the session.
func (v View) Called(what string) []Row {
	pid, _ := strconv.Atoi(what)
	var named []Row
	for _, r := range v.Rows {
		switch {
		case r.Under != "":
		case string(r.ID) == what || pid > 0 && r.PID == pid:
			return []Row{r}
		case r.Name == what:
			named = append(named, r)
		}
	}
	return named
}

// Of finds the row of a session.
func (v View) Of(id ID) (Row, bool) { return v.first(func(r Row) bool { return r.ID == id }) }

// OfProcess finds the row of the session that a process runs alone.
func (v View) OfProcess(pid int) (Row, bool) {
	return v.first(func(r Row) bool { return pid != 0 && r.PID == pid })
}

// first finds the first row of a session for which is holds.
func (v View) first(is func(Row) bool) (Row, bool) {
	for _, r := range v.Rows {
		if r.Under == "" && is(r) {
			return r, true
		}
	}
	return Row{}, false
}

// Token reads the token of a row's socket, "" when it has none.
func (r Row) Token() (string, error) { return claudesessions.Entry{KeyPath: r.key}.Token() }

// recSaid records words that were sent to a session. Older versions ignore it.
const recSaid = "said"

// Said is the state of words to a session. The text is not kept.
type Said struct {
	MsgID  string `json:"msg_id"`
	SHA256 string `json:"sha256"` // of the text
	Bytes  int    `json:"bytes"`
	From   string `json:"from"`
	Socket string `json:"socket"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// SaidAt is the newest record of words to a session.
type SaidAt struct {
	Said
	Session ID
	At      time.Time
	first   time.Time
}

// A Claude Code session drops messages of one sender beyond 30 at once and one every two seconds
// after that, and beyond 50 unread ones (measured with 2.1.329 and 2.1.330). The sender is not
// told. The limits here are below both, so that no words are lost.
const (
	sayBurst  = 25
	sayEvery  = 2 * time.Second
	sayUnread = 45
	// sayPast is how long words count as unread for a session that does not say since when it is
	// busy.
	sayPast = 10 * time.Minute
)

// BusyError says that a session takes no more words for a while.
type BusyError struct {
	Session ID
	Wait    time.Duration // 0: until it is idle, whenever that is
}

// Error says when to try again.
func (e *BusyError) Error() string {
	if e.Wait == 0 {
		return fmt.Sprintf("session %s is busy and may have %d unread messages, and drops those over 50: try again when it is idle", e.Session, sayUnread)
	}
	return fmt.Sprintf("session %s takes %d messages at once and then one every %v, and drops the others: try again in %v", e.Session, sayBurst, sayEvery, e.Wait.Round(time.Second))
}

// stateFailed is the state of words that did not reach the session.
const stateFailed = "failed"

// room is how long to wait before the session takes another message.
func (f *Fold) room(now time.Time) time.Duration {
	full := time.Time{} // when the session would take a whole burst again
	for _, s := range f.said {
		if s.State == stateFailed {
			continue
		}
		if s.first.After(full) {
			full = s.first
		}
		full = full.Add(sayEvery)
	}
	if !full.After(now) {
		return 0
	}
	return max(0, full.Sub(now)-(sayBurst-1)*sayEvery)
}

// maxSaid is how many words a fold keeps, the newest ones.
const maxSaid = 1024

// unread counts the words that a session that is not idle may not have read: those since it was
// idle last.
func (f *Fold) unread(r Row, now time.Time) int {
	since := r.statusAt
	if since.IsZero() {
		since = now.Add(-sayPast)
	}
	n := 0
	for _, s := range f.said {
		if s.State != stateFailed && !s.first.Before(since) {
			n++
		}
	}
	return n
}

// BeginSaying records words to a session before they are written. A *BusyError says that the
// session would drop them now; then there is no record.
func (s Store) BeginSaying(ctx context.Context, w journal.Writer, r Row, b Said) error {
	one, err := s.Make(r.ID)
	if err != nil {
		return err
	}
	return one.append(ctx, w, func(f *Fold) ([]journal.Draft, error) {
		now := s.Now()
		if r.State != RowIdle && f.unread(r, now) >= sayUnread {
			return nil, &BusyError{Session: r.ID}
		}
		if wait := f.room(now); wait > 0 {
			return nil, &BusyError{r.ID, wait}
		}
		return []journal.Draft{{Kind: recSaid, Body: b}}, nil
	})
}

// Say records the result of words to a session.
func (s Store) Say(ctx context.Context, w journal.Writer, id ID, b Said) error {
	return s.put(ctx, w, id, journal.Draft{Kind: recSaid, Body: b})
}

func (f *Fold) saidRec(r journal.Record, b Said) {
	at := SaidAt{b, f.id, r.Time, r.Time}
	if i := slices.IndexFunc(f.said, func(o SaidAt) bool { return o.MsgID == b.MsgID }); i >= 0 {
		at.first = f.said[i].first
		f.said[i] = at
		return
	}
	if f.said = append(f.said, at); len(f.said) > maxSaid {
		f.said = f.said[1:]
	}
}

// Said lists the words to sessions that keep accepts, oldest first within a session.
func (s Store) Said(keep func(SaidAt) bool) (found []SaidAt, problems []error) {
	all, problems := s.All()
	for _, one := range all {
		one.View(func(f *Fold) {
			for _, at := range f.said {
				if keep(at) {
					found = append(found, at)
				}
			}
		})
	}
	return found, problems
}
