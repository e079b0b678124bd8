package claudesettings_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/json/jsonc"
	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
)

// author writes settings files as people might: any space and comments between tokens, trailing
// commas or none, hooks of other programs or none.
type author struct {
	t *rapid.T
	strings.Builder
	trailing bool
	pieces   []string // comments and foreign values, in order
}

func (a *author) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(a.t, label)
}

// gap writes white space and comments between two tokens.
func (a *author) gap() {
	for range rapid.IntRange(0, 2).Draw(a.t, "gap") {
		g := a.pick("trivia", " ", "\n", "\n  ", "\r\n\t", "/* c, */", "/* \" { */", "// , ]\n", "// c\r\n", "//\n    ")
		a.WriteString(g)
		if c := strings.TrimSpace(g); c != "" {
			a.pieces = append(a.pieces, c)
		}
	}
}

func (a *author) leaf() {
	v := a.pick("leaf", `1`, `-1.50e+3`, `"a"`, `"\u0041, ] // no /* \\\""`, `true`, `null`, `{}`, `[]`, `{ }`, "[\n]")
	a.pieces = append(a.pieces, v)
	a.WriteString(v)
}

// list writes n items between brackets.
func (a *author) list(brackets string, n int, item func(i int)) {
	a.WriteByte(brackets[0])
	a.gap()
	for i := range n {
		item(i)
		a.gap()
		if i < n-1 || a.trailing {
			a.WriteByte(',')
			a.gap()
		}
	}
	a.WriteByte(brackets[1])
}

func (a *author) member(key string, value func()) {
	a.WriteString(`"` + key + `"`)
	a.gap()
	a.WriteByte(':')
	a.gap()
	value()
}

func (a *author) handler() {
	a.list("{}", 2, func(i int) {
		a.member([]string{"type", "command"}[i], func() {
			v := []string{`"command"`, a.pick("command", `"x"`, `"/usr/bin/notwaggle hook claude Stop"`)}[i]
			a.pieces = append(a.pieces, v)
			a.WriteString(v)
		})
	})
}

func (a *author) group() {
	if a.pick("group", "group", "other") == "other" {
		a.leaf()
		return
	}
	a.list("{}", 2, func(i int) {
		if i == 0 {
			a.member("matcher", a.leaf)
			return
		}
		a.member("hooks", func() { a.list("[]", rapid.IntRange(0, 2).Draw(a.t, "handlers"), func(int) { a.handler() }) })
	})
}

func (a *author) hooks() {
	events := []string{"Stop", "Foreign", "PermissionRequest"}[:rapid.IntRange(0, 3).Draw(a.t, "events")]
	a.list("{}", len(events), func(i int) {
		a.member(events[i], func() { a.list("[]", rapid.IntRange(0, 2).Draw(a.t, "groups"), func(int) { a.group() }) })
	})
}

// settings draws a file, and its parts that must stay, in order.
func settings(t *rapid.T) (string, []string) {
	a := &author{t: t, trailing: rapid.Bool().Draw(t, "trailing")}
	a.WriteString(a.pick("bom", "", "", "\xef\xbb\xbf"))
	a.gap()
	keys := []string{"one", "hooks", "two"}
	switch rapid.IntRange(0, 4).Draw(t, "keys") {
	case 0:
		keys = nil
	case 1:
		keys = []string{"one"}
	case 2:
		keys = []string{"hooks"}
	}
	a.list("{}", len(keys), func(i int) {
		if keys[i] == "hooks" {
			a.member(keys[i], a.hooks)
		} else {
			a.member(keys[i], a.leaf)
		}
	})
	a.gap()
	return a.String(), a.pieces
}

// For any settings file an install keeps all of its content, in order; a second install changes
// nothing; and an uninstall gives back every byte.
func TestRandomSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, pieces := settings(t)
		after, err := claudesettings.Claude.Install([]byte(before), waggle, "")
		if err != nil {
			t.Fatalf("%v\n%s", err, before)
		}
		rest := string(after)
		for _, p := range pieces {
			_, behind, ok := strings.Cut(rest, p)
			if !ok {
				t.Fatalf("%q is gone, or not in its place, in\n%s\nwhich was\n%s", p, after, before)
			}
			rest = behind
		}
		again, err := claudesettings.Claude.Install(after, waggle, "")
		if err != nil || !bytes.Equal(again, after) {
			t.Fatalf("a second install: %v\n%s\nwas\n%s", err, again, after)
		}
		for _, ev := range claudesettings.Claude.Events() {
			if n := strings.Count(string(after), "hook claude "+ev.Name+`"`) - strings.Count(before, "hook claude "+ev.Name+`"`); n != 1 {
				t.Fatalf("%d entries for %s in\n%s", n, ev.Name, after)
			}
		}
		back, err := claudesettings.Claude.Uninstall(after, []byte(before), "")
		if err != nil || string(back) != before {
			t.Fatalf("%v: an uninstall left\n%q\nof\n%q\nwhich was\n%q", err, back, after, before)
		}
		// Without the original bytes an uninstall leaves a valid file without our entries.
		blind, err := claudesettings.Claude.Uninstall(after, nil, "")
		testenv.Must(t, err)
		if none, err := claudesettings.Claude.Uninstall(blind, nil, ""); err != nil || !bytes.Equal(none, blind) {
			t.Fatalf("entries were left: %v\n%s", err, blind)
		}
	})
}

// Any bytes are refused or restored.
func FuzzInstall(f *testing.F) {
	for _, s := range []string{"", "{}", "// c", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/x/waggle hook claude Stop"}]}]}}`,
		"{\r\n\"a\": [1, /* c */ 2,], // d\r\n}", `{"hooks": {"Stop": [ /* c */ ]}}`, "\xef\xbb\xbf{\"a\":1}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		after, err := claudesettings.Claude.Install(data, waggle, "")
		if err != nil {
			return
		}
		again, err := claudesettings.Claude.Install(after, waggle, "")
		if err != nil || !bytes.Equal(again, after) {
			t.Fatalf("a second install: %v\n%q\nwas\n%q", err, again, after)
		}
		clean, err := claudesettings.Claude.Uninstall(data, nil, "")
		testenv.Must(t, err)
		d, err := jsonc.Parse(data)
		if err != nil {
			t.Fatalf("%q was installed into and cannot be read: %v", data, err)
		}
		if d.Root == nil || !bytes.Equal(clean, data) {
			return // the store restores the first, and the second had entries already
		}
		back, err := claudesettings.Claude.Uninstall(after, data, "")
		if err != nil || !bytes.Equal(back, data) {
			t.Fatalf("an uninstall left %v\n%q\nof\n%q\nwhich was\n%q", err, back, after, data)
		}
	})
}
