package page

import (
	"strings"

	"waggle/operator"
)

// Spell gives the text of a step in a face's own commands; "" for none.
type Spell func(operator.Next) string

// Sentence is a text with its step. A step that begins with a punctuation mark is appended as it
// is.
func (s Spell) Sentence(of operator.Sentence) string {
	text, step := of.Text, s(of.Do)
	if text != "" && step != "" && !strings.ContainsAny(step[:1], ",:") {
		text += "; "
	}
	return text + step
}
