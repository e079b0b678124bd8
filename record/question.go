package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waggle/internal/json/jsontext"
	"waggle/protocol"
)

// KindQuestion is the kind of a request for words: an agent's own question. No message has it: the
// request and its answer are records of the two journals and nothing else.
const KindQuestion protocol.Kind = "question"

// Question is one of the questions that an agent asks at once.
type Question struct {
	Text     string   `json:"question"`
	Header   string   `json:"header,omitempty"`      // a few words
	Options  []Option `json:"options"`               // none: words alone answer it
	Multiple bool     `json:"multiSelect,omitempty"` // it takes several options
	Closed   bool     `json:"closed,omitempty"`      // it takes options only
}

// Option is an answer that the agent offers.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Reply is the answer to one question of a request.
type Reply struct {
	Question string `json:"question"` // its text
	Answer   string `json:"answer"`   // the labels that were chosen, with commas, or words
	Chosen   []int  `json:"chosen,omitempty"`
}

// NoAnswer is what an agent is told when nobody has answered.
const NoAnswer = "nobody answered; do not assume"

// Bounds of a question and its answer. Nobody reads more, and what is shown is shown whole.
const (
	maxQuestions = 32
	maxOptions   = 100
	maxLabel     = 1 << 10  // of a header or a label
	maxText      = 32 << 10 // of a text, a description or an answer
	maxInput     = 256 << 10
)

// QuestionInput is the input of a request that asks these questions.
func QuestionInput(qs []Question) string {
	qs = slices.Clone(qs)
	for i := range qs {
		if qs[i].Options == nil {
			qs[i].Options = []Option{}
		}
	}
	b, _ := jsontext.Marshal(struct { // strings always encode
		Questions []Question `json:"questions"`
	}{qs})
	return string(b)
}

// Questions reads the questions of an input by exact field name: that of QuestionInput, and of
// AskUserQuestion.
func Questions(input string) ([]Question, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(input), &m); err != nil {
		return nil, fmt.Errorf("questions: %w", err)
	}
	var raws []map[string]json.RawMessage
	if err := json.Unmarshal(m["questions"], &raws); err != nil || len(raws) == 0 {
		return nil, errors.New(`questions: the input has no "questions"`)
	}
	var qs []Question
	seen := map[string]bool{}
	for _, f := range raws {
		q := Question{Text: jsontext.TextOf(f, "question"), Header: jsontext.TextOf(f, "header"), Multiple: string(f["multiSelect"]) == "true", Closed: string(f["closed"]) == "true",
			Options: []Option{}}
		if strings.TrimSpace(q.Text) == "" || seen[q.Text] {
			return nil, errors.New("questions: one has no text, or the text of another: their answers could not be distinguished")
		}
		seen[q.Text] = true
		var options []map[string]json.RawMessage
		if raw, ok := f["options"]; ok {
			if err := json.Unmarshal(raw, &options); err != nil {
				return nil, fmt.Errorf("questions: %w", err)
			}
		}
		for _, o := range options {
			q.Options = append(q.Options, Option{Label: jsontext.TextOf(o, "label"), Description: jsontext.TextOf(o, "description")})
		}
		qs = append(qs, q)
	}
	return qs, nil
}

// CheckQuestions refuses questions that nobody could answer, and those that are too large to be
// shown whole.
func CheckQuestions(qs []Question) error {
	if len(qs) == 0 || len(qs) > maxQuestions {
		return fmt.Errorf("question: %d questions at once; 1 to %d are asked", len(qs), maxQuestions)
	}
	seen := map[string]bool{}
	size := 0
	for i, q := range qs {
		labels := map[string]bool{}
		size += len(q.Text) + len(q.Header)
		switch {
		case strings.TrimSpace(q.Text) == "" || len(q.Text) > maxText || len(q.Header) > maxLabel:
			return fmt.Errorf("question %d: it has no text, or more than %d bytes of it, or a header above %d", i+1, maxText, maxLabel)
		case seen[q.Text]:
			return fmt.Errorf("question %d: it has the text of another, so their answers could not be distinguished", i+1)
		case len(q.Options) > maxOptions:
			return fmt.Errorf("question %d: it has %d options; at most %d are shown", i+1, len(q.Options), maxOptions)
		case q.Closed && len(q.Options) == 0:
			return fmt.Errorf("question %d: it takes options only and has none", i+1)
		case !utf8.ValidString(q.Text) || !utf8.ValidString(q.Header):
			return fmt.Errorf("question %d: it is not valid UTF-8", i+1)
		}
		seen[q.Text] = true
		for n, o := range q.Options {
			size += len(o.Label) + len(o.Description)
			switch {
			case strings.TrimSpace(o.Label) == "" || len(o.Label) > maxLabel || len(o.Description) > maxText:
				return fmt.Errorf("question %d, option %d: it has no label, or one above %d bytes, or a description above %d", i+1, n+1, maxLabel, maxText)
			case labels[o.Label]:
				return fmt.Errorf("question %d, option %d: another option has its label", i+1, n+1)
			case !utf8.ValidString(o.Label) || !utf8.ValidString(o.Description):
				return fmt.Errorf("question %d, option %d: it is not valid UTF-8", i+1, n+1)
			}
			labels[o.Label] = true
		}
	}
	if size > maxInput {
		return fmt.Errorf("question: %d bytes; at most %d are asked at once", size, maxInput)
	}
	return nil
}

