package record_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// colour takes one of two options or words; several takes more than one of three; closed takes no
// words; open has no options.
var (
	colour  = record.Question{Text: "Which colour?\nOf the door.", Header: "Colour", Options: []record.Option{{Label: "red", Description: "like fire"}, {Label: "blue"}}}
	several = record.Question{Text: "Which ones?", Options: []record.Option{{Label: "a"}, {Label: "b"}, {Label: "2"}}, Multiple: true}
	closed  = record.Question{Text: "Go on?", Options: []record.Option{{Label: "yes"}, {Label: "no"}}, Closed: true}
	open    = record.Question{Text: "What else?", Options: []record.Option{}}
)

// TestQuestionInput: the questions of a request are read back as they were asked, and their
// characters are as they were.
func TestQuestionInput(t *testing.T) {
	want := []record.Question{colour, several, closed, open, {Text: "a < b & c?", Options: []record.Option{}}}
	in := record.QuestionInput(append(want[:4:4], record.Question{Text: "a < b & c?"}))
	got, err := record.Questions(in)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	if !strings.Contains(in, "a < b & c?") || strings.TrimSpace(in) != in || strings.Contains(in, "null") {
		t.Errorf("%q", in)
	}
	if got := record.QuestionInput([]record.Question{{Text: "x"}}); got != `{"questions":[{"question":"x","options":[]}]}` {
		t.Error(got)
	}
}

// TestQuestions: fields are read by their exact names, one that is no text is empty, and an input
// whose answers could not be told apart is refused.
func TestQuestions(t *testing.T) {
	for in, want := range map[string][]record.Question{
		`{"questions":[{"question":"q"}]}`:                                              {{Text: "q", Options: []record.Option{}}},
		`{"more":1,"questions":[{"question":"q","header":7,"multiSelect":true}]}`:       {{Text: "q", Multiple: true, Options: []record.Option{}}},
		`{"questions":[{"question":"q","closed":true,"multiSelect":"true"}]}`:           {{Text: "q", Closed: true, Options: []record.Option{}}},
		`{"questions":[{"question":"q","Header":"h","options":[{"label":"l","x":1}]}]}`: {{Text: "q", Options: []record.Option{{Label: "l"}}}},
		`{"questions":[{"question":"q","options":[{"description":"d"},{}]}]}`:           {{Text: "q", Options: []record.Option{{Description: "d"}, {}}}},
	} {
		got, err := record.Questions(in)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v, %s", in, err, d)
		}
	}
	for in, why := range map[string]string{
		"":                                 `questions: `,
		`[]`:                               `questions: `,
		`{}`:                               `has no "questions"`,
		`{"Questions":[{"question":"q"}]}`: `has no "questions"`,
		`{"questions":[]}`:                 `has no "questions"`,
		`{"questions":null}`:               `has no "questions"`,
		`{"questions":{"question":"q"}}`:   `has no "questions"`,
		`{"questions":["q"]}`:              `has no "questions"`,
		`{"questions":[{"header":"h"}]}`:   "no text",
		`{"questions":[{"question":" "}]}`: "no text",
		`{"questions":[{"question":"q"},{"question":"q"}]}`:  "text of another",
		`{"questions":[{"question":"q","options":"yes"}]}`:   "questions: ",
		`{"questions":[{"question":"q","options":["yes"]}]}`: "questions: ",
	} {
		if got, err := record.Questions(in); err == nil || !strings.Contains(err.Error(), why) || got != nil {
			t.Errorf("%s: %v, %v, want %q", in, got, err, why)
		}
	}
}

// many are n questions of one text each, with a number behind it.
func many(n int, text string) (qs []record.Question) {
	for i := range n {
		qs = append(qs, record.Question{Text: text + string(rune('a'+i))})
	}
	return qs
}

// options are n options with one label each.
func options(n int) (out []record.Option) {
	for i := range n {
		out = append(out, record.Option{Label: strings.Repeat("x", i+1)})
	}
	return out
}

