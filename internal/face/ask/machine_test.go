package ask_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/ask"
)

var low = ask.Prompt{Handle: "KQ7M", Text: "it asks for Bash", Risk: 1, Reason: true}
var high = ask.Prompt{Handle: "BX2P", Text: "it asks for rm -rf", Risk: 2, Typed: true, Reason: true}

var choosing = ask.Prompt{Text: "t", Confirm: "merge it?", Choices: []ask.Choice{{Key: 'c', Does: "comment", Line: "line: "}, {Key: 's', Does: "send"}}}

// stands asks a question on a machine of its own, and lets it stand for a time.
func stands(q ask.Prompt, d time.Duration) (p *ask.Play, answer func() (ask.Answer, bool)) {
	p = ask.NewPlay()
	answer, _ = p.Ask(q)
	p.Pass(d)
	return p, answer
}

// TestStand: a key counts when the question has stood for Stand, and not a moment before.
func TestStand(t *testing.T) {
	t.Parallel()
	p, answer := stands(low, ask.Stand-1)
	p.Type("a")
	p.Pass(time.Hour)
	if a, ok := answer(); ok {
		t.Fatalf("a key from before answered: %+v", a)
	}
	if !strings.Contains(p.Out.String(), "typed too early") {
		t.Errorf("it is not said that the key was dropped: %q", p.Out.String())
	}
	p.Type("a")
	if _, ok := answer(); ok {
		t.Fatal("a key answered before it was known to be alone")
	}
	p.Pass(ask.Repeat - 1)
	if _, ok := answer(); ok {
		t.Fatal("a key answered that may be held")
	}
	p.Pass(1)
	if a, ok := answer(); !ok || !a.Allow {
		t.Errorf("answer %+v, %v", a, ok)
	}
}

// TestNoAnswer: the inputs that never answer, however long the question has stood.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		q    ask.Prompt
		do   func(p *ask.Play)
	}{
		{"Enter", low, func(p *ask.Play) { p.Keys("\r\n\r") }},
		{"line", low, func(p *ask.Play) { p.Type("a\r") }},
		{"burst in two reads", low, func(p *ask.Play) { p.Type("a"); p.Pass(ask.Settle - 1); p.Type("\r") }},
		{"end of a burst", low, func(p *ask.Play) { p.Type("x"); p.Pass(ask.Settle - 1); p.Type("a") }},
		{"paste", low, func(p *ask.Play) { p.Type("\x1b[200~a\x1b[201~") }},
		{"paste in reads", low, func(p *ask.Play) {
			for _, s := range []string{"\x1b[200~", "a", "\r", "\x1b[201~"} {
				p.Type(s)
				p.Pass(ask.Settle * 2)
			}
		}},
		{"Alt and a", low, func(p *ask.Play) { p.Type("\x1b"); p.Pass(60 * time.Millisecond); p.Type("a") }},
		{"terminal's answer", low, func(p *ask.Play) { p.Type("\x1b]11;rgb:aaaa/aaaa/aaaa\x1b\\") }},
		{"mouse", low, func(p *ask.Play) { p.Type("\x1b[Maaa") }},
		{"other keys", low, func(p *ask.Play) { p.Keys("yx1 \x04\x7f\x15ä") }},
		{"a for high risk", high, func(p *ask.Play) { p.Keys("a\r") }},
		{"wrong handle", high, func(p *ask.Play) { p.Keys("bx2q\r") }},
		{"half a handle", high, func(p *ask.Play) { p.Keys("bx2\r") }},
		{"handle in one read", high, func(p *ask.Play) { p.Type("bx2p\r") }},
		{"handle, the end in one read", high, func(p *ask.Play) { p.Keys("bx2"); p.Type("p\r") }},
		{"handle pasted", high, func(p *ask.Play) { p.Type("\x1b[200~bx2p\x1b[201~"); p.Pass(time.Second); p.Keys("\r") }},
		{"handle, resize, Enter", high, func(p *ask.Play) { p.Keys("bx2p"); p.Resize(60, 20); p.Pass(time.Second); p.Keys("\r") }},
		{"y where a is asked for", low, func(p *ask.Play) { p.Keys("y") }},
		{"c and s without choices", confirm, func(p *ask.Play) { p.Keys("cs") }},
		{"a line that Escape ends", choosing, func(p *ask.Play) { p.Keys("c1"); p.Type("\x1b"); p.Pass(time.Second) }},
		{"a choice and more in one read", choosing, func(p *ask.Play) { p.Type("s\r") }},
		{"a line in one read", choosing, func(p *ask.Play) { p.Type("c12 x\r") }},
		{"line for yes", confirm, func(p *ask.Play) { p.Type("y\r") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, answer := stands(c.q, time.Minute)
			c.do(p)
			p.Pass(time.Minute)
			if a, ok := answer(); ok {
				t.Errorf("it answered %+v\n%q", a, p.Out.String())
			}
		})
	}
}

