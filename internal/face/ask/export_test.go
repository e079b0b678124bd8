package ask

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Play is a machine without a terminal, and a clock that stands still.
type Play struct {
	m          machine
	now        time.Time
	Out        strings.Builder // what the terminal was given
	Paints     int             // how often a question was shown whole
	Drops      int
	Cols, Rows int
}

func NewPlay() *Play {
	p := &Play{now: time.Unix(1_800_000_000, 0), Cols: 80, Rows: 24}
	p.m = machine{screen: p, front: true}
	return p
}

func (p *Play) paint(s string) time.Time {
	p.Out.WriteString(s)
	return p.now
}
func (p *Play) drop() bool             { p.Drops++; return false }
func (p *Play) size() (cols, rows int) { return p.Cols, p.Rows }

// Ask opens a question; the function returns its answer, when there is one.
func (p *Play) Ask(q Prompt) (answer func() (Answer, bool), withdraw func(why string)) {
	e := &asked{Prompt: q, ctx: context.Background(), done: make(chan result, 1)}
	p.m.add(e)
	p.round()
	return func() (Answer, bool) {
			select {
			case r := <-e.done:
				return r.answer, true
			default:
				return Answer{}, false
			}
		}, func(why string) {
			p.m.remove(e, fmt.Errorf("%s", why))
			p.round()
		}
}

// round runs the part of the loop that follows each event.
func (p *Play) round() {
	was := p.m.painted
	if p.m.windowOver(p.now) {
		p.m.arm()
	}
	p.m.due(p.now)
	if p.m.painted != was {
		p.Paints++
	}
}

// Type is one read.
func (p *Play) Type(s string) {
	p.m.input([]byte(s), p.now)
	p.round()
}

// Keys is one read for each character, a second apart.
func (p *Play) Keys(s string) {
	for _, r := range s {
		p.Type(string(r))
		p.Pass(time.Second)
	}
}

// Pass lets time go by, round by round.
func (p *Play) Pass(d time.Duration) {
	for end := p.now.Add(d); ; {
		at := p.m.next(p.now)
		if at.IsZero() || at.After(end) {
			p.now = end
			p.round()
			return
		}
		if at.After(p.now) {
			p.now = at
		} else {
			p.now = p.now.Add(time.Millisecond)
		}
		p.round()
	}
}

// Say is the output of another program on the terminal.
func (p *Play) Say(s string) {
	p.m.say(&p.Out, []byte(s))
	p.round()
}

// Resize changes the size.
func (p *Play) Resize(cols, rows int) {
	p.Cols, p.Rows = cols, rows
	p.m.resized(p.now)
	p.round()
}

// Continue is SIGCONT.
func (p *Play) Continue() {
	p.m.anew()
	p.round()
}

// Shown is the handle of the question on the screen.
func (p *Play) Shown() string {
	if p.m.shown == nil {
		return ""
	}
	return p.m.shown.Handle
}

// Split reads keys from reads, and writes them down.
func Split(reads ...[]byte) (keys []string) {
	var k keyReader
	now := time.Unix(0, 0)
	for _, b := range reads {
		for _, key := range k.feed(b, true, now) {
			keys = append(keys, fmt.Sprintf("%d %q %q", key.what, key.r, key.text))
		}
	}
	for _, key := range k.expire(now.Add(time.Hour)) {
		keys = append(keys, fmt.Sprintf("%d %q %q", key.what, key.r, key.text))
	}
	return keys
}

// Held is the number of output bytes that wait until the question goes.
func (p *Play) Held() (n int) {
	for _, h := range p.m.held {
		n += len(h.b)
	}
	return n
}
