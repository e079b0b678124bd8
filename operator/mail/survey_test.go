package mail_test

import (
	"context"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/mail"
)

// checked is a context that is over after it was asked so many times.
type checked struct {
	context.Context
	left int
}

func (c *checked) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// An interrupted survey, wherever it stops, leaves the result of the survey before: half of the
// mailboxes would report a message as erased that is in the other half.
func TestInterruptedLook(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	tm.Join("ann")
	tm.Join("bob")
	sent := []mail.Sent{send(t, tm, "ann", "hi"), send(t, tm, "bob", "hi")}
	l := testenv.Value(mail.NewLooker(t.Context(), mail.Of(op), tm.Name))(t)
	for n := 0; ; n++ {
		if n == 1000 {
			t.Fatal("no look ever ended")
		}
		err := l.Look(&checked{t.Context(), n})
		if l.Reached(sent, mail.Delivered) {
			t.Fatal("nobody runs, and it was delivered")
		}
		for _, s := range sent {
			if s.State != mail.Held {
				t.Errorf("after %d checks (%v) mail to %s is %s (%s), want held", n, err, s.To, s.State, s.Detail)
			}
		}
		if err == nil && n > 0 {
			return
		}
	}
}
