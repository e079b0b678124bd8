package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

// Player runs a model without a terminal, in the time of its test.
type Player struct {
	m      *model
	msgs   chan tea.Msg
	done   chan struct{}
	wg     sync.WaitGroup
	paint  *painted
	Ended  bool
	Write  func(text string) string // returns the text that the editor saves
	Name   string                   // of the file that it edited last
	Taken  []string                 // the members whose sessions were taken
	Failed error                    // what their clients end with
}

// painted is a terminal that takes each frame at once, or never.
type painted struct {
	n, told int
	title   string
	never   bool
}

func (p *painted) Paint(_, title string, _, _ int) int {
	p.title = title
	p.n++
	return p.n
}

// Play begins a screen of a size.
func Play(src Source, w, h int, never bool) *Player {
	p := &Player{msgs: make(chan tea.Msg), done: make(chan struct{}), paint: &painted{never: never}}
	p.m = newModel(context.Background(), Options{Source: src, Now: time.Now, Explain: error.Error, Step: step, Keys: defaultKeys, painter: p.paint, edit: p.edit, take: p.take})
	p.run(p.m.Init())
	p.send(tea.WindowSizeMsg{Width: w, Height: h})
	return p
}

func (p *Player) edit(text, name string, then func(string, error) tea.Msg) tea.Cmd {
	p.Name = name
	return func() tea.Msg { return then(p.Write(text), nil) }
}

func (p *Player) take(team, member string, then func(error) tea.Msg) tea.Cmd {
	p.Taken = append(p.Taken, team+"/"+member)
	return func() tea.Msg { return then(p.Failed) }
}

// Close ends the commands that the model has begun.
func (p *Player) Close() {
	close(p.done)
	p.wg.Wait()
}

func (p *Player) run(c tea.Cmd) {
	if c == nil {
		return
	}
	p.wg.Go(func() {
		msg := c()
		select {
		case p.msgs <- msg:
		case <-p.done:
		}
	})
	synctest.Wait() // what it reads of a test's desk is read before the test changes that
}

func (p *Player) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
		return
	case tea.QuitMsg:
		p.Ended = true
		return
	}
	_, cmd := p.m.Update(msg)
	p.run(cmd)
	if t := p.paint; t.told < t.n && !t.never {
		t.told = t.n
		p.send(paintedMsg{t.n})
	}
}

// Wait lets time pass.
func (p *Player) Wait(d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	for {
		select {
		case msg := <-p.msgs:
			p.send(msg)
		case <-end.C:
			return
		}
	}
}

// Keys types keys, one after the other in no time. A name in several letters is one key.
func (p *Player) Keys(keys ...string) {
	for _, k := range keys {
		p.send(press(k))
	}
}

// Press types keys, and lets a second pass.
func (p *Player) Press(keys ...string) {
	p.Keys(keys...)
	p.Wait(time.Second)
}

// Type types each character after the time that a person takes.
func (p *Player) Type(text string) {
	for _, r := range text {
		p.Wait(60 * time.Millisecond)
		p.Keys(string(r))
	}
	p.Wait(60 * time.Millisecond)
}

func press(k string) tea.KeyPressMsg {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "up": tea.KeyUp, "down": tea.KeyDown,
		"backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp}
	if c, ok := named[k]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	if k == "space" {
		k = " "
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// Paste pastes text; Resize changes the size; Click and Wheel are the mouse.
func (p *Player) Paste(text string) { p.send(tea.PasteMsg{Content: text}) }
func (p *Player) Resize(w, h int)   { p.send(tea.WindowSizeMsg{Width: w, Height: h}) }
func (p *Player) Click(x, y int)    { p.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}) }
func (p *Player) Wheel(x, y int)    { p.send(tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelDown}) }

// Ask and Man replace what is shown.
func (p *Player) Ask(qs ...decide.Request) {
	p.send(requestsMsg{got: append([]decide.Request{}, qs...)})
}
func (p *Player) Man(c Crew) { p.send(crewMsg{got: c}) }

// Stand replaces the requests, and lets them stand for a second.
func (p *Player) Stand(qs ...decide.Request) {
	p.Ask(qs...)
	p.Wait(time.Second)
}

// Continue continues the program after it was stopped.
func (p *Player) Continue() { p.send(continuedMsg{}) }

// Says tells the last lines of members, and that output is there.
func (p *Player) Says(last map[MemberKey]string) { p.send(saidMsg{last}) }

// Frames is how many frames were drawn.
func (p *Player) Frames() int { return p.paint.n }

// Beats is how often the model looked at the clock.
func (p *Player) Beats() int { return p.m.turn }

// Keyed replaces the keys.
func (p *Player) Keyed(settings map[string][]string) error {
	keys, err := KeyMap(settings)
	p.m.Keys = keys
	return err
}

// Over replaces what has ended and what is kept.
func (p *Player) Over(d ...Done) { p.send(doneMsg{got: d}) }

