package task_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"waggle/internal/test/testenv"
	"waggle/task"
)

// asWritten are task files in the bytes of the real client.
var asWritten = map[string]string{
	"2.1.211": `{
  "id": "1",
  "subject": "Caulk the hull — all of it",
  "description": "Start at the \"stern\".\nThen <forward> & up.",
  "owner": "diver",
  "status": "completed",
  "blocks": [
    "3"
  ],
  "blockedBy": []
}`,
	"2.1.329": `{
  "id": "12",
  "subject": "Weave",
  "description": "",
  "activeForm": "Weaving",
  "owner": "",
  "status": "pending",
  "blocks": [],
  "blockedBy": [
    "3",
    "11"
  ],
  "metadata": {
    "_internal": true,
    "ratio": 1.50,
    "deep": {
      "er": [
        null
      ]
    }
  }
}`,
	"outsider": `{
  "vendor": "x",
  "status": "in_progress",
  "id": 7,
  "Owner": "another case",
  "blockedBy": [
    3
  ],
  "subject": "\u0041\ud800",
  "createdAt": 1795198543120
}`,
}

func parse(t testing.TB, data string) task.Task {
	t.Helper()
	got, _, err := task.Parse([]byte(data))
	testenv.Must(t, err)
	return got
}

var ignoreKept = cmpopts.IgnoreUnexported(task.Task{})

func TestUnchangedRewriteIsIdentity(t *testing.T) {
	t.Parallel()
	for name, data := range asWritten {
		equal(t, name, data, string(parse(t, data).AppendJSON(nil)))
	}
}

// TestCaptures reads task files that real Claude Code processes wrote.
func TestCaptures(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("WAGGLE_CAPTURES")
	if dir == "" {
		t.Skip("WAGGLE_CAPTURES is not set: no captured files to read")
	}
	read := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(filepath.Dir(path), "tasks-") || !strings.HasSuffix(path, ".json") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		got, problems, err := task.Parse(data)
		if err != nil || len(problems) > 0 || string(got.ID)+".json" != filepath.Base(path) || got.Owner == "" || got.Status != task.Completed {
			t.Errorf("%s: %v %q %+v", path, err, problems, got)
		}
		equal(t, path, string(data), string(got.AppendJSON(nil)))
		return nil
	})
	if err != nil || read < 3 {
		t.Errorf("%d captured tasks: %v", read, err)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]task.Task{
		"2.1.211": {
			ID: "1", Subject: "Caulk the hull — all of it", Description: "Start at the \"stern\".\nThen <forward> & up.",
			Owner: "diver", Status: task.Completed, Blocks: []task.ID{"3"},
		},
		"2.1.329": {
			ID: "12", Subject: "Weave", ActiveForm: "Weaving", Status: task.Pending, BlockedBy: []task.ID{"3", "11"},
			Metadata: map[string]json.RawMessage{
				"_internal": json.RawMessage("true"), "ratio": json.RawMessage("1.50"),
				"deep": json.RawMessage("{\n      \"er\": [\n        null\n      ]\n    }"),
			},
		},
		"outsider": {ID: "7", Subject: "A\ufffd", Status: task.InProgress, BlockedBy: []task.ID{"3"}},
	} {
		got, problems, err := task.Parse([]byte(asWritten[name]))
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %q", name, err, problems)
		}
		equal(t, name, want, got, ignoreKept, cmpopts.EquateEmpty())
	}
	got := parse(t, asWritten["outsider"])
	if raw, ok := got.Unknown("createdAt"); !ok || string(raw) != "1795198543120" {
		t.Errorf("createdAt: %s", raw)
	}
	if _, ok := got.Unknown("status"); ok {
		t.Error("status is not unknown")
	}
}

