package jsonobj_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/json/jsonobj"
	"waggle/internal/test/testenv"
)

func parse(t *testing.T, data string) *jsonobj.Object {
	t.Helper()
	o, err := jsonobj.Parse([]byte(data))
	if err != nil {
		t.Fatalf("Parse(%q): %v", data, err)
	}
	return o
}

func TestLayoutIsThatOfStringify(t *testing.T) {
	// The output of node for JSON.stringify(JSON.parse(s), null, 2), except that the bytes of strings
	// and numbers stay.
	for _, c := range []struct{ in, want string }{
		{`{}`, `{}`},
		{` { } `, `{}`},
		{`{"a":[],"b":{},"c":[ ],"d":{ }}`, "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [],\n  \"d\": {}\n}"},
		{`{"a":[1,{"b":[true,null]}]}`, "{\n  \"a\": [\n    1,\n    {\n      \"b\": [\n        true,\n        null\n      ]\n    }\n  ]\n}"},
		{"{\r\n\t\"a\" : 1.50e+3 , \"\\u0062\":\"\\u00e9\\ud800 <&>\"}", "{\n  \"a\": 1.50e+3,\n  \"\\u0062\": \"\\u00e9\\ud800 <&>\"\n}"},
		{`{"a":"]}[{,:","b":"\\","c":"\""}`, "{\n  \"a\": \"]}[{,:\",\n  \"b\": \"\\\\\",\n  \"c\": \"\\\"\"\n}"},
		{"\xef\xbb\xbf{\"a\":1}\n", "{\n  \"a\": 1\n}"},
		{`{"a":1,"a":2}`, "{\n  \"a\": 1,\n  \"a\": 2\n}"},
	} {
		got := string(parse(t, c.in).Append(nil, 0))
		if got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.in, got, c.want)
		}
		if again := string(parse(t, got).Append(nil, 0)); again != got {
			t.Errorf("%q is not stable: %q", got, again)
		}
	}
}

func TestParseSaysWhere(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", jsonobj.MaxDepth) + strings.Repeat("]", jsonobj.MaxDepth) + `}`
	for _, c := range []struct {
		in     string
		offset int64
		why    string
	}{
		{``, 0, "unexpected end of JSON input"},
		{`{"a":1`, 6, "unexpected end of JSON input"},
		{`{"a":1}}`, 7, "invalid character '}' after top-level value"},
		{`{"a":1,}`, 7, "invalid character '}' looking for beginning of object key string"},
		{"\xef\xbb\xbf{oops}", 4, "invalid character 'o' looking for beginning of object key string"},
		{"{\"a\":\"\n\"}", 6, "invalid character '\\n' in string literal"},
		{`  [1]`, 2, "a JSON object is expected, this is array"},
		{`null`, 0, "a JSON object is expected, this is null"},
		{deep, 5 + jsonobj.MaxDepth - 1, "nested deeper than 128"},
	} {
		_, err := jsonobj.Parse([]byte(c.in))
		var bad *jsonobj.Error
		if !errors.As(err, &bad) {
			t.Errorf("%.20q: %v", c.in, err)
			continue
		}
		if bad.Offset != c.offset || bad.Why != c.why {
			t.Errorf("%.20q: byte %d: %s, want byte %d: %s", c.in, bad.Offset, bad.Why, c.offset, c.why)
		}
	}
}

func TestParseKeepsNothingOfItsInput(t *testing.T) {
	data := []byte(`{"a":"b"}`)
	o, err := jsonobj.Parse(data)
	testenv.Must(t, err)
	for i := range data {
		data[i] = 'x'
	}
	if got := string(o.Append(nil, 0)); got != "{\n  \"a\": \"b\"\n}" {
		t.Errorf("changed with the input: %s", got)
	}
}

func TestSetAndDelete(t *testing.T) {
	order := []string{"a", "b", "c", "d"}
	for _, c := range []struct {
		in   string
		edit func(*jsonobj.Object)
		want string
	}{
		{`{"x":1,"c":2}`, func(o *jsonobj.Object) { o.Set("c", json.RawMessage("3")) }, `{"x":1,"c":3}`},
		{`{"x":1}`, func(o *jsonobj.Object) { o.Set("c", json.RawMessage("3")) }, `{"x":1,"c":3}`},
		{`{"a":1,"x":1,"d":1}`, func(o *jsonobj.Object) { o.SetOrdered("b", json.RawMessage("3"), order) }, `{"a":1,"b":3,"x":1,"d":1}`},
		{`{"x":1,"c":1,"d":1}`, func(o *jsonobj.Object) { o.SetOrdered("b", json.RawMessage("3"), order) }, `{"x":1,"b":3,"c":1,"d":1}`},
		{`{"x":1}`, func(o *jsonobj.Object) { o.SetOrdered("b", json.RawMessage("3"), order) }, `{"x":1,"b":3}`},
		{`{"x":1}`, func(o *jsonobj.Object) { o.SetOrdered("z", json.RawMessage("3"), order) }, `{"x":1,"z":3}`},
		{`{"a":1,"x":2,"a":3}`, func(o *jsonobj.Object) { o.Set("a", json.RawMessage("4")) }, `{"x":2,"a":4}`},
		{`{"a":1,"x":2,"a":3}`, func(o *jsonobj.Object) { o.Delete("a") }, `{"x":2}`},
		{`{"A":1}`, func(o *jsonobj.Object) { o.Set("a", json.RawMessage("4")) }, `{"A":1,"a":4}`},
	} {
		o := parse(t, c.in)
		changed := o.Clone()
		c.edit(changed)
		var got bytes.Buffer
		testenv.Must(t, json.Compact(&got, changed.Raw()))
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.in, got.String(), c.want)
		}
		if again := parse(t, c.in); string(again.Raw()) != string(o.Raw()) {
			t.Errorf("%s: editing a clone changed the object", c.in)
		}
	}
}

