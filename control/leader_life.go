package control

import (
	"fmt"
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// deathsKept is how many ends of a member's processes are remembered.
const deathsKept = 64

func (l *Leader) leadingRec(r journal.Record, b record.LeadingProcess) error {
	if l.Led == nil || l.Led.ID != b.ID { // a wish that another process did not fulfil is over
		l.Closing, l.Detached = nil, false
		l.ledSince = r.Time
	}
	l.Led = &b
	return nil
}

// diedRec handles the death of the newest start only: the end of an older one changes nothing.
func (l *Leader) diedRec(r journal.Record, b record.Died) error {
	m := l.byInst[b.Instance]
	switch {
	case m == nil:
		return fmt.Errorf("unknown instance %q died", b.Instance)
	case m.Left != nil:
		return l.ignore(r, "it had left")
	case m.Approved:
		return l.ignore(r, "it had said yes to its shutdown")
	case b.Epoch != m.epoch():
		return l.ignore(r, "another process of it has started since")
	}
	if m.Died == nil || b.Attempt > m.Died.Attempt {
		m.DiedAt, m.Deaths = r.Time, append(m.Deaths, r.Time)
		m.Deaths = m.Deaths[max(0, len(m.Deaths)-deathsKept):]
		m.diedSeen = l.Led != nil && r.Writer.PID == l.Led.ID.PID && !l.ledSince.After(m.ProcAt)
	}
	m.Died = &b
	l.fell(m, r, b)
	return l.did(m, m.State(), machine.EvDied, r, "")
}

func (l *Leader) stoppingRec(r journal.Record, b record.Stopping) error {
	m := l.byInst[b.Instance]
	switch {
	case m == nil:
		return fmt.Errorf("unknown instance %q is stopped", b.Instance)
	case m.Left != nil:
		return l.ignore(r, "it had left")
	}
	if m.Stopping == nil && r.Writer.Operator {
		m.StopAt = r.Time
	}
	m.Stopping = &b
	return nil
}

func (l *Leader) endingRec(_ journal.Record, b record.Ending) error {
	l.Closing = &b
	return nil
}

func (l *Leader) detachedRec(journal.Record, record.Detached) error {
	l.Detached = true
	return nil
}

// epoch is the newest start of a member, 0 before the first.
func (m *Member) epoch() uint64 {
	if m.Process == nil {
		return 0
	}
	return m.Process.Epoch
}

// RecordDeath drafts that a member's process is gone without a handshake, with the restart that its policy
// gives it at now; nothing when that is on record. supervised says that a leader runs that starts
// it again; failed, that a start after the recorded one ended before it came up.
func (l *Leader) RecordDeath(m *Member, detail string, supervised, failed bool, now time.Time) []journal.Draft {
	again := supervised && m.Restart != nil && m.Stopping == nil && !m.Approved
	d := record.Died{Instance: m.Instance, Epoch: m.epoch(), Detail: detail}
	fresh := m.Died == nil
	if m.Died != nil {
		d.Attempt = m.Died.Attempt
		switch {
		case failed:
			d.Attempt, fresh = d.Attempt+1, true
		case again && m.Died.Again == nil && !m.Died.GaveUp: // it died while no leader ran
			d.Detail = m.Died.Detail
		default:
			return nil
		}
	}
	if m.Left != nil {
		return nil
	}
	if again {
		d.Again, d.GaveUp = m.Restart.Next(m.Deaths, fresh, now)
	}
	return []journal.Draft{{Kind: record.KindDied, Must: true, Body: d}}
}

// Stop drafts that a member's processes are being ended. It drafts nothing when that record exists.
func (l *Leader) Stop(m *Member, why string) []journal.Draft {
	if m.Left != nil || m.Stopping != nil {
		return nil
	}
	return []journal.Draft{{Kind: record.KindStopping, Must: true, Body: record.Stopping{Instance: m.Instance, Why: why}}}
}

// Stopped drafts the record of the step that ended a member's processes. The process
// that leads then records the member as left.
func (l *Leader) Stopped(m *Member, step string) []journal.Draft {
	if m.Left != nil || m.Stopping == nil || m.Stopping.Step != "" {
		return nil
	}
	return []journal.Draft{{Kind: record.KindStopping, Must: true, Body: record.Stopping{Instance: m.Instance, Why: m.Stopping.Why, Step: step}}}
}

// How is the way in which a member whose process is gone ends: it approved a shutdown, it was
// stopped, or it died.
func (m *Member) How() string {
	switch {
	case m.Approved:
		return record.LeftHandshake
	case m.Trust == record.FileTrust && !m.AgreedAt.IsZero():
		return record.LeftHandshake
	case m.Trust == record.FileTrust && m.Died == nil:
		return record.LeftReleased
	case m.Died != nil:
		return record.LeftDied
	case m.Stopping != nil:
		return record.LeftStopped
	}
	return record.LeftDied
}
