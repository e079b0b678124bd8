package mailbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/mailbox/mailboxtest"
	"waggle/protocol"
)

const (
	a1    = `{"from":"a","text":"1","timestamp":"t","read":false}`
	ours  = "{\n    \"from\": \"tester\",\n    \"text\": \"x\",\n    \"timestamp\": \"2026-11-20T18:15:43.000Z\",\n    \"read\": false\n  }"
	begin = "[\n  "
	end   = "\n]"
)

// An append keeps the bytes of the file as they are, whatever their formatting.
func TestAppendBytes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ old, want string }{
		"empty":                {"[]", begin + ours + end},
		"blank":                {"[ ]", begin + ours + end},
		"blank lines":          {"[\r\n\t]\n", begin + ours + end + "\n"},
		"byte order mark":      {"\ufeff[]", begin + ours + end},
		"compact":              {"[" + a1 + "]", "[" + a1 + ",\n  " + ours + end},
		"compact, two":         {"[" + a1 + "," + a1 + "]\n", "[" + a1 + "," + a1 + ",\n  " + ours + end + "\n"},
		"pretty":               {begin + a1 + end, begin + a1 + ",\n  " + ours + end},
		"pretty, newline":      {begin + a1 + end + "\n", begin + a1 + ",\n  " + ours + end + "\n"},
		"carriage returns":     {"[\r\n  " + a1 + "\r\n]\r\n", "[\r\n  " + a1 + ",\n  " + ours + "\r\n]\r\n"},
		"mark and space":       {"\ufeff \n[" + a1 + " ] ", " \n[" + a1 + ",\n  " + ours + "\n ] "},
		"null":                 {"[null]", "[null,\n  " + ours + end},
		"wrong types":          {`[1, "x", [], [[]], {}]`, `[1, "x", [], [[]], {}` + ",\n  " + ours + "\n]"},
		"ends like an array":   {"[[]]", "[[],\n  " + ours + end},
		"ends like an array 2": {"[[ ] ]", "[[ ],\n  " + ours + "\n ]"},
		"brackets in a string": {`["]", "[", "\"]"]`, `["]", "[", "\"]"` + ",\n  " + ours + end},
	}
	for name, c := range cases {
		for _, tier := range tiers {
			b, reports := boxWith(t, c.old, mailbox.Options{}.With(tier, atomicfile.SyncNone))
			err := b.Append(t.Context(), text("x"))
			if err != nil && strings.Contains(err.Error(), "cannot exchange") {
				continue
			}
			testenv.Must(t, err)
			if got := get(t, b.Path()); got != c.want {
				t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
			}
			n := len(validArray(t, get(t, b.Path())))
			// The second append knows the file's content and reads only its tail.
			testenv.Must(t, b.Append(t.Context(), text("x"), text("x")))
			if got := len(validArray(t, get(t, b.Path()))); got != n+2 {
				t.Errorf("%s: %d entries", name, got)
			}
			if len(*reports) > 0 {
				t.Errorf("%s: reported %v", name, *reports)
			}
		}
	}
}

// New content has the bytes of JSON.stringify(x, null, 2), and no newline behind.
func TestNewFileBytes(t *testing.T) {
	t.Parallel()
	b := openBox(t, filepath.Join(t.TempDir(), "inboxes"), mailbox.Options{})
	testenv.Must(t, b.Append(t.Context(), mailboxtest.Message(1), mailboxtest.Message(2)))
	got := get(t, b.Path())
	var list []json.RawMessage
	testenv.Must(t, json.Unmarshal([]byte(got), &list))
	var want bytes.Buffer
	testenv.Must(t, json.Indent(&want, []byte(got), "", "  "))
	if got != want.String() || strings.HasSuffix(got, "\n") {
		t.Errorf("got %q", got)
	}
	for _, c := range []struct {
		path string
		mode fs.FileMode
	}{{b.Path(), 0o600}, {filepath.Dir(b.Path()), 0o700}} {
		fi, err := os.Stat(c.path)
		testenv.Must(t, err)
		if fi.Mode().Perm() != c.mode {
			t.Errorf("%s: %v", c.path, fi.Mode())
		}
	}
}

