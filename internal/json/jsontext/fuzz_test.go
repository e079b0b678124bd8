package jsontext_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"waggle/internal/json/jsontext"
)

// seeds are texts at each branch of the grammar, right and wrong.
var seeds = []string{
	``, ` `, `{}`, `[]`, `[ ]`, `{ }`, `null`, `true`, `false`, `0`, `-0`, `-1.5e+10`, `1E-3`, `""`, ` "a" `,
	`{"a":1,"a":2}`, `{"a":{"a":{}},"b":[1,{"a":null}]}`, `[[],{},[[]],"",0]`, "\t\n\r [1 , 2 ]\n",
	`"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"`, `"\ud83d"`, `"\ude00"`, `"\ud83d\ud83d\ude00"`, `"\ud83dx"`, `"\ud83d\n"`,
	"\"\xff\"", "\"\xed\xa0\x80\"", "\"abcdefgh\x01\"", `"abcdefg\`, `"abcdefgh`, `"abcdefg\u12`, `"\u12g4"`, `"\x"`, `"\`,
	`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `{"a":1 "b"}`, `[`, `[1`, `[1,`, `[1,]`, `[1 2]`, `[}`, `{]`,
	`tru`, `trux`, `nul`, `nulL`, `f`, `-`, `-x`, `01`, `1.`, `1.x`, `1e`, `1e+`, `1ex`, `.5`, `+1`, `'a'`, "\xef\xbb\xbf{}", "\xff", `{} x`, `1 2`, "\x00", "[\"\x7f\"]",
	strings.Repeat("[", 130) + strings.Repeat("]", 130), strings.Repeat(`{"a":`, 130) + "1" + strings.Repeat("}", 130),
}

// checkText compares the scanner with encoding/json and with itself.
func checkText(t *testing.T, text string) {
	t.Helper()
	s := jsontext.Scanner[string]{Text: text}
	keys := 0
	s.OnKey = func(k jsontext.Key) {
		keys++
		if text[k.Start] != '"' || text[k.End-1] != '"' || k.Object < 1 || k.Depth < 1 || k.Value > len(text) {
			t.Errorf("%q: key %+v", text, k)
		}
	}
	ok := s.Document()
	var raw json.RawMessage
	err := json.Unmarshal([]byte(text), &raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Error() == "exceeded max depth" {
		return // encoding/json has a limit of its own
	}
	if ok != (err == nil) {
		t.Fatalf("%q: %v, encoding/json says %v", text, ok, err)
	}
	b := jsontext.Scanner[[]byte]{Text: []byte(text)}
	if b.Document() != ok || b.Depth != s.Depth || b.Surrogate != s.Surrogate {
		t.Errorf("%q: bytes and text differ", text)
	}
	if !ok {
		want := int(syntax.Offset)
		if syntax.Error() != "unexpected end of JSON input" {
			want-- // it counts the byte that is wrong
		}
		if s.At == len(text) && want == s.At-1 && strings.Contains(syntax.Error(), "invalid character ' '") {
			return // a token is cut: encoding/json puts a space behind it and says that this is wrong
		}
		if s.At != want {
			t.Errorf("%q: byte %d; encoding/json: byte %d: %v", text, s.At, want, syntax)
		}
		return
	}
	checkValid(t, text, &s, keys)
}

// checkValid checks the results of a Scanner for a text that is JSON.
func checkValid(t *testing.T, text string, s *jsontext.Scanner[string], keys int) {
	t.Helper()
	start := jsontext.Space(text, 0)
	end := len(strings.TrimRight(text, " \t\r\n"))
	if depth, n := measure(text); depth != s.Depth || n != keys {
		t.Errorf("%q: depth %d and %d keys; encoding/json counts %d and %d", text, s.Depth, keys, depth, n)
	}
	for limit := max(1, s.Depth-1); limit <= s.Depth; limit++ {
		l := jsontext.Scanner[string]{Text: text, MaxDepth: limit}
		if ok := l.Document(); ok != (limit >= s.Depth) {
			t.Errorf("%q: depth %d within %d: %v", text, s.Depth, limit, ok)
		}
	}
	if text[start] != '{' {
		return
	}
	o := jsontext.Scanner[string]{Text: text}
	if at, ok := o.Object(start, func(m jsontext.Span) {
		if !json.Valid([]byte(text[m.Key:m.KeyEnd])) || !json.Valid([]byte(text[m.Value:m.End])) {
			t.Errorf("%q: member %+v", text, m)
		}
	}); !ok || at != end {
		t.Errorf("%q: as an object it ends at %d, %v", text, at, ok)
	}
}

// measure counts with encoding/json's tokens.
func measure(text string) (deepest, keys int) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var open []byte // '{' when a key is due, ':' when its value is
	for {
		tok, err := dec.Token()
		if err != nil {
			return deepest, keys
		}
		top := len(open) - 1
		if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
			open = open[:top]
			continue
		}
		switch {
		case top < 0 || open[top] == '[':
		case open[top] == '{':
			keys++
			open[top] = ':'
			continue
		default:
			open[top] = '{'
		}
		if d, ok := tok.(json.Delim); ok {
			open = append(open, byte(d))
			deepest = max(deepest, len(open))
		}
	}
}

func TestSeeds(t *testing.T) {
	for _, text := range seeds {
		checkText(t, text)
		for n := range len(text) {
			if len(text) < 200 {
				checkText(t, text[:n])
			}
		}
	}
}

// FuzzScanner: the scanner accepts the texts that encoding/json accepts, and finds the same byte wrong.
func FuzzScanner(f *testing.F) {
	for _, text := range seeds {
		f.Add(text)
	}
	f.Fuzz(checkText)
}

func TestSurrogate(t *testing.T) {
	for text, want := range map[string]bool{
		`"\ud83d\ude00"`: false, `"\ud83d"`: true, `"\ude00"`: true, `"\ude00\ud83d"`: true, `"\ud83d\ud83d\ude00"`: true,
		`{"\udfff":1}`: true, `"\ud7ff\ue000"`: false, `"\ud800\udc00"`: false, `"\udbff\udfff"`: false, `"\ud83dx"`: true,
	} {
		s := jsontext.Scanner[string]{Text: text}
		if !s.Document() || s.Surrogate != want {
			t.Errorf("%s: surrogate %v, want %v", text, s.Surrogate, want)
		}
	}
}
