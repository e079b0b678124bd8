package jsontext_test

import (
	"slices"
	"testing"

	"waggle/internal/json/jsontext"
)

// TestStrings: Unquote reads each string that AppendString writes, also a lone surrogate and every
// control character; a byte that is not UTF-8 becomes U+FFFD.
func TestStrings(t *testing.T) {
	for _, c := range []struct{ value, text string }{
		{"", `""`}, {"a\"b\\c/", `"a\"b\\c/"`}, {"\b\f\n\r\t\x00\x1f", `"\b\f\n\r\t\u0000\u001f"`},
		{"<&>\u2028é😀", "\"<&>\u2028é😀\""}, {"\xed\xa0\xbd", `"\ud83d"`},
	} {
		if got := string(jsontext.AppendString(nil, c.value)); got != c.text {
			t.Errorf("%q is written %s, want %s", c.value, got, c.text)
		}
		if got := jsontext.Unquote(c.text); got != c.value {
			t.Errorf("%s is read %q, want %q", c.text, got, c.value)
		}
	}
	if got := string(jsontext.AppendString(nil, "a\xffb")); got != "\"a\uFFFDb\"" {
		t.Errorf("a byte that is not UTF-8 is written %q", got)
	}
	if got := jsontext.Unquote(`"\ud83d\ude00\u0041"`); got != "😀A" {
		t.Errorf("escapes are read %q", got)
	}
}

// TestParts: an object is split in its order, with both of two equal keys, and every byte of a
// value as it stands; so is an array.
func TestParts(t *testing.T) {
	const text = `{"a" : {"x":[1, 2]} ,"\u0061":"}" , "b":  -1.50}`
	want := []jsontext.Member{{"a", `"a"`, `{"x":[1, 2]}`}, {"a", `"\u0061"`, `"}"`}, {"b", `"b"`, "-1.50"}}
	if got := jsontext.Members(text); !slices.Equal(got, want) {
		t.Errorf("members of %s: %q", text, got)
	}
	if got := jsontext.Members(" {}"[1:]); len(got) != 0 {
		t.Errorf("members of {}: %q", got)
	}
	if got := jsontext.Items(`[ "a,b" , [1,2],{} ]`); !slices.Equal(got, []string{`"a,b"`, "[1,2]", "{}"}) {
		t.Errorf("items: %q", got)
	}
}

// TestSame: two texts are the same value in spite of space, escapes and order, not when a digit differs or something follows.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":["\u0041"]}`, ` {"b": ["A"], "a": 1}`, true},
		{`12345678901234567890`, `12345678901234567891`, false},
		{`1`, `1 2`, false}, {`1`, `1.0`, false}, {`tru`, `tru`, false},
	} {
		if got := jsontext.Same([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// TestAppendCompact: only the space between tokens goes.
func TestAppendCompact(t *testing.T) {
	const text = "{ \"a b\" :\r\n\t[ 1.50 , \"\\\" \" , { } ] }"
	if got := string(jsontext.AppendCompact(nil, text)); got != `{"a b":[1.50,"\" ",{}]}` {
		t.Error(got)
	}
}
