package ask

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// screen is where a machine writes.
type screen interface {
	// paint writes to the terminal and returns when the last byte has left.
	paint(s string) time.Time
	// drop forgets what was typed and not read, and reports whether there was something.
	drop() bool
	size() (cols, rows int)
}

// machine decides what is shown and which key answers. It is told what happens and when;
// it does not look at a clock. One goroutine uses it.
type machine struct {
	Options
	screen screen

	front bool // the process is in the foreground
	taken bool // another process asks on this terminal
	open  []*asked
	shown *asked
	part  Short // what is shown of a question in short

	painted time.Time // when the last byte of what is shown had left
	armed   bool      // keys count
	moved   time.Time // the size has changed then; zero: it has not

	keys   keyReader
	last   time.Time // when the last byte came
	early  bool      // something was typed before keys counted
	stale  time.Time // when something was dropped last, which may be a key that is held
	line   []rune    // of a handle or a reason
	reason bool      // line is a reason, or the line of choice
	choice *Choice   // nil: none was begun
	pend   *pend     // an answer that has to stay alone for a moment
	nagged string    // what was said last of a key without a meaning
	nagAt  time.Time // and when
	wide   bool      // the last hint does not fit on one line

	held  []written
	bytes int // of held
}

type pend struct {
	answer Answer
	until  time.Time
}

type written struct {
	to io.Writer
	b  []byte
}

// add takes in a question. due shows it.
func (m *machine) add(q *asked) {
	m.early = m.early && len(m.open) > 0
	m.open = append(m.open, q)
	switch {
	case m.front:
	case m.taken:
		m.screen.paint(fmt.Sprintf("note: %s waits for an answer, and another waggle asks on this terminal: it is shown when that one asks no more\n", q.name()))
	default:
		m.screen.paint(fmt.Sprintf("note: %s waits for an answer, and this program is in the background: fg brings the question up\n", q.name()))
	}
}

func (q *asked) name() string {
	if q.Handle == "" {
		return "a question"
	}
	return safeLine(q.Handle)
}

// remove takes a question away that is not to be answered here any more.
func (m *machine) remove(q *asked, why error) {
	i := slices.Index(m.open, q)
	if i < 0 {
		return
	}
	m.open = slices.Delete(m.open, i, i+1)
	if m.shown != q {
		return
	}
	m.hide()
	m.screen.drop()
	m.screen.paint(fmt.Sprintf("\nnote: %s is not asked here any more: %s\n", q.name(), safeLine(why.Error())))
}

// hide forgets what is shown and what was begun.
func (m *machine) hide() {
	m.shown, m.armed, m.line, m.reason, m.choice, m.pend = nil, false, nil, false, nil, nil
	m.keys.early = true // of a sequence that has begun
}

// say takes in what somebody else writes to the terminal. More than maxHeld does not wait.
func (m *machine) say(w io.Writer, b []byte) {
	if m.shown == nil {
		_, _ = w.Write(b)
		return
	}
	m.held, m.bytes = append(m.held, written{w, b}), m.bytes+len(b)
	if m.bytes > maxHeld {
		m.release()
	}
}

// release writes what was held. What is shown is then painted anew.
func (m *machine) release() {
	if len(m.held) == 0 {
		return
	}
	if m.shown != nil {
		m.clearLine()
	}
	for _, h := range m.held {
		_, _ = h.to.Write(h.b)
	}
	m.held, m.bytes = nil, 0
	m.hide()
}

// clearLine makes the line of the hint free.
func (m *machine) clearLine() {
	if m.Plain || m.wide {
		m.screen.paint("\n")
		return
	}
	m.screen.paint("\r\x1b[K")
}

// began says that the person is about to answer.
func (m *machine) began(now time.Time) bool {
	return m.pend != nil || (m.reason || len(m.line) > 0) && now.Sub(m.last) < begun
}

