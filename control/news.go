package control

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/protocol"
	"waggle/record"
)

// NewsKind is the kind of an event that starts a turn of the lead's session.
type NewsKind string

// A status message always updates the leader's record of its member. The lead's session gets it
// only for one of these reasons (protocol §1.12, §1.14, §1.15): all other idle notices, and
// progress, change nothing that the lead would act on.
const (
	NewsIdle    NewsKind = "idle"     // the first idle after the lead gave it work or words
	NewsResult  NewsKind = "result"   // a task was completed
	NewsFailed  NewsKind = "failed"   // a turn failed, or the member died
	NewsLeft    NewsKind = "left"     // the member has ended otherwise than by dying
	NewsAllIdle NewsKind = "all idle" // no member works any more, once for the work that the lead gave
)

// News is one event for the lead's session.
type News struct {
	Seq    journal.Seq         `json:"seq"` // the record of the event
	Time   time.Time           `json:"time"`
	Member protocol.MemberName `json:"member"` // "" for all idle
	What   NewsKind            `json:"what"`
	Task   string              `json:"task,omitempty"`
	Note   string              `json:"note,omitempty"`
	Hops   int                 `json:"hops,omitempty"` // of the notice (record.Mail.WithHops)
}

// NewsAfter are the events for the lead's session, which has had those up to seq: one for each
// member, the most important and newest, in the order of the journal. Without events there is no
// reason for a turn. All returned events are one turn; the next begins after Head.
func (l *Leader) NewsAfter(seq journal.Seq) []News { return l.newsBetween(seq, l.Head()) }

// NewsAgain is what the session of the lead was told at the start of the turn that runs:
// the session that follows a crash is told the same.
func (w *Worker) NewsAgain(l *Leader) []News { return l.newsBetween(w.newsBefore, w.NewsSeq) }

// newsBetween are the events after one record up to another.
func (l *Leader) newsBetween(after, upTo journal.Seq) []News {
	by := map[protocol.MemberName]News{}
	for _, n := range l.news {
		if n.Seq > after && n.Seq <= upTo && weight(n.What) >= weight(by[n.Member].What) {
			by[n.Member] = n
		}
	}
	return slices.SortedFunc(maps.Values(by), func(a, b News) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(weight(b.What), weight(a.What)))
	})
}

// Head is the seq of the newest event.
func (l *Leader) Head() journal.Seq {
	if n := len(l.news); n > 0 {
		return l.news[n-1].Seq
	}
	return 0
}

func weight(t NewsKind) int {
	return slices.Index([]NewsKind{NewsAllIdle, NewsIdle, NewsLeft, NewsResult, NewsFailed}, t)
}

// report notes what a status message is worth.
func (l *Leader) report(m *Member, r journal.Record, b record.Seen) {
	n := News{Seq: r.Seq, Time: r.Time, Member: m.Name, Task: b.Task, Note: b.Note, Hops: b.Hops}
	switch {
	case m.Leads(): // the lead's agent gets no event about itself
		return
	case b.Hops >= record.MaxHops: // they only answer each other's notices
		m.idleDue, l.stirred = false, false
		return
	case b.Kind == protocol.KindTaskCompleted:
		n.What = NewsResult
	case b.Kind != protocol.KindIdleNotification:
		return
	case b.Failed:
		n.What = NewsFailed
	case m.idleDue || b.Told:
		n.What = NewsIdle
	}
	if b.Kind == protocol.KindIdleNotification {
		m.idleDue = false
	}
	if n.What != "" {
		l.news = append(l.news, n)
	}
	l.rested(r)
}

// rested records that no member works any more, once after work was given.
func (l *Leader) rested(r journal.Record) {
	if !l.stirred {
		return
	}
	for _, m := range l.Members {
		if m.Trust == record.FileTrust {
			continue // reports by file have no effect
		}
		if s := m.State(); s != machine.Idle && s != machine.Terminated && !m.Leads() {
			return
		}
	}
	l.stirred = false
	l.news = append(l.news, News{Seq: r.Seq, Time: r.Time, What: NewsAllIdle})
}

// departed notes a member that has ended.
func (l *Leader) departed(m *Member, r journal.Record, b record.Left) {
	switch {
	case m.Leads() || b.How == record.LeftDied && m.Died != nil: // an event about the lead's agent itself, or after that of the death
	case b.How == record.LeftDied:
		l.news = append(l.news, News{Seq: r.Seq, Time: r.Time, Member: m.Name, What: NewsFailed, Note: "it died"})
	default:
		l.news = append(l.news, News{Seq: r.Seq, Time: r.Time, Member: m.Name, What: NewsLeft, Note: b.How})
	}
}

// fell records that a member's process has died, and the member stays.
func (l *Leader) fell(m *Member, r journal.Record, b record.Died) {
	if m.Leads() {
		return
	}
	n := News{Seq: r.Seq, Time: r.Time, Member: m.Name, What: NewsFailed, Note: "it died"}
	switch {
	case b.Again != nil:
		n.Note += ", and is started again"
	case b.GaveUp:
		n.Note += " too often, and is not started again"
	}
	l.news = append(l.news, n)
}

// given notes that the lead, or the operator in its name, gave a member something to do.
func (l *Leader) given(m *Member) {
	if !m.Leads() {
		m.idleDue, l.stirred = true, true
	}
}
