package process

import (
	"cmp"
	"fmt"
	"time"

	"waggle/control"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
)

// Reporter reports events of a team to a face, each event once.
type Reporter struct {
	S        *operator.State
	now      func() time.Time
	To       func(operator.Note) // nil: events are dropped
	reported map[string]bool     // the keys of the reported events
	Died     func(name string)   // gets the name of a member that has died; may be nil
	Said     time.Time           // when the last event was reported
}

// Reporter returns a Reporter that has reported nothing yet.
func (o Operator) Reporter(s *operator.State, to func(operator.Note)) *Reporter {
	return &Reporter{S: s, now: o.Minter.Now, To: to, reported: map[string]bool{}}
}

// Note reports one event.
func (t *Reporter) Note(n operator.Note) {
	t.Said = t.now()
	if t.To != nil {
		t.To(n)
	}
}

// Once reports an event unless it was reported before.
func (t *Reporter) Once(key string, n operator.Note) {
	if !t.reported[key] {
		t.reported[key] = true
		t.Note(n)
	}
}

// Mute marks all recorded events as reported.
func (t *Reporter) Mute() {
	to := t.To
	t.To = nil
	t.Report()
	t.To = to
}

// Report notes the events that were recorded since the last call.
func (t *Reporter) Report() {
	lead := t.S.Lead
	for _, m := range lead.Members {
		name := string(m.Name)
		if m.Left != nil {
			t.Once("left "+string(m.Instance), operator.Note{What: "left", Member: name, Text: m.Left.How + operator.Suffix(m.Left.Detail)})
			if m.Left.How == record.LeftDied && t.Died != nil {
				t.Died(name)
			}
		}
		if d := m.Died; d != nil && m.Left == nil {
			t.Once(fmt.Sprint("died ", m.Instance, d.Epoch, d.Attempt, d.Again != nil, d.GaveUp), operator.Note{What: "died", Member: name, Text: deathText(m, t.now())})
		}
		if m.Rejected != "" {
			t.Once("no "+string(m.Instance)+m.Rejected, operator.Note{What: "shutdown rejected", Member: name, Text: m.Rejected})
		}
	}
	for _, q := range lead.Requests {
		t.request(q)
	}
	for _, u := range lead.Unverified {
		if u.Box == leader.RegistryBox {
			t.Once(fmt.Sprint("registry ", u.Seq), operator.Note{What: "changed in the registry", Member: u.From, Text: u.Why})
			continue
		}
		t.Once(fmt.Sprint("unverified ", u.Seq), operator.Note{What: "unverified", Member: u.From, Text: fmt.Sprintf("%s %s: %s", u.Kind, u.ID, u.Why)})
	}
}

// request notes the changes of a request.
func (t *Reporter) request(q *control.Request) {
	m, _ := t.S.Lead.ByInstance(q.Instance)
	key := string(q.Instance) + string(q.Kind) + string(q.ID)
	t.Once("asked "+key, operator.Note{What: "asked", Member: string(m.Name), Text: fmt.Sprintf("%s %s", decide.Brief(q.Kind, q.Ask), q.Handle)})
	if e := q.Escalated; e != nil {
		t.Once("escalated "+key, operator.Note{What: "escalated", Member: string(m.Name), Text: fmt.Sprintf("%s waits for the operator, says the %s%s", q.Handle, e.By, operator.Suffix(e.Reason))})
	}
	if d := q.Decided; d != nil {
		t.Once("decided "+key, operator.Note{What: "decided", Member: string(m.Name), Text: fmt.Sprintf("%s %s by %s%s", q.Handle, d.Decision, d.By, operator.Suffix(d.Reason))})
	}
}

// deathText says how a member's process ended, and whether it is restarted.
func deathText(m *control.Member, now time.Time) string {
	d := m.Died
	what := cmp.Or(d.Detail, "its process is gone")
	switch {
	case d.GaveUp:
		return fmt.Sprintf("%s; GIVEN UP after %d deaths in %s: it is not started again", what, len(m.Deaths), time.Duration(m.Restart.Window)*time.Millisecond)
	case d.Again != nil:
		return fmt.Sprintf("%s; it is started again in %s", what, max(0, d.Again.Sub(now)).Round(100*time.Millisecond))
	}
	return what
}