func TestDuplicates(t *testing.T) {
	o := parse(t, `{"a":1,"b":2,"\u0061":3,"a":4,"b":5}`)
	if diff := cmp.Diff([]string{"a", "b"}, o.Duplicates()); diff != "" {
		t.Error(diff)
	}
	if raw, _ := o.Get("a"); string(raw) != "4" {
		t.Errorf("a is %s, want the last one", raw)
	}
}

func TestAppendString(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", `"plain"`},
		{"\"\\/", `"\"\\/"`},
		{"\b\f\n\r\t\x00\x1f\x7f", `"\b\f\n\r\t\u0000\u001f` + "\x7f\""},
		{"<&>\u2028\u2029é😀", "\"<&>\u2028\u2029é😀\""},
		{"a\xffb", "\"a\ufffdb\""},
	} {
		if got := string(jsonobj.AppendString(nil, c.in)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestElements(t *testing.T) {
	got, ok := jsonobj.Elements(json.RawMessage(`[ 1 ,"],[" , [2,[3]] , {"a":[ ]} , null ]`))
	var texts []string
	for _, e := range got {
		texts = append(texts, string(e))
	}
	if diff := cmp.Diff([]string{"1", `"],["`, "[2,[3]]", `{"a":[ ]}`, "null"}, texts); diff != "" || !ok {
		t.Error(diff)
	}
	if got, ok := jsonobj.Elements(json.RawMessage(`[]`)); !ok || len(got) != 0 {
		t.Errorf("[]: %v %v", got, ok)
	}
	if _, ok := jsonobj.Elements(json.RawMessage(`{}`)); ok {
		t.Error("an object is no array")
	}
}

type thing struct {
	Name   string
	Note   string
	Done   bool
	Active *bool
	List   []string
	At     time.Time
}

var thingFields = []jsonobj.Field[thing]{
	jsonobj.Text("name", jsonobj.Write, func(v *thing) *string { return &v.Name }),
	jsonobj.Text("note", jsonobj.Keep, func(v *thing) *string { return &v.Note }),
	jsonobj.Bool("done", jsonobj.Omit, func(v *thing) *bool { return &v.Done }),
	jsonobj.Flag("active", func(v *thing) **bool { return &v.Active }),
	jsonobj.Texts("list", jsonobj.Write, func(v *thing) *[]string { return &v.List }),
	jsonobj.Time("at", "since", jsonobj.Millis, func(v *thing) *time.Time { return &v.At }),
}

func TestFields(t *testing.T) {
	day := time.Date(2026, 11, 20, 18, 15, 43, 120e6, time.UTC)
	for _, c := range []struct {
		in   string
		edit func(*thing)
		want string
	}{
		{`{"x":1,"name":"a"}`, func(v *thing) {}, `{"x":1,"name":"a"}`},
		{`{"x":1,"name":"a"}`, func(v *thing) { v.Name = "b" }, `{"x":1,"name":"b"}`},
		{`{"name":"a","note":"n"}`, func(v *thing) { v.Note = "" }, `{"name":"a","note":""}`},
		{`{"name":"a"}`, func(v *thing) { v.Done = true }, `{"name":"a","done":true}`},
		{`{"name":"a","done":true}`, func(v *thing) { v.Done = false }, `{"name":"a"}`},
		{`{"active":true,"name":"a"}`, func(v *thing) { v.Active = new(false) }, `{"active":false,"name":"a"}`},
		{`{"active":true,"name":"a"}`, func(v *thing) { v.Active = nil }, `{"name":"a"}`},
		{`{"list":["a"]}`, func(v *thing) { v.List = append(v.List, "b") }, `{"list":["a","b"]}`},
		{`{"list":["a"]}`, func(v *thing) { v.List = nil }, `{"list":[]}`},
		{`{"at":1}`, func(v *thing) { v.At = day }, `{"at":1795198543120}`},
		{`{"at":"2026-01-01T00:00:00Z"}`, func(v *thing) { v.At = day }, `{"at":"2026-11-20T18:15:43.120Z"}`},
		{`{"since":"2026-01-01T00:00:00Z"}`, func(v *thing) { v.At = day }, `{"since":"2026-11-20T18:15:43.120Z"}`},
		{`{"at":null,"since":5}`, func(v *thing) { v.At = day }, `{"at":null,"since":1795198543120}`},
		{`{"name":5,"x":1}`, func(v *thing) {}, `{"name":5,"x":1}`},
		{`{"name":null}`, func(v *thing) { v.Name = "b" }, `{"name":"b"}`},
	} {
		o := parse(t, c.in)
		var v thing
		jsonobj.Read(o, thingFields, &v)
		old := v
		c.edit(&v)
		jsonobj.Update(o, thingFields, &old, &v)
		var got bytes.Buffer
		testenv.Must(t, json.Compact(&got, o.Raw()))
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.in, got.String(), c.want)
		}
	}
	o := &jsonobj.Object{}
	jsonobj.Update(o, thingFields, nil, &thing{At: day})
	if diff := cmp.Diff([]string{"name", "list", "at"}, o.Keys()); diff != "" {
		t.Error(diff)
	}
}

