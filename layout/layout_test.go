package layout_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/layout"
)

// TestOf: the files on disk decide where a member's mailbox is.
func TestOf(t *testing.T) {
	const message = `[{"from":"a"}]`
	type files map[string]string
	for name, c := range map[string]struct {
		files  files
		want   layout.Found // Empty: relative
		failed any
	}{
		"nothing":               {files{}, layout.Found{}, nil},
		"an array":              {files{"inboxes/bob.json": message}, layout.Found{Present: true}, nil},
		"lines":                 {files{"mailbox/bob.jsonl": "{}\n"}, layout.Found{Layout: layout.JSONL, Present: true}, nil},
		"as the lead has it":    {files{"inboxes/x": "", "mailbox/team-lead.jsonl": ""}, layout.Found{Layout: layout.JSONL}, nil},
		"the lead has an array": {files{"inboxes/team-lead.json": "[]", "mailbox/x": ""}, layout.Found{}, nil},
		"the only directory":    {files{"mailbox/x": ""}, layout.Found{Layout: layout.JSONL}, nil},
		"both directories":      {files{"mailbox/x": "", "inboxes/x": ""}, layout.Found{}, nil},
		"empty lines beside":    {files{"inboxes/bob.json": message, "mailbox/bob.jsonl": " \n"}, layout.Found{Present: true, Empty: "mailbox/bob.jsonl"}, nil},
		"an empty array beside": {files{"inboxes/bob.json": "[\n]\n", "mailbox/bob.jsonl": "{}"}, layout.Found{Layout: layout.JSONL, Present: true, Empty: "inboxes/bob.json"}, nil},
		"an empty file beside":  {files{"inboxes/bob.json": "", "mailbox/bob.jsonl": "{}"}, layout.Found{Layout: layout.JSONL, Present: true, Empty: "inboxes/bob.json"}, nil},
		"both empty":            {files{"inboxes/bob.json": "[]", "mailbox/bob.jsonl": "", "mailbox/team-lead.jsonl": "{}"}, layout.Found{Layout: layout.JSONL, Present: true, Empty: "inboxes/bob.json"}, nil},
		"both with messages":    {files{"inboxes/bob.json": message, "mailbox/bob.jsonl": "{}"}, layout.Found{}, new(*layout.MixedError)},
		"junk is not empty":     {files{"inboxes/bob.json": "[", "mailbox/bob.jsonl": "{}"}, layout.Found{}, new(*layout.MixedError)},
		"a migration cut short": {files{"inboxes/bob.json": message, "mailbox/bob.jsonl": "{}", ".layout": `{"to":"jsonl"}`}, layout.Found{}, new(*layout.MixedError)},
		"not moved yet":         {files{"inboxes/bob.json": message, ".layout": `{"to":"jsonl"}`}, layout.Found{Present: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := layout.Dirs{Team: t.TempDir()}
			for path, content := range c.files {
				path = filepath.Join(d.Team, path)
				testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				testenv.Must(t, os.WriteFile(path, []byte(content), 0o600))
			}
			got, err := d.Of("bob")
			if c.failed != nil {
				if err == nil || !errors.As(err, c.failed) || err.Error() == "" {
					t.Fatalf("found %+v, error %v", got, err)
				}
				return
			}
			if c.want.Empty != "" {
				c.want.Empty = filepath.Join(d.Team, c.want.Empty)
			}
			if err != nil || got != c.want {
				t.Errorf("found %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

// TestMoving: an intent names a layout; one that nobody can read is an error, and keeps no mailbox from being found.
func TestMoving(t *testing.T) {
	for content, want := range map[string]string{`{"to":"jsonl"}`: "jsonl", `{"to":"array"}`: "array", "?": "", `{"to":"csv"}`: ""} {
		d := layout.Dirs{Team: t.TempDir()}
		testenv.Must(t, os.WriteFile(d.Intent(), []byte(content), 0o600))
		to, moving, err := d.Moving()
		if moving != (want != "") || (err == nil) != moving || moving && to.String() != want {
			t.Errorf("%s: %v, %v, %v", content, to, moving, err)
		}
		if f, err := d.Of("bob"); f != (layout.Found{}) || err != nil {
			t.Errorf("%s: found %+v, %v", content, f, err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, l := range []layout.Layout{layout.Array, layout.JSONL} {
		if got, err := layout.Parse(l.String()); err != nil || got != l {
			t.Errorf("%v: parsed %v, %v", l, got, err)
		}
		if l.Other() == l || l.Other().Other() != l {
			t.Errorf("%v: other %v", l, l.Other())
		}
	}
	if _, err := layout.Parse("Array"); err == nil {
		t.Error("parsed another case")
	}
	d := layout.Dirs{Team: "t", Inboxes: filepath.Join("T", "inboxes")}
	if got := d.Path(layout.Array, "bob"); got != filepath.Join("T", "inboxes", "bob.json") {
		t.Error(got)
	}
	if got := d.Path(layout.JSONL, "bob"); got != filepath.Join("t", "mailbox", "bob.jsonl") {
		t.Error(got)
	}
}