// The first change of a file removes its byte order mark: strict programs cannot read it.
func TestMarkingDropsTheByteOrderMark(t *testing.T) {
	t.Parallel()
	b, _ := boxWith(t, "\ufeff["+a1+"]", mailbox.Options{})
	p, err := mailbox.ReadPrompt(t.Context(), b)
	if err != nil || len(p.IDs) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	testenv.Must(t, b.MarkRead(t.Context(), p.IDs...))
	if got := get(t, b.Path()); got != "["+strings.Replace(a1, "false", "true", 1)+"]" {
		t.Errorf("%q", got)
	}
}

func TestMarkBytes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		old       string
		retention mailbox.Retention
		at        []int
		want      string
	}{
		"flag":          {"[" + a1 + "]", mailbox.Keep, []int{0}, `[{"from":"a","text":"1","timestamp":"t","read":true}]`},
		"spaced flag":   {`[{"read" :  false , "text":"1"}]`, mailbox.Keep, []int{0}, `[{"read" :  true , "text":"1"}]`},
		"already":       {`[{"read":true}]`, mailbox.Keep, []int{0}, `[{"read":true}]`},
		"not a boolean": {`[{"read":"false","x":1}]`, mailbox.Keep, []int{0}, `[{"read":true,"x":1}]`},
		"null flag":     {`[{"read":null}]`, mailbox.Keep, []int{0}, `[{"read":true}]`},
		"object flag":   {`[{"read":{"read":false}}]`, mailbox.Keep, []int{0}, `[{"read":true}]`},
		"duplicate":     {`[{"read":false,"a":1,"read":false}]`, mailbox.Keep, []int{0}, `[{"read":true,"a":1,"read":true}]`},
		"last wins":     {`[{"read":true,"read":false}]`, mailbox.Keep, []int{0}, `[{"read":true,"read":true}]`},
		"escaped key":   {`[{"re\u0061d":false}]`, mailbox.Keep, []int{0}, `[{"re\u0061d":true}]`},
		"nested":        {`[{"m":{"read":false},"l":[{"read":false}],"read":false}]`, mailbox.Keep, []int{0}, `[{"m":{"read":false},"l":[{"read":false}],"read":true}]`},
		"in a string":   {`[{"text":"\"read\":false","x":"read","read":false}]`, mailbox.Keep, []int{0}, `[{"text":"\"read\":false","x":"read","read":true}]`},
		"other case":    {`[{"Read":false}]`, mailbox.Keep, []int{0}, `[{"Read":false,"read":true}]`},
		"missing":       {`[{"a":1}]`, mailbox.Keep, []int{0}, `[{"a":1,"read":true}]`},
		"missing, compact": {
			`[{"a":1,"b":2}]`, mailbox.Keep, []int{0}, `[{"a":1,"b":2,"read":true}]`},
		"missing, pretty": {
			"[\n  {\n    \"a\": 1,\n    \"b\": 2\n  }\n]", mailbox.Keep, []int{0},
			"[\n  {\n    \"a\": 1,\n    \"b\": 2,\n    \"read\": true\n  }\n]"},
		"missing, one pretty key": {
			"[\r\n  {\r\n\t\"a\" : 1\r\n  }\r\n]", mailbox.Keep, []int{0},
			"[\r\n  {\r\n\t\"a\" : 1,\r\n\t\"read\" : true\r\n  }\r\n]"},
		"missing, no keys": {`[{}]`, mailbox.Keep, []int{0}, `[{"read":true}]`},
		"no object":        {`[null, 5, "read"]`, mailbox.Keep, []int{0, 1, 2}, `[null, 5, "read"]`},
		"several":          {`[{"a":1,"read":false},{"a":2,"read":false},{"a":3,"read":false}]`, mailbox.Keep, []int{2, 0}, `[{"a":1,"read":true},{"a":2,"read":false},{"a":3,"read":true}]`},

		"only":            {" [ 1 ] \n", mailbox.Prune, []int{0}, "[]"},
		"only, mark":      {"\ufeff[1]", mailbox.Prune, []int{0}, "[]"},
		"all":             {"[1,\n2,\n3]", mailbox.Prune, []int{0, 1, 2}, "[]"},
		"first":           {"[\n  1,\n  2,\n  3\n]", mailbox.Prune, []int{0}, "[\n  2,\n  3\n]"},
		"middle":          {"[\n  1,\n  2,\n  3\n]", mailbox.Prune, []int{1}, "[\n  1,\n  3\n]"},
		"last":            {"[\n  1,\n  2,\n  3\n]\n", mailbox.Prune, []int{2}, "[\n  1,\n  2\n]\n"},
		"run in front":    {"[1 , 2\t,\r\n3 ]", mailbox.Prune, []int{0, 1}, "[3 ]"},
		"run behind":      {"[1 , 2 , 3 ]", mailbox.Prune, []int{1, 2}, "[1 ]"},
		"around":          {"[1, 2, 3, 4, 5]", mailbox.Prune, []int{0, 2, 4}, "[2, 4]"},
		"bad ones":        {`[null, {"x":1}, [{"read":false}], 2]`, mailbox.Prune, []int{0, 1, 2}, "[2]"},
		"twin":            {"[1, 2, 1]", mailbox.Prune, []int{0}, "[1, 2, 1]"},
		"both twins":      {"[1, 2, 1]", mailbox.Prune, []int{0, 2}, "[2]"},
		"twin objects":    {"[" + a1 + "," + a1 + "]", mailbox.Prune, []int{0}, `[{"from":"a","text":"1","timestamp":"t","read":true},` + a1 + "]"},
		"last twin":       {`[{"x":1,"read":true},{"x":2},{"x":1}]`, mailbox.Prune, []int{2}, `[{"x":2}]`},
		"read ones stay":  {`[{"x":1,"read":true},{"x":2}]`, mailbox.Prune, []int{1}, `[{"x":1,"read":true}]`},
		"nothing to mark": {"[1]", mailbox.Prune, nil, "[1]"},
	}
	for name, c := range cases {
		got := string(mailbox.Mark([]byte(c.old), c.retention, c.at...))
		if got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
		validArray(t, got)
	}
}

