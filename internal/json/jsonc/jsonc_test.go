package jsonc_test

import (
	"testing"

	"waggle/internal/json/jsonc"
)

func parse(t *testing.T, text string) *jsonc.Document {
	t.Helper()
	d, err := jsonc.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

func TestAppendAndRemove(t *testing.T) {
	for _, tc := range []struct{ before, after string }{
		{`[]`, "[\n  9\n]"},
		{"[\n]", "[\n  9\n]"},
		{`[1]`, `[1, 9]`},
		{`[1, ]`, `[1, 9, ]`},
		{`[1 /* c */ ]`, `[1, /* c */ 9 ]`},
		{"[1 // c\n]", "[1, // c\n  9\n]"},
		{"[\n\t1,\n\t// c\n]", "[\n\t1,\n\t// c\n\t9,\n]"},
		{"[ // c\n]", "[ // c\n  9\n]"},
		{"  [\r\n    1\r\n  ]", "  [\r\n    1,\r\n    9\r\n  ]"},
	} {
		d := parse(t, tc.before)
		d.Append(d.Root, jsonc.New{Value: 9})
		got, err := d.Bytes()
		if err != nil || string(got) != tc.after {
			t.Errorf("%q: got %q, %v, want %q", tc.before, got, err, tc.after)
			continue
		}
		d = parse(t, tc.after)
		if last := len(d.Root.Items) - 1; last > 0 || d.Root.Commented() {
			d.Remove(d.Root, func(i int) bool { return i == last })
		} else {
			d.Empty(d.Root, parse(t, tc.before).Inner(parse(t, tc.before).Root))
		}
		if back, err := d.Bytes(); err != nil || string(back) != tc.before {
			t.Errorf("%q: removed: %q, %v", tc.before, back, err)
		}
	}
}

// A comma that is left, and one too few, are both broken JSON for strict readers.
func TestRemoveKeepsCommasRight(t *testing.T) {
	for _, tc := range []struct {
		before, after string
		which         string
	}{
		{"[1, 2, 3]", "[ 2, 3]", "x  "},
		{"[1, 2, 3]", "[1, 3]", " x "},
		{"[1, 2, 3]", "[1, 2]", "  x"},
		{"[1, 2, 3]", "[1]", " xx"},
		{"[1, 2, 3]", "[]", "xxx"},
		{"[1, 2, 3,]", "[1,]", " xx"},
		{"[1, // one\n 2, 3]", "[1 // one\n]", " xx"},
		{"[// c\n 1, 2]", "[// c\n 2]", "x "},
		{"[1 /* a */, 2 /* b */ ]", "[1 /* a */ /* b */ ]", " x"},
	} {
		d := parse(t, tc.before)
		d.Remove(d.Root, func(i int) bool { return tc.which[i] == 'x' })
		if got, err := d.Bytes(); err != nil || string(got) != tc.after {
			t.Errorf("%q without %q: got %q, %v, want %q", tc.before, tc.which, got, err, tc.after)
		}
	}
}

func TestParseNamesThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\" 1}":    "line 2, column 7: a colon is expected, this is '1'",
		"[1 2]":            "line 1, column 4: a comma or ']' is expected, this is '2'",
		"[1":               "line 1, column 3: a comma or ']' is expected, this is the end of the text",
		`{"a": "\x"}`:      "line 1, column 7: this string is not one of JSON: invalid character 'x' in string escape code",
		"{\"a\": \"\tb\"}": "line 1, column 7: this string does not end on its line",
		`{"a": tru}`:       `line 1, column 7: "tru" is no value of JSON`,
		`[,]`:              "line 1, column 2: a value is expected, this is ','",
		`{"a": NaN}`:       "line 1, column 7: a value is expected, this is 'N'",
		`# no`:             "line 1, column 1: a value is expected, this is '#'",
	} {
		if _, err := jsonc.Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"a\": [1, /* c */ 2,], // d\r\n}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := jsonc.Parse(data)
		if err != nil {
			return
		}
		if same, err := d.Bytes(); err != nil || string(same) != string(data) {
			t.Errorf("%q without edits is %q, %v", data, same, err)
		}
		if d.Root != nil && (d.Root.Kind == jsonc.Object || d.Root.Kind == jsonc.Array) {
			d.Remove(d.Root, func(i int) bool { return i%2 == 0 })
			if _, err := d.Bytes(); err != nil {
				t.Errorf("%q: %v", data, err)
			}
		}
	})
}