func TestReadReports(t *testing.T) {
	var v thing
	got := jsonobj.Read(parse(t, `{"name":1,"done":"x","active":0,"list":["a",2],"at":"soon","Note":"n"}`), thingFields, &v)
	want := []jsonobj.Problem{
		{"name", "is number, want string"},
		{"done", "is string, want boolean"},
		{"active", "is number, want boolean"},
		{"list", "holds number, want strings"},
		{"at", "is a string that is not an ISO 8601 time"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(thing{}, v); diff != "" {
		t.Errorf("wrong values were taken: %s", diff)
	}
}

func TestParseTime(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64 // ms
		ok   bool
	}{
		{`1795198543120`, 1795198543120, true},
		{`1.79519854312e12`, 1795198543120, true},
		{`0`, 0, true},
		{`-5`, -5, true},
		{`"2026-11-20T18:15:43.120Z"`, 1795198543120, true},
		{`"2026-11-20T19:15:43+01:00"`, 1795198543000, true},
		{`8.65e15`, 0, false},
		{`1e999`, 0, false},
		{`"1795198543120"`, 0, false},
		{`true`, 0, false},
	} {
		got, err := jsonobj.ParseTime(json.RawMessage(c.in))
		if (err == nil) != c.ok || c.ok && got.UnixMilli() != c.want {
			t.Errorf("%s: %v %v", c.in, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"b":"\ud800"}],"a":2}`, "\xef\xbb\xbf{\"a\":1.0e5}", `{"a":1}}`, `[`, `{"":{"":[]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := jsonobj.Parse(data)
		if err != nil {
			var bad *jsonobj.Error
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > int64(len(data)) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		out := o.Append(nil, 0)
		// encoding/json lays valid JSON out the same way and keeps its bytes.
		var want bytes.Buffer
		testenv.Must(t, json.Indent(&want, bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "", "  "))
		if !bytes.Equal(want.Bytes(), out) {
			t.Fatalf("%q\n%s\nwant\n%s", data, out, want.Bytes())
		}
		for _, key := range o.Keys() {
			raw, ok := o.Get(key)
			if !ok || !json.Valid(raw) {
				t.Fatalf("%q: %q: %q", data, key, raw)
			}
			before := slices.DeleteFunc(o.Keys(), func(k string) bool { return k == key })
			c := o.Clone()
			c.Set(key, json.RawMessage(`[]`))
			c.Delete(key)
			if !slices.Equal(before, c.Keys()) {
				t.Fatalf("%q: deleting %q leaves %q", data, key, c.Keys())
			}
		}
	})
}

func Example() {
	o, err := jsonobj.Parse([]byte(`{"id":"1","vendor":{"k":1.0},"status":"pending"}`))
	if err != nil {
		panic(err)
	}
	o.Set("status", jsonobj.AppendString(nil, "completed"))
	o.SetOrdered("owner", jsonobj.AppendString(nil, "tester"), []string{"id", "owner", "status"})
	fmt.Println(string(o.Append(nil, 0)))
	// Output:
	// {
	//   "id": "1",
	//   "owner": "tester",
	//   "vendor": {
	//     "k": 1.0
	//   },
	//   "status": "completed"
	// }
}

// TestTextAndObject: a key that is missing, or has another type, reads as "" and as an empty object.
func TestTextAndObject(t *testing.T) {
	o, err := jsonobj.Parse([]byte(`{"s":"a","o":{"k":"v"},"n":1,"Cased":"x","l":[{"k":1},2,{"k":"w"}]}`))
	testenv.Must(t, err)
	if o.Text("s") != "a" || o.Text("n") != "" || o.Text("none") != "" || o.Text("cased") != "" {
		t.Error(o.Text("s"), o.Text("n"), o.Text("none"), o.Text("cased"))
	}
	if o.Object("o").Text("k") != "v" || o.Object("s").Len() != 0 || o.Object("none").Text("k") != "" {
		t.Error(o.Object("o").Keys(), o.Object("s").Keys(), o.Object("none").Keys())
	}
	if l := o.Objects("l"); len(l) != 2 || l[1].Text("k") != "w" || o.Objects("o") != nil || o.Objects("none") != nil {
		t.Error(l, o.Objects("o"))
	}
}