// TestAnswers: the inputs that answer, and the answer of each.
func TestAnswers(t *testing.T) {
	t.Parallel()
	dee := high
	dee.Handle = "D4XY"
	brief := low
	brief.Reason = false
	for _, c := range []struct {
		name, keys string
		q          ask.Prompt
		want       ask.Answer
	}{
		{"a", "a", low, ask.Answer{Allow: true}},
		{"A", "A", low, ask.Answer{Allow: true}},
		{"d and no reason", "d\r", low, ask.Answer{}},
		{"d at once", "d", brief, ask.Answer{}},
		{"reason", "dnot  x\x7fnow\r", low, ask.Answer{Reason: "not  now"}},
		{"reason begun anew", "dnot\x15later\r", low, ask.Answer{Reason: "later"}},
		{"handle", "bx2p\r", high, ask.Answer{Allow: true}},
		{"handle with a typo", "bx3\x7f2p\r", high, ask.Answer{Allow: true}},
		{"after a wrong handle", "zz\rbx2p\r", high, ask.Answer{Allow: true}},
		{"d for high risk", "dno\r", high, ask.Answer{Reason: "no"}},
		{"handle that begins with d", "d4xy\r", dee, ask.Answer{Allow: true}},
		{"d and a handle that begins so", "d no\r", dee, ask.Answer{Reason: "no"}},
		{"y", "y", confirm, ask.Answer{Allow: true}},
		{"n", "n", confirm, ask.Answer{}},
		{"Enter is no", "\r", confirm, ask.Answer{}},
		{"a choice", "S", choosing, ask.Answer{Choice: 's'}},
		{"a choice with a line", "c12 say y\r", choosing, ask.Answer{Choice: 'c', Line: "12 say y"}},
		{"an empty line", "c\r", choosing, ask.Answer{Choice: 'c'}},
		{"y beside choices", "y", choosing, ask.Answer{Allow: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, answer := stands(c.q, time.Second)
			p.Keys(c.keys)
			if a, ok := answer(); !ok || a != c.want {
				t.Errorf("answer %+v, %v; want %+v\n%q", a, ok, c.want, p.Out.String())
			}
		})
	}
}

// TestReasonPasted: pasted text is part of a reason and does not send it.
func TestReasonPasted(t *testing.T) {
	t.Parallel()
	p, answer := stands(low, time.Second)
	p.Keys("d")
	p.Type("\x1b[200~use\nmain\r\x1b[201~")
	p.Type("x\r")
	p.Pass(time.Second)
	if _, ok := answer(); ok {
		t.Fatal("a paste sent the reason")
	}
	p.Keys("\r")
	if a, ok := answer(); !ok || a.Reason != "use main x" {
		t.Errorf("answer %+v, %v", a, ok)
	}
}

// TestFirstByte: a sequence that began before keys count is dropped whole.
func TestFirstByte(t *testing.T) {
	t.Parallel()
	p, answer := stands(low, ask.Stand-time.Millisecond)
	p.Type("\x1b[200~")
	p.Pass(60 * time.Millisecond)
	p.Type("a")
	p.Pass(60 * time.Millisecond)
	p.Type("\x1b[201~")
	p.Pass(time.Minute)
	if a, ok := answer(); ok {
		t.Errorf("it answered %+v", a)
	}
}

// TestOrder: the question of the highest risk is shown first, then the oldest; a question of higher
// risk waits for an answer that was begun.
func TestOrder(t *testing.T) {
	t.Parallel()
	p := ask.NewPlay()
	second := low
	second.Handle = "ZZZZ"
	first, _ := p.Ask(low)
	later, _ := p.Ask(second)
	if p.Shown() != low.Handle {
		t.Fatalf("%s is shown", p.Shown())
	}
	p.Pass(time.Second)
	p.Keys("dn")
	risky, _ := p.Ask(high)
	if p.Shown() != low.Handle {
		t.Fatal("a riskier question took the screen from an answer that was begun")
	}
	p.Keys("\r")
	if a, ok := first(); !ok || a.Allow || a.Reason != "n" {
		t.Errorf("answer %+v, %v", a, ok)
	}
	if p.Shown() != high.Handle {
		t.Fatalf("%s is shown, and a riskier one is open", p.Shown())
	}
	p.Keys("bx2p\r")
	if a, ok := risky(); !ok || !a.Allow {
		t.Errorf("answer %+v, %v", a, ok)
	}
	p.Pass(time.Second)
	again, _ := p.Ask(high) // another of high risk, nothing begun
	if p.Shown() != high.Handle {
		t.Fatalf("%s is shown, and a riskier one has come", p.Shown())
	}
	p.Type("a") // for what stood there a moment ago
	p.Pass(time.Minute)
	if _, ok := later(); ok {
		t.Error("the key for one question answered another")
	}
	if _, ok := again(); ok {
		t.Error("one key allowed what is of high risk")
	}
}

