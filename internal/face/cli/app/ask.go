package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/charmbracelet/colorprofile"

	"waggle/internal/face/ask"
	"waggle/internal/face/view"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
)

// asker holds the terminal at which this process asks, from its first question on. Nothing else in
// this package reads an answer from standard input.
type asker struct{ t atomic.Pointer[ask.Terminal] }

func (k *asker) Terminal() *ask.Terminal { return k.t.Load() }

func (k *asker) Close() {
	if t := k.t.Load(); t != nil {
		t.Close()
	}
}

// Lend gives the terminal to a reader of other keys; back returns it.
func (k *asker) Lend() (back func(), err error) {
	if t := k.t.Load(); t != nil {
		return t.Lend()
	}
	return func() {}, nil
}

// CanAsk reports whether a person can be asked here: input and stderr are a terminal whose modes
// can be set.
func (a *App) CanAsk() bool {
	if a.Asker.Terminal() != nil {
		return true
	}
	in, ok := a.In.(*os.File)
	if !ok || !Tty(a.In) || !Tty(a.Err) {
		return false
	}
	o := ask.Options{Plain: a.Env("TERM") == "" || a.Env("TERM") == "dumb", Stand: a.Stand}
	o.Bold = func(s string) string { return a.styled(Bold(s)) }
	t, err := ask.New(in, File(a.Err), o)
	if err != nil {
		return false
	}
	if !a.Asker.t.CompareAndSwap(nil, t) {
		t.Close()
	}
	return true
}

// File returns the file behind an output of this process, nil when there is none.
func File(w io.Writer) *os.File {
	switch f := w.(type) {
	case *os.File:
		return f
	case interface{ File() *os.File }:
		return f.File()
	}
	return nil
}

// styled returns text for the terminal: without colour, or with the colours that it can show.
func (a *App) styled(s string) string {
	var b bytes.Buffer
	fmt.Fprint(&colorprofile.Writer{Forward: &b, Profile: a.Profile(a.Err)}, s) // a write to a buffer does not fail
	return b.String()
}

// put asks one question and waits for the answer.
func (a *App) put(ctx context.Context, q ask.Prompt) (ask.Answer, error) {
	q.Text, q.Last = a.styled(q.Text), a.styled(q.Last)
	return a.Asker.Terminal().Ask(ctx, q)
}

// Yes asks for y or n. Enter is no.
func (a *App) Yes(ctx context.Context, text, question string) (bool, error) {
	answer, err := a.put(ctx, ask.Prompt{Text: text, Confirm: question, Risk: -1}) // requests come first
	return answer.Allow, err
}

// Agree asks for y or n, and returns refused for anything but yes, unasked where there is no terminal to ask on.
func (a *App) Agree(ctx context.Context, text, question string, unasked, refused error) error {
	if !a.CanAsk() {
		return unasked
	}
	yes, err := a.Yes(ctx, text, question)
	if err == nil && !yes {
		err = refused
	}
	return err
}

// Consent is what a command shows of the files that it is about to change.
type Consent struct {
	Op, Text, Question string
	Doc                any    // with --json, where nobody can be asked
	Else               string // what is said without a yes
	Advice             string // how the command is given without a terminal
}

// Consents asks for y or n on a terminal, and returns an error for anything but yes. With yes nobody is asked.
func (a *App) Consents(ctx context.Context, yes bool, c Consent) error {
	if !yes && a.CanAsk() {
		return a.Agree(ctx, c.Text, c.Question, nil, &operator.Error{Kind: operator.Refused, Op: c.Op, Msg: c.Else})
	}
	if !a.Flags.JSON {
		a.Say("%s", c.Text)
	}
	if yes {
		return nil
	}
	if a.Flags.JSON {
		if err := a.Document(c.Doc); err != nil {
			return err
		}
	}
	return &operator.Error{Kind: operator.Question, Op: c.Op, Msg: c.Else + ": there is no terminal to ask on", Advice: c.Advice}
}

// Choose asks for y, n or one of the choices. Enter is no.
func (a *App) Choose(ctx context.Context, text, question string, choices ...ask.Choice) (ask.Answer, error) {
	return a.put(ctx, ask.Prompt{Text: text, Confirm: question, Choices: choices, Risk: -1})
}

