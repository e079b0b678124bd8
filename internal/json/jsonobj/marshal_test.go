package jsonobj_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"waggle/internal/json/jsonobj"
)

func TestMarshalHasNoHTMLEscapes(t *testing.T) {
	v := map[string]any{"a": "x && <y>", "b": json.RawMessage(`"<&>"`)}
	if b, err := jsonobj.Marshal(v); err != nil || string(b) != `{"a":"x && <y>","b":"<&>"}` {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := jsonobj.MarshalIndent(v); err != nil || string(b) != "{\n  \"a\": \"x && <y>\",\n  \"b\": \"<&>\"\n}" {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := jsonobj.Marshal(func() {}); err == nil {
		t.Error("a function is JSON")
	}
}

func TestRespell(t *testing.T) {
	escape := func(r rune) bool { return r == 'x' || r == '😀' || r == 0x9b }
	for in, want := range map[string]string{
		`{"a\u0026":"\u003c\/\u00e9","n":1.50e+3}`:   `{"a&":"</é","n":1.50e+3}`,
		`["x","\u0078","\ud83d\ude00","😀","\u009b"]`: `["\u0078","\u0078","\ud83d\ude00","\ud83d\ude00","\u009b"]`,
		`"\ud800 \ud800\u0041 \udc00"`:               `"\ud800 \ud800A \udc00"`,
		`"\b\f\n\r\t\"\\ \\u0026 \u0001"`:            `"\b\f\n\r\t\"\\ \\u0026 \u0001"`,
		`[]`:                                         `[]`, ` { } `: ` { } `, `""`: `""`, `"\uD83D\uDE01"`: `"😁"`,
	} {
		if got := string(jsonobj.Respell(nil, []byte(in), escape)); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

// FuzzRespell: the value stays the same, whatever is escaped.
func FuzzRespell(f *testing.F) {
	f.Add(`{"a\u0026":["\ud83d\ude00","\ud800","\u2028\\u0026"]}`)
	f.Add("\"\xff\"")
	f.Fuzz(func(t *testing.T, in string) {
		if !json.Valid([]byte(in)) {
			return
		}
		for _, all := range []bool{false, true} {
			out := jsonobj.Respell(nil, []byte(in), func(rune) bool { return all })
			var a, b any
			if err := json.Unmarshal([]byte(in), &a); err != nil {
				return
			}
			if err := json.Unmarshal(out, &b); err != nil || !reflect.DeepEqual(a, b) {
				t.Fatalf("%q becomes %q (%v)", in, out, err)
			}
		}
	})
}

// TestMarshalIndentDeep: the space before the lines of a deep value does not grow with the square of its depth.
func TestMarshalIndentDeep(t *testing.T) {
	for _, raw := range []string{strings.Repeat("[", 9000) + strings.Repeat("]", 9000), strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)} {
		b, err := jsonobj.MarshalIndent(map[string]json.RawMessage{"input": json.RawMessage(raw)})
		var back map[string]json.RawMessage
		if err != nil || len(b) > 3*len(raw)+4*jsonobj.MaxDepth*jsonobj.MaxDepth || json.Unmarshal(b, &back) != nil {
			t.Errorf("%d bytes became %d, %v", len(raw), len(b), err)
		}
	}
}