// Count replaces the numbers of lines.
func (p *Player) Count(l map[MemberKey]Lines) { p.send(seldomMsg{got: Seldom{Lines: l}}) }

// Title is the title of the window.
func (p *Player) Title() string { return p.paint.title }

// Frame is the screen; Text is the screen without styles.
func (p *Player) Frame() string { return p.m.View().Content }
func (p *Player) Text() string  { return ansi.Strip(p.Frame()) }

// On is the handle of the request under the cursor, or the member's name.
func (p *Player) On() string {
	r := p.m.selected()
	switch {
	case r == nil:
		return ""
	case r.ask != nil:
		return r.ask.Handle
	case r.done != nil:
		return r.done.who()
	}
	return r.member.Name
}

// Other is what is shown in place of the request under the cursor; "": that request.
func (p *Player) Other() string {
	switch p.m.shownMode() {
	case batching:
		return "batch " + p.m.batch.id + fmt.Sprint(p.m.batch.wide)
	case changing:
		return "changed " + p.m.change.as.Digest + string(p.m.change.as.Input)
	case accepting:
		return "setup " + p.m.setups[0].task() + p.m.setups[0].text()
	}
	return ""
}

// Answers reports that an answer waits for other keys.
func (p *Player) Answers() bool { return p.m.pend != nil }

// Gone reports that the request under the cursor is not asked any more.
func (p *Player) Gone() bool {
	r := p.m.selected()
	return r != nil && r.gone != ""
}

// Stood is how long the request on the screen has stood; 0: it does not stand whole.
func (p *Player) Stood() time.Duration {
	if p.m.stand.what == "" || p.m.stand.since.IsZero() {
		return 0
	}
	return time.Since(p.m.stand.since)
}

// Thousand is a screen of 300x80 with n requests, for benchmarks.
func Thousand(src Source, qs []decide.Request) *Player {
	p := &Player{msgs: make(chan tea.Msg), done: make(chan struct{}), paint: &painted{}}
	p.m = newModel(context.Background(), Options{Source: src, Now: time.Now, Explain: error.Error, Step: step, Keys: defaultKeys, painter: p.paint})
	p.m.Update(tea.WindowSizeMsg{Width: 300, Height: 80})
	p.m.Update(requestsMsg{got: qs})
	return p
}

// Down moves the cursor down and draws; Load takes the same requests again and draws.
func (p *Player) Down() {
	p.m.Update(press("down"))
}

func (p *Player) Load(qs []decide.Request) {
	p.m.Update(requestsMsg{got: qs})
}

// Beat lets the model look at the clock, with no other event.
func (p *Player) Beat() {
	p.m.Update(beatMsg{})
}

// Differing is the output that turns one frame into another.
var Differing = differing

// Coloured is a text as it is written to a terminal with a colour profile.
func Coloured(text string, p colorprofile.Profile) string {
	var b strings.Builder
	w := &colorprofile.Writer{Forward: &b, Profile: p}
	if _, err := w.WriteString(text); err != nil {
		panic(err)
	}
	return b.String()
}

// step is a next step without its command.
func step(n operator.Next) string {
	if n.Step == "" {
		return ""
	}
	return string(n.Step) + " " + string(n.Member)
}

// Marked is a text with a line below each of its risky parts, w columns wide.
func Marked(text string, parts []policy.RiskPart, w int) (texts []string) {
	for _, l := range marked(nil, text, parts, w) {
		texts = append(texts, l.text)
	}
	return texts
}

// Guarded runs f as what the screen runs beside the keys, on a terminal.
func Guarded(t *testing.T, tty *os.File, f func()) {
	s := newScreen(tty, tty, colorprofile.TrueColor)
	testenv.Must(t, s.enter())
	s.guarded(f)()
}

// AskLines are the lines of a request, w columns wide, with their styles; earlier is what Source.Earlier returns.
func AskLines(q decide.Request, earlier string, w int) (texts []string) {
	m := newModel(context.Background(), Options{Now: time.Now, Keys: defaultKeys})
	m.earlier[q.Digest] = earlier
	for _, l := range m.askLines(q, w) {
		texts = append(texts, l.paint(ansi.StringWidth(l.text)))
	}
	return texts
}

// Wrap cuts a line.
var Wrap = wrap

// Shown paints frames with titles on a screen, one after the other.
func Shown(out *os.File, frames ...[2]string) {
	s := newScreen(nil, out, colorprofile.TrueColor)
	s.again = true
	var last frame
	for _, f := range frames {
		s.Paint(f[0], f[1], 10, 2)
		s.show(&last)
	}
}

// Lend has a program that fails on a terminal, as the client of a session, until the person has read what it has written.
func Lend(ctx context.Context, tty *os.File, cmd *exec.Cmd) error {
	s := newScreen(tty, tty, colorprofile.TrueColor)
	l := &lending{ctx: ctx, out: s, cmd: cmd, told: true}
	l.SetStdout(nil)
	return errors.Join(s.enter(), l.Run(), s.leave())
}