// windowOver says that the question has stood, and input must be read until nothing is
// left, and then arm called.
func (m *machine) windowOver(now time.Time) bool {
	return m.shown != nil && !m.armed && m.moved.IsZero() && now.Sub(m.painted) >= m.stands()
}

// stands is how long a question stands before a key counts.
func (m *machine) stands() time.Duration {
	if m.Stand == nil {
		return Stand
	}
	return m.Stand()
}

// arm makes keys count from now on.
func (m *machine) arm() {
	m.armed = true
	if m.early {
		m.early = false
		m.hint(tooEarly)
	}
}

// resized paints what is shown anew when the size stays for a moment.
func (m *machine) resized(now time.Time) {
	if m.shown != nil {
		m.moved, m.armed = now, false
	}
}

// anew paints what is shown again.
func (m *machine) anew() {
	m.moved = time.Time{}
	m.hide()
}

// due does what is due by the clock.
func (m *machine) due(now time.Time) {
	for _, k := range m.keys.expire(now) {
		m.key(k, now)
	}
	if p := m.pend; p != nil && !now.Before(p.until) {
		m.pend = nil
		m.finish(p.answer)
	}
	if !m.moved.IsZero() && now.Sub(m.moved) >= calm {
		m.anew()
		m.screen.paint("\n")
	}
	if at, ok := m.releases(now); ok && !now.Before(at) {
		m.release()
	}
	if !m.front || len(m.open) == 0 {
		return
	}
	best := m.open[0]
	for _, q := range m.open[1:] {
		if q.Risk > best.Risk {
			best = q
		}
	}
	if m.shown == nil || best.Risk > m.shown.Risk && !m.began(now) {
		if m.shown != nil {
			m.clearLine()
		}
		m.paint(best)
	}
}

// releases is when what is held is to be written.
func (m *machine) releases(now time.Time) (time.Time, bool) {
	switch {
	case len(m.held) == 0:
		return time.Time{}, false
	case m.shown == nil:
		return now, true
	case m.pend != nil:
		return m.pend.until, true
	case m.began(now):
		return m.last.Add(begun), true
	}
	return m.painted.Add(Hold), true
}

