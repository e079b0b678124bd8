package ask_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/face/ask"
)

var confirm = ask.Prompt{Text: "t", Confirm: "run it?"}

// TestHeldKey: a key that is held down from before the question never answers it, at any
// rate at which keyboards repeat, whenever it was pressed.
func TestHeldKey(t *testing.T) {
	t.Parallel()
	for _, rate := range []time.Duration{25, 33, 40, 60, 90, 100, 180, 450} { // milliseconds; 91 is a Linux console's
		for _, first := range []time.Duration{225, 250, 375, 500, 660, 1000} { // until it repeats
			for before := time.Duration(0); before < 700; before += 70 {
				for _, c := range []struct {
					q ask.Prompt
					k string
				}{{low, "a"}, {confirm, "y"}} {
					p := ask.NewPlay()
					p.Type(c.k)
					wait := first
					for d := before; d > 0; d -= wait { // held already
						if d < wait {
							p.Pass(d * time.Millisecond)
							wait -= d
							break
						}
						p.Pass(wait * time.Millisecond)
						p.Type(c.k)
						wait = rate
					}
					answer, _ := p.Ask(c.q)
					for range 60 {
						p.Pass(wait * time.Millisecond)
						p.Type(c.k)
						wait = rate
					}
					if a, ok := answer(); ok {
						t.Errorf("%s held for %d ms before the question, repeated after %d and each %d ms, answered %+v", c.k, before, first, rate, a)
					}
				}
			}
		}
	}
}

// TestHeldKeyOverQuestions: a key that answers one question and is held on answers no other.
func TestHeldKeyOverQuestions(t *testing.T) {
	t.Parallel()
	for _, rate := range []time.Duration{33, 90, 180, 450} {
		p := ask.NewPlay()
		one, _ := p.Ask(low)
		next := low
		next.Handle = "ZZZZ"
		two, _ := p.Ask(next)
		p.Pass(time.Second)
		p.Type("a")
		p.Pass(500 * time.Millisecond)
		for range 100 {
			p.Type("a")
			p.Pass(rate * time.Millisecond)
		}
		if _, ok := one(); !ok {
			t.Errorf("each %d ms: the first is not answered", rate)
		}
		if a, ok := two(); ok {
			t.Errorf("each %d ms: the key of one question answered the next: %+v", rate, a)
		}
	}
}

// TestHandlePastedSlowly: a handle that a program types, each character in a read of its own, is no
// answer; Enter must come in a read of its own.
func TestHandlePastedSlowly(t *testing.T) {
	t.Parallel()
	p, answer := stands(high, time.Minute)
	for _, k := range "bx2p\r" {
		p.Type(string(k))
		p.Pass(time.Millisecond)
	}
	p.Pass(time.Minute)
	if a, ok := answer(); ok {
		t.Errorf("it answered %+v", a)
	}
}

// TestSequences: a sequence that a keyboard or a terminal sends is one key, and the characters in it
// are no answer, however the sequence is spread over reads.
func TestSequences(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"\x1b[[A",          // F1 on a Linux console
		"\x1b[Maaa",        // a mouse in its oldest form
		"\x1b[<0;97;97M",   // and in its newest
		"\x1b[I", "\x1b[O", // focus
		"\x1b[?62;22c", "\x1b[>1;95c", // device attributes
		"\x1b]11;rgb:aaaa/aaaa/aaaa\a", "\x1b]11;rgb:aaaa/aaaa/aaaa\x1b\\",
		"\x1bP1$r0m\x1b\\", "\x1b_Gi=1;a\x1b\\",
		"\x1b[24;80R", "\x1b[97;5u", "\x1bOa", "\x1ba", "\x1b[1;5a",
		"ä", "a\u0300"[1:], "\U0001F41D",
		"\x1b[200~a\ry\r\x1b[201~",
	} {
		for _, q := range []ask.Prompt{low, confirm} {
			for _, gap := range []time.Duration{0, time.Millisecond, 90 * time.Millisecond, 500 * time.Millisecond} {
				p, answer := stands(q, time.Minute)
				for i := range len(s) {
					p.Type(s[i : i+1])
					if i == 0 && gap > 90*time.Millisecond {
						p.Pass(50 * time.Millisecond) // a lone escape is a key
					} else {
						p.Pass(gap)
					}
				}
				p.Pass(time.Minute)
				if a, ok := answer(); ok {
					t.Errorf("%q, %s apart, answered %+v", s, gap, a)
				}
			}
		}
	}
}

