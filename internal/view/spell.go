package view

import (
	"strings"

	"waggle/operator"
)

// Spell gives the text of a step, as the users of a face do it; "" for none.
type Spell func(operator.Next) string

// Sentence is a text with the step that goes with it. A step that begins with a mark of
// punctuation brings its own.
func (s Spell) Sentence(text string, n operator.Next) string {
	step := s(n)
	if text != "" && step != "" && !strings.ContainsAny(step[:1], ",:") {
		text += "; "
	}
	return text + step
}