func TestParseReports(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		`{"id":"1","status":"pending"}`:                  nil,
		`{"id":"01","status":"pending"}`:                 {`id "01" is not a task id`},
		`{"id":"../x","status":"pending"}`:               {`id "../x" is not a task id`},
		`{"id":"9999999999999999","status":"pending"}`:   {`id "9999999999999999" is not a task id`},
		`{"id":"1","status":"blocked"}`:                  {`status "blocked" is not known`},
		`{"id":"1","id":"2","status":"pending"}`:         {`key "id" occurs more than once`},
		`{"id":"1","status":"pending","blocks":"2"}`:     {"blocks is string, want array"},
		`{"id":"1","status":"pending","blockedBy":[{}]}`: {"blockedBy holds object, want strings"},
		`{"id":"1","status":"pending","metadata":[]}`:    {"metadata is array, want object"},
		`{"id":[],"status":null}`:                        {"id is array, want string", `id "" is not a task id`, `status "" is not known`},
	} {
		got, problems, err := task.Parse([]byte(in))
		if err != nil || !slices.Equal(problems, want) {
			t.Errorf("%s: %q, want %q (%v)", in, problems, want, err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, got.AppendJSON(nil)); err != nil || compact.String() != in {
			t.Errorf("%s: rewritten as %s", in, compact.String())
		}
	}
	for in, offset := range map[string]int64{``: 0, `[]`: 0, `{"id":"1"}}`: 10, `{"id":"1`: 8} {
		_, _, err := task.Parse([]byte(in))
		if bad, ok := errors.AsType[*task.CorruptError](err); !ok || bad.Offset != offset {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestNewTaskHasTheOrderOfTheRealClient(t *testing.T) {
	t.Parallel()
	full := task.Task{
		ID: "3", Subject: "s", Description: "d", ActiveForm: "a", Owner: "w", Status: task.InProgress, Blocks: []task.ID{"4"}, BlockedBy: []task.ID{"1", "2"},
		Metadata: map[string]json.RawMessage{"b": json.RawMessage(`{"x":[]}`), "a": json.RawMessage(`1`), "gone": nil, "null": json.RawMessage("null"), "bad": json.RawMessage("{")},
	}
	want := `{
  "id": "3",
  "subject": "s",
  "description": "d",
  "activeForm": "a",
  "owner": "w",
  "status": "in_progress",
  "blocks": [
    "4"
  ],
  "blockedBy": [
    "1",
    "2"
  ],
  "metadata": {
    "a": 1,
    "b": {
      "x": []
    }
  }
}`
	equal(t, "written", want, string(full.AppendJSON(nil)))
	want = `{
  "id": "3",
  "subject": "",
  "description": "",
  "status": "pending",
  "blocks": [],
  "blockedBy": []
}`
	equal(t, "written", want, string(task.Task{ID: "3", Status: task.Pending}.AppendJSON(nil)))
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		edit func(*task.Task)
		want string
	}{
		{`{"id":"1","x":1,"status":"pending","blocks":[]}`, func(t *task.Task) { t.Owner = "w" }, `{"id":"1","owner":"w","x":1,"status":"pending","blocks":[]}`},
		{`{"id":"1","owner":"w","x":1}`, func(t *task.Task) { t.Owner = "" }, `{"id":"1","owner":"","x":1}`},
		{`{"id":"1","activeForm":"w","x":1}`, func(t *task.Task) { t.ActiveForm = "" }, `{"id":"1","x":1}`},
		{`{"id":"1","blockedBy":["2"]}`, func(t *task.Task) { t.BlockedBy = nil }, `{"id":"1","blockedBy":[]}`},
		{`{"id":"1","metadata":{"z":1.0,"a":null,"m":2}}`, func(t *task.Task) { t.Metadata["b"] = json.RawMessage("3") }, `{"id":"1","metadata":{"z":1.0,"a":null,"m":2,"b":3}}`},
		{`{"id":"1","metadata":{"z":1.0,"m":2}}`, func(t *task.Task) { t.Metadata["z"] = json.RawMessage("null") }, `{"id":"1","metadata":{"m":2}}`},
		{`{"id":"1","metadata":{"z":1.0,"m":2}}`, func(t *task.Task) { delete(t.Metadata, "z") }, `{"id":"1","metadata":{"m":2}}`},
		{`{"id":"1","metadata":{"z":1.0}}`, func(t *task.Task) { t.Metadata = nil }, `{"id":"1","metadata":{}}`},
		{`{"id":"1"}`, func(t *task.Task) { t.Metadata = map[string]json.RawMessage{"k": json.RawMessage(`"v"`)} }, `{"id":"1","metadata":{"k":"v"}}`},
		{`{"id":"1","status":"pending","status":"completed","x":1}`, func(t *task.Task) { t.Status = task.InProgress }, `{"id":"1","status":"in_progress","x":1}`},
	} {
		got := parse(t, c.in)
		c.edit(&got)
		var compact bytes.Buffer
		if err := json.Compact(&compact, got.AppendJSON(nil)); err != nil || compact.String() != c.want {
			t.Errorf("%s: %s, want %s", c.in, compact.String(), c.want)
		}
	}
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	all := []task.Task{{ID: "1", Status: task.Completed}, {ID: "2", Status: task.Pending}, {ID: "3", Status: task.InProgress}, {ID: "4", Status: task.Deleted}, {ID: "5", Status: "odd"}}
	got := task.Blocked(task.Task{ID: "9", BlockedBy: []task.ID{"1", "2", "3", "4", "5", "6", "2", "../x"}}, all)
	equal(t, "ids", []task.ID{"2", "3", "5"}, got)
	if got := task.Blocked(task.Task{}, all); got != nil {
		t.Errorf("%v", got)
	}
}

// FuzzParse: Parse never panics; an unchanged rewrite is the input in the layout of JSON.stringify;
// every key that was not edited survives an edit.
func FuzzParse(f *testing.F) {
	for _, data := range asWritten {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _, err := task.Parse(data)
		if err != nil {
			if bad, ok := errors.AsType[*task.CorruptError](err); !ok || bad.Offset < 0 || bad.Offset > int64(len(data)) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		var want bytes.Buffer
		testenv.Must(t, json.Indent(&want, bytes.TrimSpace(data), "", "  "))
		if out := got.AppendJSON(nil); !bytes.Equal(out, want.Bytes()) {
			t.Fatalf("%q\n%s\nwant\n%s", data, out, want.Bytes())
		}
		got.Owner, got.Status = "edited", "edited"
		out := got.AppendJSON(nil)
		again, _, err := task.Parse(out)
		if err != nil || again.Owner != "edited" || again.Status != "edited" {
			t.Fatalf("%v %s", err, out)
		}
		var x, y map[string]json.RawMessage
		testenv.Must(t, errors.Join(json.Unmarshal(data, &x), json.Unmarshal(out, &y)))
		delete(x, "owner")
		delete(x, "status")
		for key, raw := range x {
			var a, b bytes.Buffer
			if err := errors.Join(json.Compact(&a, raw), json.Compact(&b, y[key])); err != nil || a.String() != b.String() {
				t.Fatalf("%q: %s became %s", key, raw, y[key])
			}
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const good = `{"id":"3","subject":"s","description":"d","status":"pending","blocks":["4"],"blockedBy":[]}`
	for _, c := range []struct{ what, from, to, want string }{
		{"as it is", "", "", ""},
		{"optional keys", `"s",`, `"s","owner":"w","activeForm":"a","metadata":{"k":1},"mine":2,`, ""},
		{"id", `"3"`, `"5"`, `/id: "5" is not that of the file, "3"`},
		{"no id", `"id":"3",`, "", "/id: is missing"},
		{"status", "pending", "done", `/status: "done" is not pending`},
		{"blocks", `["4"]`, `"4"`, "/blocks: is string, want array"},
		{"a number", `["4"]`, `["4",5]`, "/blocks/1: is number, want string"},
		{"itself", `[]`, `["3"]`, "/blockedBy/0: is the task itself"},
		{"no id in it", `["4"]`, `["x"]`, `/blocks/0: "x" is not a task id`},
		{"owner", `"s",`, `"s","owner":1,`, "/owner: is number, want string"},
		{"twice", `"s",`, `"s","id":"3",`, "/id: occurs more than once"},
		{"torn", `}`, ``, ": byte"},
	} {
		got := task.Validate([]byte(strings.Replace(good, c.from, c.to, 1)), "3")
		if c.want == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || !strings.HasPrefix(got[0].String(), c.want) {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
}

func TestValidateStatus(t *testing.T) {
	t.Parallel()
	const good = `{"agentId":"a@api","status":"complete","startedAt":"2026-02-16T10:35:00.000Z","lastActiveAt":"2026-02-16T11:30:00.000Z","metrics":{"tokens_used":1,"tasks_completed":3,"avg_response_time":1.5}}`
	for _, c := range []struct{ what, from, to, want string }{
		{"as it is", "", "", ""},
		{"status", "complete", "busy", `/status: "busy" is not running`},
		{"no start", `"startedAt":"2026-02-16T10:35:00.000Z",`, "", "/startedAt: is missing"},
		{"metrics", `"tokens_used":1`, `"tokens_used":"1"`, "/metrics/tokens_used: is string, want number"},
		{"error", `"metrics"`, `"errorMessage":1,"metrics"`, "/errorMessage: is number, want string"},
	} {
		got := task.ValidateStatus([]byte(strings.Replace(good, c.from, c.to, 1)))
		if (len(got) == 0) != (c.want == "") || len(got) > 0 && !strings.HasPrefix(got[0].String(), c.want) {
			t.Errorf("%s: %v, want %s", c.what, got, c.want)
		}
	}
	for data, valid := range map[string]bool{"7": true, "7\n": true, "0": true, "": false, "-1": false, "x": false} {
		if got := task.ValidateHigh([]byte(data)); (len(got) == 0) != valid {
			t.Errorf("%q: %v", data, got)
		}
	}
}

func TestCircles(t *testing.T) {
	t.Parallel()
	on := func(id task.ID, by ...task.ID) task.Task {
		return task.Task{ID: id, Status: task.Pending, BlockedBy: by}
	}
	done := on("5", "6")
	done.Status = task.Completed
	got := task.Circles([]task.Task{on("1", "2"), on("2", "3"), on("3", "2", "9"), on("4", "1"), done, on("6", "5"), on("7", "7")})
	if !slices.Equal(got, []task.ID{"2", "3", "7"}) {
		t.Errorf("%v", got)
	}
}