// TestPasteWithoutEnd: all input after the beginning of a paste is part of it, however long it is and
// wherever it pauses; afterwards the question's time begins again.
func TestPasteWithoutEnd(t *testing.T) {
	t.Parallel()
	p, answer := stands(low, time.Minute)
	p.Type("\x1b[200~")
	p.Type(strings.Repeat("x", 1<<17))
	p.Pass(900 * time.Millisecond)
	p.Type("a")
	p.Pass(900 * time.Millisecond)
	p.Type("\x1b[201~")
	p.Pass(time.Second)
	if a, ok := answer(); ok {
		t.Fatalf("the end of a long paste answered %+v", a)
	}
	p.Type("\x1b[200~rm")
	p.Pass(2 * time.Second) // a slow line
	p.Type("a")
	p.Pass(time.Second)
	if a, ok := answer(); ok {
		t.Fatalf("what came late in a paste answered %+v", a)
	}
	was := p.Paints
	p.Pass(time.Minute)
	if p.Paints != was+1 {
		t.Errorf("painted %d times after a paste that never ended", p.Paints-was)
	}
	p.Keys("a")
	if _, ok := answer(); !ok {
		t.Error("nobody can answer after a paste that never ended")
	}
}

// TestLongSequence: the memory for an unfinished sequence is bounded, and the sequence's last byte
// ends it.
func TestLongSequence(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"\x1b]", "\x1bP", "\x1b[", "\x1b[200~"} {
		end := map[string]string{"\x1b[": "m", "\x1b[200~": "\x1b[201~"}[s]
		if end == "" {
			end = "\x1b\\"
		}
		reads := [][]byte{[]byte(s)}
		for range 40 {
			reads = append(reads, []byte(strings.Repeat("1", 4096)))
		}
		for i := range len(end) {
			reads = append(reads, []byte(end[i:i+1]))
		}
		if keys := ask.Split(append(reads, []byte("b"))...); len(keys) != 2 {
			t.Errorf("%q: %d keys", s, len(keys))
		}
	}
}

// TestHostileText: the text of a question, and the reason of its withdrawal, cannot move the cursor or
// hide a line.
func TestHostileText(t *testing.T) {
	t.Parallel()
	p := ask.NewPlay()
	q := low
	q.Text = "it asks\x1b[2J\x1b[H \x1b[1mbold\x1b[0m \rover \x9b2J \u009b2J \x1b]0;t\a \u202e back\b"
	q.Last, q.Handle = q.Text, "K\x1b[2J"
	_, withdraw := p.Ask(q)
	withdraw("taken back\x1b[2J\r\nallow it? \u202e")
	out := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "", "\r\x1b[K", "").Replace(p.Out.String())
	for _, bad := range []string{"\x1b", "\r", "\b", "\a", "\u009b", "\x9b", "\u202e"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q reaches the terminal: %q", bad, out)
		}
	}
	if strings.Contains(out, "\nallow it? ") && strings.LastIndex(out, "\nallow it? ") > strings.Index(out, "taken back") {
		t.Errorf("why it is gone begins a line of its own: %q", out)
	}
}

// TestFlood: the text that is kept for a person is bounded.
func TestFlood(t *testing.T) {
	t.Parallel()
	p, answer := stands(low, time.Second)
	p.Keys("d")
	line := strings.Repeat("x", 1023) + "\n"
	for range 3000 {
		p.Say(line)
	}
	if n := p.Held(); n > 1<<20 {
		t.Errorf("%d bytes are held", n)
	}
	p.Type("a")
	p.Pass(time.Minute)
	if a, ok := answer(); ok {
		t.Errorf("a key typed in a flood answered %+v", a)
	}
}

// TestStorm: while the size of the terminal changes no key answers; afterwards the question's time begins again.
func TestStorm(t *testing.T) {
	t.Parallel()
	p, answer := stands(low, time.Second)
	was := p.Paints
	for i := range 300 {
		p.Resize(40+i%60, 10+i%30)
		p.Pass(20 * time.Millisecond)
		if i%20 == 0 {
			p.Type("a")
		}
	}
	if a, ok := answer(); ok {
		t.Fatalf("it answered %+v", a)
	}
	if n := p.Paints - was; n > 1 {
		t.Errorf("painted %d times while the size changed", n)
	}
	p.Pass(time.Second)
	p.Keys("a")
	if _, ok := answer(); !ok {
		t.Error("no answer afterwards")
	}
}

// TestAdvance: a handle that is typed before its question is no answer, also when its last character,
// or only Enter, comes afterwards.
func TestAdvance(t *testing.T) {
	t.Parallel()
	for cut := range len("bx2p\r") + 1 {
		p := ask.NewPlay()
		answer, _ := p.Ask(high)
		p.Type("bx2p\r"[:cut])
		p.Pass(time.Second)
		p.Keys("bx2p\r"[cut:])
		p.Pass(time.Second)
		if a, ok := answer(); ok != (cut == 0) {
			t.Errorf("%d characters before it: answer %+v, %v", cut, a, ok)
		}
	}
}

// TestBytes: no single byte but a and A allows a request, and no single byte allows one of high risk.
func TestBytes(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for _, q := range []ask.Prompt{low, high} {
			p, answer := stands(q, time.Second)
			p.Type(string([]byte{byte(b)}))
			p.Pass(time.Minute)
			a, ok := answer()
			if want := !q.Typed && slices.Contains([]string{"a", "A"}, fmt.Sprintf("%c", b)); ok != want || a.Allow != want {
				t.Errorf("byte %#x: %+v, %v", b, a, ok)
			}
		}
	}
}
