package cmdline

import (
	"reflect"
	"testing"
)

// TestRoughCommands: a text that cannot be parsed is cut at separators outside quotes, and its
// words are whole.
func TestRoughCommands(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                  {nil},
		"a":                 {{"a"}},
		"a b;c":             {{"a", "b"}, {"c"}},
		"a;":                {{"a"}, nil},
		"a 'b;c' d|e":       {{"a", "b;c", "d"}, {"e"}},
		`a "b c`:            {{"a", "b c"}},
		`a\ b c\;d`:         {{"a b", "c;d"}},
		`'a\'b`:             {{`a\b`}},
		`"a\"b"c`:           {{`a"bc`}},
		"'' a":              {{"", "a"}},
		"a&&(b\tc)`d`\ne\r": {{"a"}, nil, nil, {"b", "c"}, nil, {"d"}, nil, {"e"}, nil},
	} {
		got := roughCommands(text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
