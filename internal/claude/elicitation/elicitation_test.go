package elicitation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/agent"
	"waggle/internal/claude/elicitation"
	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
)

func read(t *testing.T, mode, schema string) (elicitation.Form, error) {
	t.Helper()
	o, err := jsonobj.Parse([]byte(schema))
	testenv.Must(t, err)
	return elicitation.Read("s", "Which?", mode, o)
}

const whole = `{"properties":{"branch":{"type":"string","title":"Branch","description":"to push"},"force":{"type":"boolean"},"tries":{"type":"integer"},
"share":{"type":"number"},"sides":{"type":"array","items":{"enum":["l","r"],"enumNames":["Left","Right"]}},"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"m"}]},
"note":{"type":"string"}},"required":["branch","force","tries","share","sides","size"]}`

// TestForm: a form is one part for each value, with its options; the answer has the values in their types, and leaves
// out what the person leaves out.
func TestForm(t *testing.T) {
	f, err := read(t, "form", whole)
	testenv.Must(t, err)
	options := func(labels ...string) (os []agent.Option) {
		for _, l := range labels {
			os = append(os, agent.Option{Label: l})
		}
		return os
	}
	want := agent.Question{Parts: []agent.Part{
		{Text: "The tool server s asks: Which?\nbranch (Branch): to push"},
		{Text: "force", Closed: true, Options: options("yes", "no")},
		{Text: "tries"}, {Text: "share"},
		{Text: "sides", Closed: true, Multiple: true, Options: options("Left", "Right")},
		{Text: "size", Closed: true, Options: options("Small", "m")},
		{Text: "note [- leaves it out]"},
	}}
	if diff := cmp.Diff(want, f.Question()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	said := func(words string) agent.Reply { return agent.Reply{Text: words} }
	chose := func(labels ...string) agent.Reply { return agent.Reply{Labels: labels} }
	answers := []agent.Reply{said("main"), chose("no"), said("7"), said("0.5"), chose("Left", "Right"), chose("m"), said("-")}
	if got, err := f.Content(answers); string(got) != `{"branch":"main","force":false,"tries":7,"share":0.5,"sides":["l","r"],"size":"m"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	for at, wrong := range map[int]agent.Reply{0: said(" "), 1: said("false"), 2: said("7.5"), 3: said("NaN"), 4: chose("Up"), 5: said("s")} {
		bad := append([]agent.Reply{}, answers...)
		bad[at] = wrong
		if got, err := f.Content(bad); err == nil {
			t.Errorf("answer %d, %+v: %s", at, wrong, got)
		}
	}
	if got, err := f.Content(answers[:6]); err == nil {
		t.Errorf("six answers of seven: %s", got)
	}
}

// TestConfirm: a form without values is a yes or a no, and only the yes is an answer.
func TestConfirm(t *testing.T) {
	f, err := read(t, "", `{}`)
	if err != nil || len(f.Question().Parts) != 1 {
		t.Fatal(f, err)
	}
	if got, err := f.Content([]agent.Reply{{Labels: []string{"yes"}}}); string(got) != "{}" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := f.Content([]agent.Reply{{Labels: []string{"no"}}}); err == nil {
		t.Errorf("no: %s", got)
	}
}

// TestNames: options with the same name are shown as their values, so that an answer names one of them; a value
// without a name in the schema is a value all the same.
func TestNames(t *testing.T) {
	f, err := read(t, "", `{"properties":{"":{"type":"string","enum":["a","b"],"enumNames":["same","same"]}},"required":[""]}`)
	testenv.Must(t, err)
	if got, err := f.Content([]agent.Reply{{Labels: []string{"b"}}}); string(got) != `{"":"b"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestReadRefuses: a form that cannot be asked, or has two readings, is an error that names the server.
func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ mode, schema string }{
		{"url", `{}`},
		{"", `{"properties":{"a":{"type":"object"}}}`},
		{"", `{"properties":{"a":{}}}`},
		{"", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`},
		{"", `{"properties":{"a":{"type":"string"},"a":{"type":"boolean"}}}`},
	} {
		if _, err := read(t, c.mode, c.schema); err == nil || !strings.HasPrefix(err.Error(), "s") {
			t.Errorf("%s %s: %v", c.mode, c.schema, err)
		}
	}
}
