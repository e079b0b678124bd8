package agent

import (
	"strings"

	"waggle/record"
)

// Question is what an agent asks a person in words: one request, with one part or several. Its
// answer opens no gate and is no consent to a later call.
type Question struct {
	Parts []Part
}

// Part is one question of a Question, as the journal has it. The texts of the parts differ.
type Part = record.Question

// Option is an answer that the agent offers.
type Option = record.Option

// NoAnswer is what an agent is told when nobody has answered: there is no default, and silence is
// never an empty answer.
const NoAnswer = record.NoAnswer

// Answers are what became of a Question.
type Answers struct {
	Given   bool    // false: there is no answer, and Reason says why
	Replies []Reply // one for each part, in order; none unless Given
	Reason  string
	By      string // operator, leader, system
}

// Reply answers one part: with options, or in words.
type Reply struct {
	Labels []string // of the chosen options
	Text   string   // words, when no option was chosen
}

// String is the reply as one text: the labels with commas, or the words.
func (r Reply) String() string {
	if len(r.Labels) > 0 {
		return strings.Join(r.Labels, ", ")
	}
	return r.Text
}