// Reply parses the typed answer to a question: a label chooses its option, a number that is no label
// the option at that place, several of them separated by commas choose several where the question
// takes them, and anything else is the answer's text. A closed question takes no text. An empty text
// is no answer.
func (q Question) Reply(typed string) (Reply, error) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		return Reply{}, fmt.Errorf("%q has no answer; an empty one is never given", oneLine(q.Text))
	}
	if n := q.labelled(typed); n > 0 {
		return q.choose([]int{n})
	}
	var chosen []int
	for part := range strings.SplitSeq(typed, ",") {
		n := q.place(strings.TrimSpace(part))
		if n == 0 {
			return q.words(typed)
		}
		chosen = append(chosen, n)
	}
	return q.choose(chosen)
}

// labelled is the place of the option with a label, 0 without one.
func (q Question) labelled(text string) int {
	return 1 + slices.IndexFunc(q.Options, func(o Option) bool { return strings.TrimSpace(o.Label) == text })
}

// place is the place of the option that a word names, by its label where several are chosen, or by
// its number as it is shown; 0: none.
func (q Question) place(word string) int {
	if at := q.labelled(word); at > 0 && q.Multiple {
		return at
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(q.Options) && strconv.Itoa(n) == word {
		return n
	}
	return 0
}

func (q Question) words(text string) (Reply, error) {
	switch {
	case q.Closed:
		return Reply{}, fmt.Errorf("%q takes one of its %d options, by label or number, and no other words, not %.80q", oneLine(q.Text), len(q.Options), text)
	case len(text) > maxText || !utf8.ValidString(text):
		return Reply{}, fmt.Errorf("the answer to %q is not text, or more than %d bytes", oneLine(q.Text), maxText)
	}
	return Reply{Question: q.Text, Answer: text}, nil
}

// choose is the answer with options, by their numbers from 1.
func (q Question) choose(numbers []int) (Reply, error) {
	if len(numbers) > 1 && !q.Multiple {
		return Reply{}, fmt.Errorf("%q takes one answer", oneLine(q.Text))
	}
	for i, n := range numbers {
		if slices.Contains(numbers[:i], n) {
			return Reply{}, fmt.Errorf("%q: option %d is chosen twice", oneLine(q.Text), n)
		}
	}
	r := Reply{Question: q.Text, Chosen: numbers}
	r.Answer = strings.Join(r.Labels(q), ", ")
	return r, nil
}

// Labels are the labels of the options that an answer chose.
func (r Reply) Labels(q Question) (labels []string) {
	for _, n := range r.Chosen {
		labels = append(labels, q.Options[n-1].Label)
	}
	return labels
}

func oneLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Replies reads what was typed, one text for each question of a request.
func Replies(input string, typed []string) ([]Reply, error) {
	qs, err := Questions(input)
	if err != nil {
		return nil, err
	}
	if len(typed) != len(qs) {
		return nil, fmt.Errorf("%d questions were asked and %d answers given: one argument for each", len(qs), len(typed))
	}
	var out []Reply
	for i, q := range qs {
		r, err := q.Reply(typed[i])
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// CheckReplies refuses answers that are not those of an input's questions, one for each and none
// empty.
func CheckReplies(input string, replies []Reply) error {
	qs, err := Questions(input)
	if err != nil {
		return err
	}
	if len(replies) != len(qs) {
		return fmt.Errorf("%d questions were asked and %d answered", len(qs), len(replies))
	}
	for i, q := range qs {
		r, want := replies[i], Reply{}
		if slices.ContainsFunc(r.Chosen, func(n int) bool { return n < 1 || n > len(q.Options) }) {
			return fmt.Errorf("question %d has no such option", i+1)
		}
		if len(r.Chosen) > 0 {
			want, err = q.choose(r.Chosen)
		} else {
			want, err = q.words(r.Answer)
		}
		if err != nil {
			return err
		}
		if r.Question != want.Question || r.Answer != want.Answer || strings.TrimSpace(r.Answer) == "" {
			return fmt.Errorf("the answer to question %d is not one of that question", i+1)
		}
	}
	return nil
}

// SameReplies reports whether two lists of answers are equal.
func SameReplies(a, b []Reply) bool {
	return slices.EqualFunc(a, b, func(x, y Reply) bool {
		return x.Question == y.Question && x.Answer == y.Answer && slices.Equal(x.Chosen, y.Chosen)
	})
}

// Texts are the answers as they were given, one for each question.
func Texts(replies []Reply) (texts []string) {
	for _, r := range replies {
		texts = append(texts, r.Answer)
	}
	return texts
}

// Replied reports whether a decision on a question has the answers that it must have: one to each part
// of the question, and none where nothing is answered in words.
func Replied(a Ask, decision string, answers []Reply) bool {
	if decision != DecisionAnswer {
		return len(answers) == 0
	}
	return CheckReplies(a.Input, answers) == nil
}

// MailFits reports whether a decision holds the message that it takes: an answer to the member, and
// none for a question, whose answer is read in the journal.
func (d Decided) MailFits(to protocol.MemberName) bool {
	if d.Kind == KindQuestion {
		return d.Mail == nil
	}
	return d.Mail != nil && d.Mail.To == to && d.Mail.Kind == AnswerKind(d.Kind)
}