// TestAnew: the events that paint a question anew and begin its time again.
func TestAnew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(p *ask.Play)
		wait time.Duration // until it is painted
	}{
		{"resize", func(p *ask.Play) { p.Resize(60, 20) }, 150 * time.Millisecond},
		{"continue", func(p *ask.Play) { p.Continue() }, 0},
		{"output", func(p *ask.Play) { p.Say("bob has left\n") }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, answer := stands(low, time.Minute)
			was := p.Out.Len()
			c.do(p)
			p.Type("a")
			p.Pass(c.wait)
			if !strings.Contains(p.Out.String()[was:], low.Text) {
				t.Fatalf("it is not painted anew: %q", p.Out.String()[was:])
			}
			p.Pass(ask.Stand - 1)
			p.Type("a")
			p.Pass(time.Second)
			if a, ok := answer(); ok {
				t.Fatalf("a key counted before it had stood anew: %+v", a)
			}
			p.Keys("a")
			if _, ok := answer(); !ok {
				t.Error("no answer")
			}
		})
	}
}

// TestOutputWaits: output leaves a question alone for Hold, and longer while somebody
// answers.
func TestOutputWaits(t *testing.T) {
	t.Parallel()
	p := ask.NewPlay()
	answer, _ := p.Ask(low)
	p.Say("one\n")
	p.Pass(ask.Hold - 1)
	if strings.Contains(p.Out.String(), "one") {
		t.Fatal("it did not wait")
	}
	p.Pass(1)
	if !strings.Contains(p.Out.String(), "one") || p.Paints != 2 {
		t.Fatalf("after Hold: %d paints, %q", p.Paints, p.Out.String())
	}
	p.Pass(time.Second)
	p.Keys("dno")
	p.Say("two\n")
	p.Pass(20 * time.Second)
	if strings.Contains(p.Out.String(), "two") {
		t.Fatal("it did not wait for who types")
	}
	p.Keys("\r")
	if a, _ := answer(); a.Reason != "no" || !strings.Contains(p.Out.String(), "two") {
		t.Errorf("answer %+v, and %q", a, p.Out.String())
	}
	// A steady stream leaves time to answer.
	answer, _ = p.Ask(low)
	for range 30 {
		p.Say("more\n")
		p.Pass(100 * time.Millisecond)
	}
	for range 3 {
		p.Say("more\n")
		p.Pass(300 * time.Millisecond)
		p.Type("a")
		p.Pass(100 * time.Millisecond)
	}
	if _, ok := answer(); !ok {
		t.Errorf("nobody can answer beside a stream of output:\n%q", p.Out.String())
	}
}

// TestWithdraw: a withdrawal shows its reason and drops the typed text, and the next question's time
// begins anew.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	p := ask.NewPlay()
	second := low
	second.Handle = "ZZZZ"
	answer, withdraw := p.Ask(low)
	next, _ := p.Ask(second)
	p.Pass(time.Second)
	p.Type("a")
	withdraw("deny by operator")
	p.Pass(time.Minute)
	if _, ok := answer(); ok {
		t.Error("what was withdrawn was answered")
	}
	if _, ok := next(); ok {
		t.Error("the key for what was withdrawn answered the next")
	}
	if !strings.Contains(p.Out.String(), "KQ7M is not asked here any more: deny by operator") || p.Drops == 0 {
		t.Errorf("%d drops, %q", p.Drops, p.Out.String())
	}
	if p.Shown() != "ZZZZ" {
		t.Errorf("%q is shown", p.Shown())
	}
}

// TestTall: a question that does not fit the screen is painted whole, and its important lines are
// repeated below.
func TestTall(t *testing.T) {
	t.Parallel()
	p := ask.NewPlay()
	q := low
	q.Text, q.Last = strings.Repeat("a line\n", 40)+"the end", "Bash, risk medium"
	p.Ask(q)
	if n := strings.Count(p.Out.String(), "a line"); n != 40 {
		t.Errorf("%d of 40 lines", n)
	}
	if i, j := strings.Index(p.Out.String(), "scroll up"), strings.Index(p.Out.String(), q.Last); i < 0 || j < i {
		t.Errorf("%q", p.Out.String())
	}
}

// FuzzKeys: how bytes are spread over reads does not change which keys they are.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"a\r", "\x1b[200~a\r\x1b[201~b", "\x1b[A\x1bOP\x1bä€\xff", "\x1b]11;x\x1b\\a"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		if n == 0 || len(b) > 1000 {
			return
		}
		var parts [][]byte
		for c := range slices.Chunk(b, int(n)) {
			parts = append(parts, c)
		}
		if whole, split := ask.Split(b), ask.Split(parts...); !slices.Equal(whole, split) {
			t.Errorf("%q: %v, in reads of %d %v", b, whole, n, split)
		}
	})
}