func TestUnreadIsWhatIsNotTrue(t *testing.T) {
	t.Parallel()
	b, _ := boxWith(t, `[{"from":"a","text":"missing","timestamp":"t"},
		{"from":"a","text":"false","timestamp":"t","read":false},
		{"from":"a","text":"true","timestamp":"t","read":true},
		{"from":"a","text":"odd","timestamp":"t","read":"true"},
		null, 7,
		{"from":"a","timestamp":"t","read":false},
		{"from":"a","text":5,"timestamp":"t"},
		{"from":"a","text":"nested","timestamp":"t","x":{"read":true}}]`, mailbox.Options{})
	wantTexts(t, unreadOf(t, b), "missing", "false", "!", "!", "!", "!", "!", "nested")
	list := entriesOf(t, b)
	wantTexts(t, list, "missing", "false", "true", "!", "!", "!", "!", "!", "nested")
	ids := map[mailbox.ID]bool{}
	for i, e := range list {
		if e.Index != i || ids[e.ID] {
			t.Errorf("entry %d: index %d, id %v", i, e.Index, e.ID)
		}
		ids[e.ID] = true
		var why *protocol.EntryError
		if e.Err != nil && !errors.As(e.Err, &why) {
			t.Errorf("entry %d: %v", i, e.Err)
		}
	}
	// The bad ones can be removed like others.
	b2, _ := boxWith(t, get(t, b.Path()), mailbox.Options{Retention: mailbox.Prune})
	for _, e := range unreadOf(t, b2) {
		testenv.Must(t, b2.MarkRead(t.Context(), e.ID))
	}
	wantTexts(t, entriesOf(t, b2), "true")
}

