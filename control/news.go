package control

import (
	"cmp"
	"slices"
	"time"

	"waggle"
	"waggle/journal"
)

// Tiding says why a member's status is worth a turn of the lead's session.
type Tiding string

// A status message moves the leader's record of its member, every time. It is told
// to the lead's session only for one of these (WIRE §1.12, §1.14, §1.15): all other
// idle notices, and progress, change nothing that the lead would act on.
const (
	TidingIdle    Tiding = "idle"     // the first idle after the lead gave it work or words
	TidingResult  Tiding = "result"   // a task was completed
	TidingFailed  Tiding = "failed"   // a turn failed, or the member died
	TidingAllIdle Tiding = "all idle" // nobody works any more, once for what the lead gave
)

// News is one thing to tell the lead's session.
type News struct {
	Seq    journal.Seq       `json:"seq"` // the record that made it news
	Time   time.Time         `json:"time"`
	Member waggle.MemberName `json:"member"` // "" for all idle
	What   Tiding            `json:"what"`
	Task   string            `json:"task,omitempty"`
	Note   string            `json:"note,omitempty"`
}

// NewsAfter is what the lead's session has to be told that was told everything up
// to seq: one item a member, the weightiest and newest, in the order of the
// journal. Empty: there is no reason to wake it. What it returns together is one
// wake-up; the next begins after Head.
func (l *Leader) NewsAfter(seq journal.Seq) []News {
	by := map[waggle.MemberName]News{}
	for _, n := range l.news {
		if n.Seq > seq && weight(n.What) >= weight(by[n.Member].What) {
			by[n.Member] = n
		}
	}
	var ns []News
	for _, n := range by {
		ns = append(ns, n)
	}
	slices.SortFunc(ns, func(a, b News) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(weight(b.What), weight(a.What)))
	})
	return ns
}

// Head is the seq of the newest news.
func (l *Leader) Head() journal.Seq {
	if n := len(l.news); n > 0 {
		return l.news[n-1].Seq
	}
	return 0
}

func weight(t Tiding) int {
	return slices.Index([]Tiding{TidingAllIdle, TidingIdle, TidingResult, TidingFailed}, t)
}

// report notes what a status message is worth.
func (l *Leader) report(m *Member, r journal.Record, b Seen) {
	n := News{Seq: r.Seq, Time: r.Time, Member: m.Name, Task: b.Task, Note: b.Note}
	switch {
	case b.Kind == waggle.KindTaskCompleted:
		n.What = TidingResult
	case b.Kind != waggle.KindIdleNotification:
		return
	case b.Failed:
		n.What = TidingFailed
	case m.told:
		n.What = TidingIdle
	}
	if b.Kind == waggle.KindIdleNotification {
		m.told = false
	}
	if n.What != "" {
		l.news = append(l.news, n)
	}
	l.rested(r)
}

// rested notes that nobody works any more, once after something was given out.
func (l *Leader) rested(r journal.Record) {
	if !l.stirred {
		return
	}
	for _, m := range l.Members {
		if s := m.State(); s != Idle && s != Terminated {
			return
		}
	}
	l.stirred = false
	l.news = append(l.news, News{Seq: r.Seq, Time: r.Time, What: TidingAllIdle})
}

// departed notes a member that died.
func (l *Leader) departed(m *Member, r journal.Record, b Left) {
	if b.How == LeftDied {
		l.news = append(l.news, News{Seq: r.Seq, Time: r.Time, Member: m.Name, What: TidingFailed, Note: "it died"})
	}
}

// given notes that the lead gave a member something to do.
func (l *Leader) given(m *Member) { m.told, l.stirred = true, true }
