package tui

import (
	"cmp"
	"fmt"
	"time"

	"waggle/internal/face/ask"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// shownMode is the mode of the right side, also while something is typed.
func (m *model) shownMode() mode {
	if m.mode == typing {
		return m.was
	}
	return m.mode
}

// subject is what an answer is about now; ok is false, with the reason, when nothing can be
// answered.
func (m *model) subject() (qs []decide.Request, keys []string, why string) {
	mode := m.shownMode()
	switch mode {
	case batching:
		return m.batch.requests, keysOf(m.batch.requests), ""
	case changing:
		q := m.changed()
		if q == nil {
			return nil, nil, "this one was answered or has changed"
		}
		return []decide.Request{*q}, keysOf([]decide.Request{m.change.of}), ""
	}
	q := m.open()
	switch {
	case m.selected() == nil || m.selected().ask == nil:
		return nil, nil, "nothing to answer here"
	case q == nil:
		return nil, nil, "this one was answered"
	case mode == browsing && m.tab != TabAsk:
		return nil, nil, "the request is on the tab Ask: " + m.keyOf(cmdBack) + " shows it"
	}
	return []decide.Request{*q}, keysOf([]decide.Request{*q}), ""
}

func keysOf(qs []decide.Request) (keys []string) {
	for i := range qs {
		keys = append(keys, askKey(&qs[i]))
	}
	return keys
}

// ready is subject for a key that answers: what it is about must have stood on the screen.
func (m *model) ready(now time.Time) (qs []decide.Request, keys []string, ok bool) {
	qs, keys, why := m.subject()
	if why == "" {
		why = m.unstood(now)
	}
	if why != "" {
		m.flash = why
		return nil, nil, false
	}
	return qs, keys, true
}

// unstood is why a key does not answer what is shown yet; "": it does.
func (m *model) unstood(now time.Time) string {
	switch {
	case m.unread() > 0:
		return fmt.Sprintf("not taken: %d more lines to read, %s shows them", m.unread(), m.keyOf(cmdPage))
	case m.stand.what == "":
		return "not taken: there is no room to show it whole, Enter gives it the whole screen"
	case !m.stand.armed(now) || m.pane.seen < len(m.pane.lines):
		return "not taken: typed before it stood long enough to be read"
	}
	return ""
}

func high(q decide.Request) bool { return policy.Risk(q.Risk) == policy.RiskHigh }

func words(q decide.Request) bool { return q.Kind == string(record.KindQuestion) }

// allow takes the key that allows.
func (m *model) allow(now time.Time, since time.Duration) {
	qs, keys, ok := m.ready(now)
	if !ok {
		return
	}
	a := Act{Verb: Allow, Requests: qs}
	if m.mode == ruling {
		end := ruleEnds[m.rules.end]
		a.Rule, a.Wide, a.Task = m.rules.list[m.rules.at], m.rules.wide, end.task && !m.rules.wide
		if end.after > 0 {
			a.End = now.Add(end.after)
		}
	}
	q := qs[0]
	if m.mode == changing {
		a.Requests, a.Input = []decide.Request{m.change.of}, m.change.input
	}
	switch {
	case m.mode == batching:
		m.answer(a, keys, now, since)
	case words(q):
		a.Verb = Words
		m.begin(input{purpose: forWords, label: wordsLabel(q, 0), act: a, keys: keys})
	case high(q):
		m.begin(input{purpose: forHandle, label: fmt.Sprintf("high risk: type %s and Enter to allow it once: ", q.Handle), act: a, keys: keys})
	default:
		m.answer(a, keys, now, since)
	}
}

func wordsLabel(q decide.Request, n int) string {
	if len(q.Questions) > 1 {
		return fmt.Sprintf("answer to question %d of %d (a number or text): ", n+1, len(q.Questions))
	}
	return "your answer (a number or text): "
}

// deny takes the key that denies, and asks for the reason.
func (m *model) deny(now time.Time, since time.Duration) {
	qs, keys, ok := m.ready(now)
	switch {
	case !ok:
	case m.mode == changing:
		m.flash = m.keyOf(cmdBack) + " goes back to what was asked: " + m.keyOf(cmdDeny) + " denies that"
	case since < ask.Settle:
		m.flash = "not taken: one key at a time"
	default:
		m.begin(input{purpose: forReason, label: fmt.Sprintf("deny %s, because (Enter sends it, also empty): ", named(qs)), act: Act{Verb: Deny, Requests: qs}, keys: keys})
	}
}

// endChoice ends the choice of a rule and the change of an input when the selected request is not what they are about: it
// was answered or has changed, or the filter hides it.
func (m *model) endChoice() {
	q := m.open()
	of := map[mode]decide.Request{ruling: m.rules.asked, changing: m.change.of}
	about, ok := of[m.shownMode()]
	if !ok || q != nil && askKey(q) == askKey(&about) && q.Digest == about.Digest {
		return
	}
	m.stale, m.pend = true, nil
	if m.flash = cmp.Or(m.flash, "nothing was decided: what is shown has changed, read it again"); m.mode == typing {
		m.was = browsing
		return
	}
	m.mode = browsing
}