// An entry keeps its identity when another program rewrites the file with another formatting, order
// of keys and escapes.
func TestIdentityAcrossForeignRewrites(t *testing.T) {
	t.Parallel()
	b, _ := boxWith(t, `[{"from":"a","text":"h\u00e9","timestamp":"t","read":false,"x":1},{"from":"a","text":"2","timestamp":"t"},null,{"x": [1, 2],"read":false}]`, mailbox.Options{})
	before := entriesOf(t, b)
	put(t, b.Path(), "[\n {\n \"timestamp\": \"t\", \"read\": true, \"text\": \"hé\",\n\"from\": \"a\" },\n null ,{\"read\":true,\"x\":[1,2]},"+
		`{"read":false,"from":"a","text":"2","timestamp":"t"}]`)
	after := entriesOf(t, b)
	for i, j := range map[int]int{0: 0, 1: 3, 2: 1, 3: 2} {
		if before[i].ID != after[j].ID {
			t.Errorf("entry %d was %v and is %v", i, before[i].ID, after[j].ID)
		}
	}
	testenv.Must(t, b.MarkRead(t.Context(), before[1].ID))
	if !strings.Contains(get(t, b.Path()), `{"read":true,"from":"a","text":"2"`) {
		t.Errorf("got %s", get(t, b.Path()))
	}
}

// TestTwinsInDisguise: entries of equal content are counted as equal however each is spelled, also
// by a reader that decodes only the unread entries.
func TestTwinsInDisguise(t *testing.T) {
	t.Parallel()
	spellings := []string{
		`{"from":"a","text":"1","timestamp":"t","read":READ}`,
		`{"from":"a","text":"1","timestamp":"\u0074","read":READ}`,
		`{"from":"a","text":"1","timestamp":"t","timestamp":"t","read":READ}`,
		`{"from":"a","text":"\u0031","timest\u0061mp":"t","read":READ}`,
		`{ "timestamp" : "t", "from":"a", "content":"1", "read":READ }`,
	}
	for i := range spellings {
		for j := range spellings {
			file := "[" + strings.ReplaceAll(spellings[i], "READ", "true") + "," + e2 + "," + strings.ReplaceAll(spellings[j], "READ", "false") + "]"
			b, _ := boxWith(t, file, mailbox.Options{})
			list := unreadOf(t, b)
			wantTexts(t, list, "2", "1")
			if list[1].ID.Occurrence != 2 || list[1].ID.Hash != mailbox.HashOf(protocol.Envelope{From: "a", Text: "1", Timestamp: "t"}) {
				t.Errorf("%s: %v", file, list[1].ID)
			}
			if all := entriesOf(t, b); all[2].ID != list[1].ID || all[0].ID.Occurrence != 1 {
				t.Errorf("%s: all %v, unread %v", file, all[2].ID, list[1].ID)
			}
			testenv.Must(t, b.MarkRead(t.Context(), list[1].ID))
			wantTexts(t, unreadOf(t, b), "2")
		}
	}
}

// In the captured files every byte outside a change is kept.
func TestCaptures(t *testing.T) {
	t.Parallel()
	root := os.Getenv("WAGGLE_CAPTURES")
	if root == "" {
		t.Skip("WAGGLE_CAPTURES is not set")
	}
	n := 0
	testenv.Must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") || !strings.Contains(path, "inbox") {
			return err
		}
		data := get(t, path)
		b, reports := boxWith(t, data, mailbox.Options{})
		list := entriesOf(t, b)
		for _, e := range list {
			if e.Err != nil {
				t.Errorf("%s: entry %d: %v", path, e.Index, e.Err)
			}
			// A rewrite of the entry by us is what the real client wrote.
			if got := string(e.Envelope.AppendJSON(nil)); got != string(e.Raw) {
				t.Errorf("%s: entry %d:\nwrote %s\nfound %s", path, e.Index, got, e.Raw)
			}
			testenv.Must(t, b.MarkRead(t.Context(), e.ID))
		}
		want := data
		if strings.Count(data, `"read": false`) > 0 {
			want = strings.ReplaceAll(data, `"read": false`, `"read": true`)
		}
		if got := get(t, b.Path()); got != want {
			t.Errorf("%s: marking changed more than read", path)
		}
		testenv.Must(t, b.Append(t.Context(), text("x")))
		if len(list) > 0 {
			cut := strings.LastIndex(want, "}") + 1
			if got := get(t, b.Path()); got != want[:cut]+",\n  "+ours+want[cut:] {
				t.Errorf("%s: appending changed more than the end", path)
			}
		}
		p, _ := boxWith(t, data, mailbox.Options{Retention: mailbox.Prune})
		for _, e := range entriesOf(t, p) {
			testenv.Must(t, p.MarkRead(t.Context(), e.ID))
		}
		for _, e := range entriesOf(t, p) {
			t.Errorf("%s: entry %d was not pruned", path, e.Index)
		}
		if len(*reports) > 0 {
			t.Errorf("%s: %v", path, *reports)
		}
		n++
		return nil
	}))
	if n == 0 {
		t.Errorf("no inboxes below %s", root)
	}
	t.Logf("%d inboxes", n)
}