// next is when due, or windowOver, has something to do; zero: when something happens.
func (m *machine) next(now time.Time) (at time.Time) {
	sooner := func(t time.Time, ok bool) {
		if ok && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	sooner(m.keys.expires())
	sooner(m.releases(now))
	sooner(m.moved.Add(calm), !m.moved.IsZero())
	sooner(m.painted.Add(m.stands()), m.shown != nil && !m.armed && m.moved.IsZero())
	if m.pend != nil {
		sooner(m.pend.until, true)
	}
	sooner(m.last.Add(begun), m.shown != nil && m.pend == nil && m.began(now))
	return at
}

// paint shows a question, in short where it has that and the person has not asked for all of it. Its time to stand
// begins.
func (m *machine) paint(q *asked) {
	m.hide()
	m.release()
	m.shown, m.moved = q, time.Time{}
	var b strings.Builder
	cols, rows := m.screen.size()
	text := q.Text
	switch {
	case m.inShort():
		m.part = q.Short(cols, len(m.open)-1)
		text = m.part.Text
	case q.Lay != nil:
		text = q.Lay(cols)
	}
	b.WriteString("\n" + safe(text) + "\n")
	if n := height(b.String(), cols) + 2; rows > 0 && n > rows {
		fmt.Fprintf(&b, "(%d lines, and the screen has %d: scroll up to where the question begins)\n", n, rows)
		if q.Last != "" {
			b.WriteString(safe(q.Last) + "\n")
		}
	}
	if n := len(m.open) - 1; n > 0 && !m.inShort() {
		fmt.Fprintf(&b, "(%d more to answer)\n", n)
	}
	m.painted = m.screen.paint(b.String() + m.hintText(""))
}

// inShort reports that a question is shown in short.
func (m *machine) inShort() bool { return m.shown != nil && m.shown.Short != nil && !m.shown.whole }

// hides reports that an allow is about more than what is shown.
func (m *machine) hides() bool { return m.inShort() && m.part.Hides && !m.shown.Harmless }

// viewed reports whether a key asks for all of a question that is shown in short.
func (m *machine) viewed(k key) bool { return k.is('v') && m.inShort() }

// all shows a question whole from now on. Its time to stand begins again.
func (m *machine) all() {
	m.shown.whole = true
	m.anew()
	m.screen.paint("v\n")
}

// height is how many lines of a screen a text takes.
func height(s string, cols int) int {
	n := 0
	for l := range strings.Lines(s) {
		n++
		if w := ansi.StringWidth(strings.TrimSuffix(l, "\n")); cols > 0 && w > 0 {
			n += (w - 1) / cols
		}
	}
	return n
}

// hintText is the line that says what can be typed.
func (m *machine) hintText(before string) string {
	q, s := m.shown, ""
	view := ""
	if before == "" { // both do not fit on one line
		view = m.viewText()
	}
	switch {
	case m.choice != nil:
		s = safeLine(m.choice.Line)
	case m.reason:
		s = "deny, because (Enter sends it, also empty): "
	case q.Confirm != "":
		s = view + safeLine(q.Confirm) + " [y/N] "
		for i, c := range q.Choices {
			if i > 0 {
				s = strings.TrimSuffix(s, " ") + ", "
			}
			s += fmt.Sprintf("%c = %s ", c.Key, safeLine(c.Does))
		}
	case q.Typed:
		deny := "d"
		if ambiguous(q, 'd') {
			deny = "d and Enter"
		}
		s = fmt.Sprintf("allow it? %stype %s and Enter = allow once, %s = deny: ", view, q.name(), deny)
	default:
		s = "allow it? " + view + "a = allow once, "
		for _, c := range m.choices() {
			s += fmt.Sprintf("%c = %s, ", c.Key, safeLine(c.Does))
		}
		s += "d = deny: "
	}
	cols, _ := m.screen.size()
	m.wide = cols > 0 && ansi.StringWidth(before+s+string(m.line)) >= cols
	if m.Bold != nil {
		s = m.Bold(s)
	}
	return before + s + string(m.line)
}

// viewText says which key shows all of what is shown in short.
func (m *machine) viewText() (s string) {
	switch {
	case !m.inShort():
		return ""
	case m.shown.Typed && ambiguous(m.shown, 'v'):
		s = "v and Enter = all, "
	default:
		s = "v = all, "
	}
	if m.hides() {
		s += "then "
	}
	return s
}

// ambiguous reports a key that may begin the handle of a question: alone it wants Enter or a space behind it.
func ambiguous(q *asked, k rune) bool { return strings.EqualFold(q.Handle[:1], string(k)) }

// choices are the further answers of what is shown.
func (m *machine) choices() []Choice {
	if m.inShort() && m.shown.Confirm == "" && !m.part.Choices {
		return nil
	}
	return m.shown.Choices
}

// hint writes the line anew, in its place where the terminal can. The question above it
// does not move, so its time to stand does not begin again.
func (m *machine) hint(before string) {
	m.clearLine()
	m.screen.paint(m.hintText(before))
}

// nag is hint for a key without a meaning. Where each one takes a line of the screen the
// same is said once a second.
func (m *machine) nag(before string) {
	m.line = nil
	if (m.Plain || m.wide) && before == m.nagged && m.last.Sub(m.nagAt) < time.Second {
		return
	}
	m.nagged, m.nagAt = before, m.last
	m.hint(before)
}

// What is said of keys that are not taken.
const (
	ahead    = "not taken: one key at a time. "
	tooEarly = "not taken: typed too early. "
	noEnter  = "Enter is no answer. "
	inPart   = "not taken: v shows all of it first. "
)

// input takes in the bytes of one read.
func (m *machine) input(b []byte, now time.Time) {
	since := now.Sub(m.last)
	m.last = now
	if !m.armed || m.pend != nil {
		m.stale = now
	}
	keys := m.keys.feed(b, m.armed, now)
	switch {
	case slices.ContainsFunc(keys, func(k key) bool { return k.what == keyUnended }):
		m.unended()
		return
	case m.shown == nil:
		return
	case m.pend != nil:
		m.pend = nil
		m.nag(ahead)
		return
	case len(keys) > 1 && !m.reason && !keys[0].early:
		m.nag(ahead)
		return
	}
	for _, k := range keys {
		if m.shown == nil {
			return
		}
		k.quiet, k.lone = k.alone && since >= Settle, k.alone && since >= Repeat
		k.alone = k.alone && (k.quiet || m.reason || len(m.line) > 0)
		m.key(k, now)
	}
}

// key takes in one key.
func (m *machine) key(k key, now time.Time) {
	q := m.shown
	switch {
	case k.what == keyUnended:
		m.unended()
	case q == nil:
	case k.early:
		m.early = true
		if m.armed { // it began before, and ends now
			m.arm()
		}
	case m.reason:
		m.reasonKey(k)
	case k.what == keyPaste || !k.alone:
		m.nag(ahead)
	case q.Confirm != "":
		m.confirmKey(k, now)
	case q.Typed:
		m.handleKey(k)
	case k.is('a'):
		m.settle(k, Answer{Allow: true}, now)
	case k.is('d'):
		m.deny(k, now)
	case m.viewed(k):
		m.all()
	case k.what == keyEnter:
		m.nag(noEnter)
	default:
		m.choose(k, now)
	}
}

func (k key) is(r rune) bool { return k.what == keyRune && unicode.ToLower(k.r) == r }

// settle answers when nothing else comes for a moment. A key that is held since before
// the question is no answer: it comes again within that moment, or came already.
func (m *machine) settle(k key, a Answer, now time.Time) {
	moment := Repeat
	if now.Sub(m.stale) < trains {
		moment = Stand
	}
	switch {
	case !k.lone:
		m.nag(ahead)
		return
	case (a.Allow || a.Choice != 0) && m.hides():
		m.nag(inPart)
		return
	}
	m.pend = &pend{a, now.Add(moment)}
}

// unended gives up on a paste whose end does not come: what of it comes later must not
// be taken for keys, so the question stands anew.
func (m *machine) unended() {
	if m.shown == nil {
		return
	}
	m.anew()
	m.screen.drop()
	m.screen.paint("\nnote: nothing is taken of a paste that does not end\n")
}

func (m *machine) confirmKey(k key, now time.Time) {
	switch {
	case k.is('y'):
		m.settle(k, Answer{Allow: true}, now)
	case k.is('n'), k.what == keyEnter:
		m.settle(k, Answer{}, now)
	case m.viewed(k):
		m.all()
	default:
		m.choose(k, now)
	}
}

// choose begins the line of a choice, or answers by it at once.
func (m *machine) choose(k key, now time.Time) {
	choices := m.choices()
	i := slices.IndexFunc(choices, func(c Choice) bool { return k.is(c.Key) })
	switch {
	case i < 0:
		m.nag("")
	case choices[i].Line == "":
		m.settle(k, Answer{Choice: choices[i].Key, Allow: m.shown.Confirm == ""}, now)
	default:
		m.choice, m.reason, m.line = &choices[i], true, nil
		m.hint("")
	}
}

// deny asks for the reason, or answers at once.
func (m *machine) deny(k key, now time.Time) {
	if !m.shown.Reason {
		m.settle(k, Answer{}, now)
		return
	}
	m.reason, m.line = true, nil
	m.hint("")
}

// handleKey edits the handle. d denies and v shows all, except where a handle begins with that: there they
// need Enter or a space behind them.
func (m *machine) handleKey(k key) {
	q := m.shown
	lone := rune(0) // what was typed, before what ends it
	switch {
	case len(m.line) == 1 && (k.what == keyEnter || k.is(' ')):
		lone = unicode.ToLower(m.line[0])
	case len(m.line) == 0 && k.what == keyRune && !ambiguous(q, k.r):
		lone = unicode.ToLower(k.r)
	}
	switch {
	case lone == 'd':
		m.deny(k, m.last)
	case lone == 'v' && m.inShort():
		m.all()
	case k.what == keyEnter && !k.quiet && len(m.line) > 0: // a program typed it
		m.nag(ahead)
	case k.what == keyEnter && strings.EqualFold(strings.TrimSpace(string(m.line)), q.Handle) && m.hides():
		m.nag(inPart)
	case k.what == keyEnter && strings.EqualFold(strings.TrimSpace(string(m.line)), q.Handle):
		m.screen.paint("\n")
		m.finish(Answer{Allow: true})
	case k.what == keyEnter && len(m.line) == 0:
		m.nag(noEnter)
	case k.what == keyEnter:
		wrong := string(m.line)
		m.line = nil
		m.hint(fmt.Sprintf("%s is not %s. ", wrong, q.name()))
	default:
		m.edit(k)
	}
}

func (m *machine) reasonKey(k key) {
	if k.what == keyEnter && k.alone {
		m.screen.paint("\n")
		text := strings.TrimSpace(string(m.line))
		if m.choice != nil {
			m.finish(Answer{Choice: m.choice.Key, Line: text})
			return
		}
		m.finish(Answer{Reason: text})
		return
	}
	m.edit(k)
}

const (
	maxLine = 1000    // characters of a reason
	maxHeld = 1 << 20 // bytes
)

// edit changes the line that is typed.
func (m *machine) edit(k key) {
	switch k.what {
	case keyErase:
		if len(m.line) > 0 {
			m.line = m.line[:len(m.line)-1]
			m.hint("")
		}
	case keyKill:
		m.line = nil
		m.hint("")
	case keyEscape:
		m.line, m.reason, m.choice = nil, false, nil
		m.hint("")
	case keyRune:
		m.insert(string(k.r))
	case keyPaste:
		m.insert(k.text)
	case keyEnter: // in the middle of something pasted
		m.insert(" ")
	}
}

func (m *machine) insert(s string) {
	was := len(m.line)
	for _, r := range s {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if unicode.IsPrint(r) && len(m.line) < maxLine {
			m.line = append(m.line, r)
		}
	}
	m.screen.paint(string(m.line[was:]))
	wide := m.wide
	m.hintText("") // is the line wide now?
	m.wide = m.wide || wide
}

// finish gives the answer to what is shown.
func (m *machine) finish(a Answer) {
	q := m.shown
	if q == nil || q.ctx.Err() != nil {
		return // its withdrawal is on its way
	}
	m.open = slices.DeleteFunc(m.open, func(o *asked) bool { return o == q })
	word := "denied\n"
	switch {
	case a.Choice != 0 && m.choice != nil:
		word = "" // its line stands
	case a.Choice != 0 && q.Confirm != "":
		word = string(a.Choice) + "\n"
	case a.Choice != 0:
		i := slices.IndexFunc(q.Choices, func(c Choice) bool { return c.Key == a.Choice })
		word = "allowed once, " + safeLine(q.Choices[i].Does) + "\n"
	case q.Confirm != "" && a.Allow:
		word = "yes\n"
	case q.Confirm != "":
		word = "no\n"
	case a.Allow:
		word = "allowed once\n"
	}
	m.hide()
	m.screen.drop()
	m.screen.paint(word)
	q.done <- result{answer: a}
}

// fail gives every open question an error.
func (m *machine) fail(err error) {
	for _, q := range m.open {
		q.done <- result{err: err}
	}
	m.open = nil
	if m.shown != nil {
		m.screen.paint("\n")
	}
	m.hide()
	m.release()
}