// TestCheckQuestions: a question that cannot be answered, or is too large to be shown whole, is
// refused by its number; a question as large as the bound is asked.
func TestCheckQuestions(t *testing.T) {
	const text, label = 32 << 10, 1 << 10
	q := func(change func(*record.Question)) []record.Question {
		last := record.Question{Text: "q", Options: []record.Option{{Label: "one"}, {Label: "two"}}}
		change(&last)
		return []record.Question{{Text: "first"}, last}
	}
	bad := "a\xff"
	for what, c := range map[string]struct {
		qs  []record.Question
		why string // "" where it is asked
	}{
		"all":             {[]record.Question{colour, several, closed, open}, ""},
		"none":            {nil, "0 questions"},
		"32":              {many(32, "q"), ""},
		"33":              {many(33, "q"), "33 questions at once; 1 to 32"},
		"no text":         {q(func(q *record.Question) { q.Text = " \n" }), "question 2: it has no text"},
		"long text":       {q(func(q *record.Question) { q.Text = strings.Repeat("x", text) }), ""},
		"longer text":     {q(func(q *record.Question) { q.Text = strings.Repeat("x", text+1) }), "question 2: it has no text, or more than 32768 bytes"},
		"long header":     {q(func(q *record.Question) { q.Header = strings.Repeat("x", label) }), ""},
		"longer header":   {q(func(q *record.Question) { q.Header = strings.Repeat("x", label+1) }), "question 2: "},
		"another's text":  {q(func(q *record.Question) { q.Text = "first" }), "question 2: it has the text of another"},
		"100 options":     {q(func(q *record.Question) { q.Options = options(100) }), ""},
		"101 options":     {q(func(q *record.Question) { q.Options = options(101) }), "question 2: it has 101 options; at most 100"},
		"closed":          {q(func(q *record.Question) { q.Closed = true }), ""},
		"closed, none":    {q(func(q *record.Question) { q.Closed, q.Options = true, nil }), "question 2: it takes options only"},
		"text no UTF-8":   {q(func(q *record.Question) { q.Text = bad }), "question 2: it is not valid UTF-8"},
		"header no UTF-8": {q(func(q *record.Question) { q.Header = bad }), "question 2: it is not valid UTF-8"},
		"no label":        {q(func(q *record.Question) { q.Options[1].Label = " " }), "question 2, option 2: it has no label"},
		"long label":      {q(func(q *record.Question) { q.Options[1].Label = strings.Repeat("x", label) }), ""},
		"longer label":    {q(func(q *record.Question) { q.Options[1].Label = strings.Repeat("x", label+1) }), "question 2, option 2: "},
		"long words":      {q(func(q *record.Question) { q.Options[1].Description = strings.Repeat("x", text) }), ""},
		"longer words":    {q(func(q *record.Question) { q.Options[1].Description = strings.Repeat("x", text+1) }), "question 2, option 2: "},
		"one label twice": {q(func(q *record.Question) { q.Options[1].Label = "one" }), "question 2, option 2: another option has its label"},
		"label no UTF-8":  {q(func(q *record.Question) { q.Options[1].Label = bad }), "question 2, option 2: it is not valid UTF-8"},
		"words no UTF-8":  {q(func(q *record.Question) { q.Options[1].Description = bad }), "question 2, option 2: it is not valid UTF-8"},
		"8 of 32 KiB":     {many(8, strings.Repeat("x", text-1)), ""},
		"one byte more":   {append(many(7, strings.Repeat("x", text-1)), record.Question{Text: strings.Repeat("y", text-1), Header: "ab"}), "262145 bytes; at most 262144"},
		"more in options": {append(many(7, strings.Repeat("x", text-1)), record.Question{Text: strings.Repeat("y", text-3), Options: []record.Option{{Label: "ab", Description: "cd"}}}), "262145 bytes; at most 262144"},
	} {
		err := record.CheckQuestions(c.qs)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", what, err, c.why)
		}
	}
}