// Ask implements RunOptions.Ask: it shows a request on this terminal. A question takes words, and a proposal the command
// that starts it, which no key does: they are shown with the command that answers them.
func (a *App) Ask(ctx context.Context, q decide.Request) (decide.Answer, error) {
	if len(q.Questions) > 0 || q.Kind == decide.KindProposal {
		Fprint(a, a.Err, "%s", a.styled(wordsText(q, Width(a.Err))))
		<-ctx.Done()
		return decide.Answer{}, ctx.Err()
	}
	return a.Request(ctx, q, nil)
}

// Request shows a request in short, and on demand all of it, with what more lays out for a number of columns, and returns
// the answer. more may be nil.
func (a *App) Request(ctx context.Context, q decide.Request, more func(cols int) string) (decide.Answer, error) {
	asked := a.question(q, "", "", ruled(q))
	if more != nil {
		asked.Lay = func(cols int) string { return a.styled(a.QuestionText(q, cols) + more(cols)) }
	}
	asked.Typed, asked.Reason = typed(q), true
	var rule policy.Rule
	if ruled(q) {
		var err error
		if rule, err = policy.ParseRule(q.Suggest[0]); err != nil {
			return decide.Answer{}, err
		}
		asked.Choices = []ask.Choice{{Key: ruleKey, Does: "with the rule"}}
	}
	answer, err := a.put(ctx, asked)
	if err != nil {
		return decide.Answer{}, err
	}
	d := promptAnswer(q, answer)
	if answer.Choice == ruleKey {
		d.Lesson = &decide.Lesson{Rule: rule, End: a.Now().Add(decide.LessonTime)}
	}
	return d, nil
}

// RequestOnce is Request with words below it, without a rule and without a reason.
func (a *App) RequestOnce(ctx context.Context, q decide.Request, words string) (decide.Answer, error) {
	asked := a.question(q, "", words, false)
	asked.Typed = typed(q)
	answer, err := a.put(ctx, asked)
	if err != nil {
		return decide.Answer{}, err
	}
	return promptAnswer(q, answer), nil
}

// RequestYes shows a request below some words, and asks for y or n. harmless says that yes allows nothing.
func (a *App) RequestYes(ctx context.Context, q decide.Request, words, question string, harmless bool) (bool, error) {
	asked := a.question(q, words, "", false)
	asked.Handle, asked.Last, asked.Risk, asked.Confirm, asked.Harmless = "", "", -1, question, harmless // requests come first
	answer, err := a.put(ctx, asked)
	return answer.Allow, err
}

// question shows a request between words, in short, and all of it on demand. rule offers the narrowest rule.
func (a *App) question(q decide.Request, above, below string, rule bool) ask.Prompt {
	return ask.Prompt{Handle: q.Handle, Last: decisive(q), Risk: riskOf(q),
		Lay: func(cols int) string { return a.styled(above + a.QuestionText(q, cols) + below) },
		Short: func(cols, more int) ask.Short {
			s := shortText(q, cols, more, rule)
			s.Text = a.styled(above + s.Text + below)
			return s
		}}
}

// promptAnswer names a request by its handle, because the asker chooses the id and could choose another's handle.
func promptAnswer(q decide.Request, answer ask.Answer) decide.Answer {
	return decide.Answer{ID: q.Handle, Digest: q.Digest, Allow: answer.Allow, Reason: answer.Reason, Via: "prompt"}
}

// ruleKey allows a request and adds the narrowest rule that would have allowed it.
const ruleKey = 'r'

// ruled reports whether one key may make a rule of a request.
func ruled(q decide.Request) bool {
	return len(q.Suggest) > 0 && q.Team != decide.SessionTeam && !typed(q)
}

// typed reports whether a request is allowed only by typing its handle, never by one key.
func typed(q decide.Request) bool { return policy.Risk(q.Risk) == policy.RiskHigh }

func riskOf(q decide.Request) int {
	switch policy.Risk(q.Risk) {
	case policy.RiskHigh:
		return 2
	case policy.RiskMedium:
		return 1
	}
	return 0
}

// decisive returns the line to read when the question is longer than the screen.
func decisive(q decide.Request) string {
	return Bold(operator.Visible(fmt.Sprintf("%s, risk %s, from %s: %s", q.Handle, q.Risk, q.Member, view.Asks(q))))
}
