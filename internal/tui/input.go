package tui

import (
	"unicode"

	tea "charm.land/bubbletea/v2"

	"waggle/operator"
)

// purpose is what a typed line is for.
type purpose int

const (
	forNothing purpose = iota
	forReason          // of a denial
	forHandle          // of a request of high risk
	forWords           // the answer to an agent's question
	forFilter
	forMessage
	forTask
	forComment
	forMerge
)

// input is the line at the bottom while something is typed.
type input struct {
	purpose purpose
	label   string
	text    []rune
	stands  string // what stood on the screen when the line was begun
	act     Act    // what Enter does
	keys    []string
}

const maxInput = 4000 // characters

// insert adds what was typed or pasted. What cannot be seen becomes a space or is dropped.
func (in *input) insert(s string) {
	for _, r := range s {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if !operator.Hidden(r) && len(in.text) < maxInput {
			in.text = append(in.text, r)
		}
	}
}

// edit takes a key, and reports whether it changed the line.
func (in *input) edit(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "backspace":
		if n := len(in.text); n > 0 {
			in.text = in.text[:n-1]
		}
	case "ctrl+u":
		in.text = nil
	default:
		if k.Text == "" {
			return false
		}
		in.insert(k.Text)
	}
	return true
}
