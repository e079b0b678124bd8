package jsontext_test

import (
	"testing"

	"waggle/internal/jsontext"
)

// TestStrings: what AppendString writes, Unquote reads, a lone surrogate and every control
// character included; a byte that is not UTF-8 becomes U+FFFD.
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
