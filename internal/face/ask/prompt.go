package ask

import (
	"context"
	"errors"
	"time"
)

// The times of the rules in the package comment.
const (
	Stand  = 500 * time.Millisecond // how long a question stands before a key counts
	Settle = 40 * time.Millisecond  // how long a key of an answer is alone
	Repeat = 200 * time.Millisecond // how long a key that is an answer by itself is alone: keyboards repeat faster
	trains = 2 * time.Second        // how long after a dropped key such a one is alone for Stand instead
	Hold   = 2 * time.Second        // how long other output waits for the person to read
	begun  = 30 * time.Second       // how long after its last key an answer that was begun holds the screen
	calm   = 150 * time.Millisecond // how long a size stays before the question is painted for it
)

// Errors of Ask.
var (
	ErrUnsupported = errors.New("ask: this system's terminals are not supported")
	ErrClosed      = errors.New("ask: the terminal is closed")
	ErrLent        = errors.New("ask: another program has the terminal")
	ErrBusy        = errors.New("ask: a question stands on the terminal")
)

// Prompt is what a person is asked. The zero value asks nothing; Text or Lay is needed.
type Prompt struct {
	// Handle names the question in messages, and is what is typed to allow it when
	// Typed is set. It is compared in any case.
	Handle string
	// Text is everything the answer is about, in lines that the terminal may show as
	// they are: what cannot be seen must be written out.
	Text string
	// Lay returns Text for a terminal of so many columns, 0 when that is unknown; nil:
	// Text goes for every width.
	Lay func(cols int) string
	// Short is shown first instead of Text, in a few lines; the key v shows Text. nil: Text is shown at once. more is
	// how many other questions wait.
	Short func(cols, more int) Short
	// Harmless says that yes allows nothing: it is taken of a Short that hides something, too.
	Harmless bool
	// Last is written below Text when both do not fit on the screen: what matters most.
	Last string
	// Risk orders questions: the highest is shown first.
	Risk int
	// Typed wants the handle and Enter instead of the key a.
	Typed bool
	// Reason asks for a line of text when the answer is no.
	Reason bool
	// Confirm makes it a question with the answers y and n: the words before [y/N].
	Confirm string
	// Choices are further answers of such a question, and of one that the key a allows: there they allow, too.
	Choices []Choice
}

// Short is a question in a few lines.
type Short struct {
	Text string
	// Hides says that Text has not all that the answer is about: nothing is allowed before the question's own Text was
	// shown.
	Hides bool
	// Choices says that Text has what the question's Choices are about.
	Choices bool
}

// Choice is an answer of its own key beside y and n.
type Choice struct {
	Key  rune   // a small letter; typed in any case
	Does string // a few words
	// Line asks for a line of text after the key; "": the key is the answer.
	Line string
}

// Answer is what was typed.
type Answer struct {
	Allow  bool
	Reason string // of a denial, "" when none was given
	Choice rune   // the key of a Choice; 0: none
	Line   string // of that choice
}

// asked is a Prompt that waits for its answer.
type asked struct {
	Prompt
	ctx   context.Context
	done  chan result // holds one
	whole bool        // Text was asked for instead of Short
}

type result struct {
	answer Answer
	err    error
}