func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := mailbox.Dir{Path: dir}
	for _, f := range []string{"b.json", "a.json", "a-b.json", "team-lead.json", ".x.json.flk", "x.json.corrupt-1", "bad name.json", "1.json", "y.jsonl", ".json"} {
		put(t, filepath.Join(dir, f), "[]")
	}
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "dir.json"), 0o700))
	_ = os.Symlink(filepath.Join(dir, "a.json"), filepath.Join(dir, "link.json")) // where there are links
	names, err := d.Names()
	testenv.Must(t, err)
	var got []string
	for _, n := range names {
		got = append(got, n.String())
	}
	if strings.Join(got, " ") != "a a-b b team-lead" {
		t.Errorf("got %v", got)
	}
	names, err = mailbox.Dir{Path: filepath.Join(dir, "none")}.Names()
	if err != nil || names != nil {
		t.Error(names, err)
	}
	for _, bad := range []protocol.MemberName{"", "..", "a/b", "../x", "a.b", "x\x00", "-x", "A b", "CON", protocol.MemberName(strings.Repeat("a", 65))} {
		if _, err := d.Open(bad, mailbox.Options{}); err == nil {
			t.Errorf("opened %q", bad)
		}
		if _, err := d.Create(bad, mailbox.Options{}); err == nil {
			t.Errorf("created %q", bad)
		}
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := mailbox.Dir{Path: filepath.Join(root, "inboxes")}
	b, err := d.Create("tester", mailbox.Options{})
	testenv.Must(t, err)
	if get(t, b.Path()) != "[]" {
		t.Errorf("got %q", get(t, b.Path()))
	}
	testenv.Must(t, b.Append(t.Context(), text("x")))
	b, err = d.Create("tester", mailbox.Options{})
	testenv.Must(t, err)
	wantTexts(t, entriesOf(t, b), "x")
	if _, err := (mailbox.Dir{Path: filepath.Join(root, "gone", "inboxes")}).Create("tester", mailbox.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A deleted team stays deleted, also when it goes in the middle of an append.
func TestAppendNeverRevivesATeam(t *testing.T) {
	t.Parallel()
	team := filepath.Join(t.TempDir(), "team")
	b := openBox(t, filepath.Join(team, "inboxes"), mailbox.Options{})
	if err := b.Append(t.Context(), text("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(team); err == nil {
		t.Error("the team is back")
	}
	for _, step := range []string{"flocked", "locked", "temp-created", "synced", "published", "unlocked"} {
		testenv.Must(t, os.MkdirAll(filepath.Join(team, "inboxes"), 0o700))
		o := mailbox.Options{}
		o.Hook = func(s string) {
			if s == step {
				testenv.Must(t, os.RemoveAll(team))
			}
		}
		b := openBox(t, filepath.Join(team, "inboxes"), o)
		if err := b.Append(t.Context(), text("x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", step, err)
		}
		if _, err := os.Stat(team); err == nil {
			t.Errorf("%s: the team is back", step)
		}
	}
	wantTexts(t, entriesOf(t, b))
	testenv.Must(t, b.MarkRead(t.Context(), mailbox.ID{Hash: "x", Occurrence: 1}))
}
