package ask_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/face/ask"
)

// inShort is a question with a text of a few lines; hides says that they are not all.
func inShort(q ask.Prompt, hides bool) ask.Prompt {
	q.Text = "ALL of it"
	q.Short = func(int, int) ask.Short { return ask.Short{Text: "in SHORT", Hides: hides, Choices: !hides} }
	return q
}

// shortKinds are questions beside low and high: one whose handle begins with the key that shows all, one with y and n,
// one with a rule.
func shortKinds() (vee, confirm, withRule ask.Prompt) {
	vee, withRule = high, low
	vee.Handle, withRule.Choices = "V4XY", ruling
	return vee, ask.Prompt{Confirm: "allow it?"}, withRule
}

var ruling = []ask.Choice{{Key: 'r', Does: "with the rule"}}

// TestShortHides: what is shown in part is never allowed, by no key, handle or choice; it is denied.
func TestShortHides(t *testing.T) {
	t.Parallel()
	vee, confirm, withRule := shortKinds()
	for _, c := range []struct {
		name, keys string
		q          ask.Prompt
	}{
		{"a", "aAa\r", low}, {"handle", "bx2p\r", high}, {"handle that begins with v", "v4xy\r", vee}, {"y", "yY", confirm}, {"rule", "rR", withRule},
	} {
		p, answer := stands(inShort(c.q, true), time.Second)
		p.Keys(c.keys)
		p.Pass(time.Minute)
		if a, ok := answer(); ok {
			t.Errorf("%s: what was shown in part was answered %+v", c.name, a)
		}
		if out := p.Out.String(); !strings.Contains(out, "SHORT") || strings.Contains(out, "ALL") {
			t.Errorf("%s: %q", c.name, out)
		}
	}
	for keys, q := range map[string]ask.Prompt{"d\r": low, "n": confirm} {
		p, answer := stands(inShort(q, true), time.Second)
		p.Keys(keys)
		if a, ok := answer(); !ok || a.Allow {
			t.Errorf("%q: %+v, %v", keys, a, ok)
		}
	}
}

// TestShortView: v shows all, once, and what is shown then has to stand like any question; only then it is allowed.
func TestShortView(t *testing.T) {
	t.Parallel()
	vee, confirm, withRule := shortKinds()
	for _, c := range []struct {
		name, view, keys string
		q                ask.Prompt
		want             ask.Answer
	}{
		{"a", "v", "a", low, ask.Answer{Allow: true}},
		{"handle", "V", "bx2p\r", high, ask.Answer{Allow: true}},
		{"handle that begins with v", "v\r", "v4xy\r", vee, ask.Answer{Allow: true}},
		{"y", "v", "y", confirm, ask.Answer{Allow: true}},
		{"rule", "v", "r", withRule, ask.Answer{Allow: true, Choice: 'r'}},
	} {
		for _, hides := range []bool{true, false} {
			p, answer := stands(inShort(c.q, hides), time.Second)
			was := p.Paints
			for _, r := range c.view {
				p.Type(string(r))
				if len(c.view) > 1 && r == 'v' {
					p.Pass(time.Second)
				}
			}
			for _, r := range c.keys { // at once: too early for what is shown now
				p.Type(string(r))
			}
			p.Pass(time.Minute)
			if a, ok := answer(); ok {
				t.Errorf("%s: a key from before all of it had stood answered %+v", c.name, a)
			}
			p.Keys("v") // nothing is left to show
			if !strings.Contains(p.Out.String(), "ALL of it") || p.Paints != was+1 {
				t.Errorf("%s: painted %d times: %q", c.name, p.Paints-was, p.Out.String())
			}
			if c.q.Typed {
				p.Type("\x15")
				p.Pass(time.Second)
			}
			p.Keys(c.keys)
			if a, ok := answer(); !ok || a != c.want {
				t.Errorf("%s: answer %+v, %v; want %+v\n%q", c.name, a, ok, c.want, p.Out.String())
			}
		}
	}
}

// TestShortWhole: a short text that hides nothing is answered as it is; a choice that it does not show is none.
func TestShortWhole(t *testing.T) {
	t.Parallel()
	withRule := low
	withRule.Choices = ruling
	p, answer := stands(inShort(withRule, false), time.Second)
	p.Keys("r")
	if a, ok := answer(); !ok || a != (ask.Answer{Allow: true, Choice: 'r'}) {
		t.Errorf("rule: %+v, %v", a, ok)
	}
	without := withRule
	without.Text, without.Short = "ALL", func(int, int) ask.Short { return ask.Short{Text: "in SHORT"} }
	p = ask.NewPlay()
	answer, _ = p.Ask(without)
	p.Pass(time.Second)
	p.Keys("r")
	if a, ok := answer(); ok {
		t.Errorf("a rule that is not shown was made: %+v", a)
	}
	harmless := inShort(ask.Prompt{Confirm: "deny it?", Harmless: true}, true)
	p = ask.NewPlay()
	answer, _ = p.Ask(harmless)
	p.Pass(time.Second)
	p.Keys("y")
	if a, ok := answer(); !ok || !a.Allow {
		t.Errorf("a yes that allows nothing: %+v, %v", a, ok)
	}
}

// TestShortAgain: after a resize, output in between, or a riskier question, what was shown whole is shown whole, and what
// was shown in part hides as before.
func TestShortAgain(t *testing.T) {
	t.Parallel()
	for _, viewed := range []bool{true, false} {
		p, answer := stands(inShort(low, true), time.Second)
		if viewed {
			p.Keys("v")
		}
		p.Resize(60, 20)
		p.Pass(time.Second)
		p.Say("other output\n")
		p.Pass(time.Minute)
		p.Continue()
		p.Pass(time.Second)
		p.Keys("a")
		if a, ok := answer(); ok != viewed {
			t.Errorf("viewed %v: %+v, %v", viewed, a, ok)
		}
	}
}