// TestReply: a label chooses, also one that is a number; a number that is none chooses by its place,
// several where the question takes them, and other words, of a number that no option has too,
// are the answer where they are taken. The error of a refused reply says why.
func TestReply(t *testing.T) {
	words := func(q record.Question, s string) record.Reply { return record.Reply{Question: q.Text, Answer: s} }
	chosen := func(q record.Question, s string, n ...int) record.Reply {
		return record.Reply{Question: q.Text, Answer: s, Chosen: n}
	}
	options := func(labels ...string) (list []record.Option) {
		for _, l := range labels {
			list = append(list, record.Option{Label: l})
		}
		return list
	}
	powers := record.Question{Text: "How many?", Options: options("2", "4", "8")}
	ports := record.Question{Text: "Which port?", Options: options("3000", "5173")}
	decimals := record.Question{Text: "How long?", Options: options(" 1", "1,5")}
	longest := strings.Repeat("x", 32<<10)
	for _, c := range []struct {
		q     record.Question
		typed string
		want  record.Reply
	}{
		{colour, "1", chosen(colour, "red", 1)},
		{colour, " 2 \n", chosen(colour, "blue", 2)},
		{colour, "blue", chosen(colour, "blue", 2)},
		{colour, "red", chosen(colour, "red", 1)},
		{colour, "Red", words(colour, "Red")},
		{colour, "1 or 2", words(colour, "1 or 2")},
		{colour, "1,x", words(colour, "1,x")},
		{colour, " green ", words(colour, "green")},
		{colour, "0", words(colour, "0")},
		{colour, "3", words(colour, "3")},
		{colour, "-1", words(colour, "-1")},
		{colour, "+1", words(colour, "+1")},
		{colour, "01", words(colour, "01")},
		{colour, "1,3", words(colour, "1,3")},
		{colour, "red, blue", words(colour, "red, blue")},
		{several, "1,2", chosen(several, "a, 2", 1, 3)},
		{several, "3, 1", chosen(several, "2, a", 3, 1)},
		{several, "2", chosen(several, "2", 3)},
		{several, "a,b", chosen(several, "a, b", 1, 2)},
		{several, "1,4", words(several, "1,4")},
		{powers, "2", chosen(powers, "2", 1)},
		{powers, "4", chosen(powers, "4", 2)},
		{powers, "8", chosen(powers, "8", 3)},
		{powers, "3", chosen(powers, "8", 3)},
		{ports, "3000", chosen(ports, "3000", 1)},
		{ports, "5173", chosen(ports, "5173", 2)},
		{ports, "8080", words(ports, "8080")},
		{ports, "1", chosen(ports, "3000", 1)},
		{decimals, "1,5", chosen(decimals, "1,5", 2)},
		{decimals, "1", chosen(decimals, " 1", 1)},
		{closed, "no", chosen(closed, "no", 2)},
		{open, "7", words(open, "7")},
		{open, longest, words(open, longest)},
		{record.Question{Text: "q", Options: []record.Option{{Label: "42"}}}, "42", record.Reply{Question: "q", Answer: "42", Chosen: []int{1}}},
	} {
		got, err := c.q.Reply(c.typed)
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%q to %q: %v, %s", c.typed, c.q.Text, err, d)
		}
	}
	for _, c := range []struct {
		q          record.Question
		typed, why string
	}{
		{colour, " ", `"Which colour?" has no answer`},
		{closed, "0", `takes one of its 2 options, by label or number, and no other words, not "0"`},
		{closed, "3", `and no other words, not "3"`},
		{colour, "1,2", `"Which colour?" takes one answer`},
		{several, "2,1,3", "option 3 is chosen twice"},
		{closed, "maybe", `"Go on?" takes one of its 2 options`},
		{open, longest + "x", "more than 32768 bytes"},
		{open, "a\xff", "not text"},
	} {
		if got, err := c.q.Reply(c.typed); err == nil || !strings.Contains(err.Error(), c.why) || !cmp.Equal(got, record.Reply{}) {
			t.Errorf("%q to %q: %+v, %v, want %q", c.typed, c.q.Text, got, err, c.why)
		}
	}
}

// TestReplies: one answer for each question, in their order.
func TestReplies(t *testing.T) {
	in := record.QuestionInput([]record.Question{colour, several})
	got, err := record.Replies(in, []string{"1", "words"})
	testenv.Must(t, err)
	if d := cmp.Diff([]string{"red", "words"}, record.Texts(got)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"b", "2"}, record.Reply{Chosen: []int{2, 3}}.Labels(several)); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		in    string
		typed []string
		why   string
	}{
		{"{}", []string{"1"}, `no "questions"`},
		{in, []string{"1"}, "2 questions were asked and 1 answers given"},
		{in, []string{"1", "1", "1"}, "2 questions were asked and 3 answers given"},
		{in, []string{"1", ""}, "has no answer"},
	} {
		if got, err := record.Replies(c.in, c.typed); err == nil || !strings.Contains(err.Error(), c.why) || got != nil {
			t.Errorf("%q: %v, %v, want %q", c.typed, got, err, c.why)
		}
	}
}

// TestCheckReplies: answers on record are those of the questions of their input, one each; a change
// of one part of one answer is refused.
func TestCheckReplies(t *testing.T) {
	in := record.QuestionInput([]record.Question{colour, several, closed, open})
	good := func() []record.Reply {
		out, err := record.Replies(in, []string{"2", "1,3", "yes", "no more"})
		testenv.Must(t, err)
		return out
	}
	if err := record.CheckReplies(in, good()); err != nil {
		t.Error(err)
	}
	if !record.SameReplies(good(), good()) || !record.SameReplies(nil, nil) {
		t.Error("equal answers differ")
	}
	for what, c := range map[string]struct {
		change func([]record.Reply) []record.Reply
		why    string
	}{
		"one less":         {func(r []record.Reply) []record.Reply { return r[:3] }, "4 questions were asked and 3 answered"},
		"one more":         {func(r []record.Reply) []record.Reply { return append(r, r[3]) }, "4 questions were asked and 5 answered"},
		"of another":       {func(r []record.Reply) []record.Reply { r[1].Question = "x"; return r }, "question 2 is not one of that question"},
		"another label":    {func(r []record.Reply) []record.Reply { r[0].Answer = "red"; return r }, "question 1 is not one of that question"},
		"option 0":         {func(r []record.Reply) []record.Reply { r[0].Chosen = []int{0}; return r }, "question 1 has no such option"},
		"beyond":           {func(r []record.Reply) []record.Reply { r[1].Chosen = []int{1, 4}; return r }, "question 2 has no such option"},
		"twice":            {func(r []record.Reply) []record.Reply { r[1].Chosen = []int{1, 1}; return r }, "chosen twice"},
		"two of one":       {func(r []record.Reply) []record.Reply { r[0].Chosen = []int{1, 2}; return r }, "takes one answer"},
		"words to closed":  {func(r []record.Reply) []record.Reply { r[2].Chosen = nil; return r }, "by label or number, and no other words"},
		"no words":         {func(r []record.Reply) []record.Reply { r[3].Answer = " "; return r }, "question 4 is not one of that question"},
		"words, no choice": {func(r []record.Reply) []record.Reply { r[0].Answer, r[0].Chosen = "green", nil; return r }, ""},
	} {
		changed := c.change(good())
		err := record.CheckReplies(in, changed)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v, want %q", what, err, c.why)
		}
		if record.SameReplies(good(), changed) || record.SameReplies(changed, good()) {
			t.Errorf("%s: the answers are the same", what)
		}
	}
	if err := record.CheckReplies("[]", nil); err == nil {
		t.Error("an input that has no questions")
	}
}

// TestQuestionsAreRequests: a question has its own sum over its input, a gate, an answer that allows
// nothing, and no message; its input is checked with the request.
func TestQuestionsAreRequests(t *testing.T) {
	k := record.Key{Instance: "i", Kind: record.KindQuestion, ID: "p"}
	ask := func(input string) record.Ask { return record.Ask{N: record.SumQuestion, Input: input} }
	if !record.IsRequest(k.Kind) || record.GateOf(k.Kind) != policy.GateQuestion || record.AnswerKind(k.Kind) != "" {
		t.Errorf("%s: %v, %s, %s", k.Kind, record.IsRequest(k.Kind), record.GateOf(k.Kind), record.AnswerKind(k.Kind))
	}
	for kind, sum := range map[protocol.Kind]int{record.KindQuestion: record.SumQuestion, tool: record.SumN, plan: record.SumN, host: record.SumN} {
		if got := record.SumOf(kind); got != sum {
			t.Errorf("%s has the sum %d, want %d", kind, got, sum)
		}
	}
	if a, b := record.DigestOf(uid, k, ask(`{"a":1}`)), record.DigestOf(uid, k, ask(`{"a":2}`)); a == b || a == "" {
		t.Errorf("the sums of two inputs: %s, %s", a, b)
	}
	for _, c := range []struct {
		kind     protocol.Kind
		decision string
		want     bool
	}{
		{record.KindQuestion, record.DecisionAnswer, true}, {record.KindQuestion, record.DecisionDeny, true}, {record.KindQuestion, record.DecisionAllow, false},
		{tool, record.DecisionAnswer, false}, {tool, record.DecisionAllow, true}, {tool, record.DecisionDeny, true}, {plan, record.DecisionEscalate, false},
	} {
		if got := record.Decides(c.kind, c.decision); got != c.want {
			t.Errorf("%s of a %s: %v", c.decision, c.kind, got)
		}
	}
	for in, ok := range map[string]bool{record.QuestionInput([]record.Question{colour}): true, "{}": false, record.QuestionInput(many(33, "q")): false} {
		if err := ask(in).Check(k.Kind); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
		if err := ask(in).Check(tool); err != nil {
			t.Errorf("%s of a tool: %v", in, err)
		}
	}
}
