//go:build unix

package storetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
)

// A rewrite changes a whole file as another program does. All of them keep the entries, unless their
// comment says so.
type rewrite struct {
	name string
	make func(t *testing.T, r *rand.Rand, path string, data []byte) []byte
}

// through runs a program that reads the file and prints it anew.
func through(tool string, args ...string) func(*testing.T, *rand.Rand, string, []byte) []byte {
	return func(t *testing.T, _ *rand.Rand, path string, _ []byte) []byte {
		t.Helper()
		if _, err := exec.LookPath(tool); err != nil {
			return nil
		}
		cmd := exec.Command(tool, args...)
		in, err := os.Open(path)
		testenv.Must(t, err)
		defer in.Close()
		cmd.Stdin = in
		out, err := cmd.Output()
		if err != nil {
			return nil // jq 1.6 cannot read half a surrogate pair
		}
		return out
	}
}

// elements changes the entries one by one.
func elements(change func(*rand.Rand, []json.RawMessage) []json.RawMessage) func(*testing.T, *rand.Rand, string, []byte) []byte {
	return func(t *testing.T, r *rand.Rand, _ string, data []byte) []byte {
		t.Helper()
		var list []json.RawMessage
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &list); err != nil {
			return nil
		}
		out, err := json.MarshalIndent(change(r, list), "", "  ")
		testenv.Must(t, err)
		return out
	}
}

func replaced(old, with string) func(*testing.T, *rand.Rand, string, []byte) []byte {
	return func(_ *testing.T, _ *rand.Rand, _ string, data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(old), []byte(with))
	}
}

var rewrites = []rewrite{
	{"jq", through("jq", ".")},
	{"jq -c", through("jq", "-c", ".")},
	{"jq --tab -S", through("jq", "--tab", "-S", ".")},
	{"jq -a", through("jq", "-a", ".")},
	{"python", through("python3", "-c", "import json,sys; sys.stdout.write(json.dumps(json.load(sys.stdin)))")},
	{"node", through("node", "-e", "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0,'utf8').replace(/^\\ufeff/,'')),null,2))")},
	{"jq 1.7, which replaces half a surrogate pair", replaced(`\ud800`, "\uFFFD")},
	{"CRLF", replaced("\n", "\r\n")},
	{"no line breaks", replaced("\n", " ")},
	{"byte order mark", func(_ *testing.T, _ *rand.Rand, _ string, data []byte) []byte {
		return append([]byte("\xef\xbb\xbf"), bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))...)
	}},
	{"trailing newline", func(_ *testing.T, _ *rand.Rand, _ string, data []byte) []byte {
		return append(bytes.TrimRight(data, "\r\n"), "\n\n"...)
	}},
	{"null entries", elements(func(r *rand.Rand, list []json.RawMessage) []json.RawMessage {
		return slices.Insert(list, r.IntN(len(list)+1), json.RawMessage("null"))
	})},
	{"wrong types", elements(func(r *rand.Rand, list []json.RawMessage) []json.RawMessage {
		wrong := []string{"1", `"text"`, "[]", `{"from":1,"text":{},"read":"no"}`, `{"text":"x"}`, "{}", "true"}
		return slices.Insert(list, r.IntN(len(list)+1), json.RawMessage(wrong[r.IntN(len(wrong))]))
	})},
	{"foreign keys", replaced(`"from"`, `"metadata": {"read": false, "text": "]"}, "from"`)},
	{"all unread again", func(_ *testing.T, _ *rand.Rand, _ string, data []byte) []byte {
		return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(`"read": true`), []byte(`"read": false`)), []byte(`"read":true`), []byte(`"read":false`))
	}},
	{"no read flags", elements(func(_ *rand.Rand, list []json.RawMessage) []json.RawMessage {
		for i, raw := range list {
			var m map[string]json.RawMessage
			if json.Unmarshal(raw, &m) == nil && m != nil {
				delete(m, "read")
				list[i], _ = json.Marshal(m)
			}
		}
		return list
	})},
	{"another order", elements(func(r *rand.Rand, list []json.RawMessage) []json.RawMessage {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	})},
	{"what was read is gone", elements(func(_ *rand.Rand, list []json.RawMessage) []json.RawMessage {
		return slices.DeleteFunc(list, func(raw json.RawMessage) bool {
			var e struct{ Read any }
			return json.Unmarshal(raw, &e) == nil && e.Read == true
		})
	})},
	{"a big one in front", elements(func(_ *rand.Rand, list []json.RawMessage) []json.RawMessage {
		return slices.Insert(list, 0, json.RawMessage(`{"from":"x","text":1,"pad":"`+strings.Repeat("p", 268<<10)+`"}`))
	})},
	{"an array with a space", func(_ *testing.T, _ *rand.Rand, _ string, data []byte) []byte {
		if len(bytes.Trim(data, "[] \r\n\t\xef\xbb\xbf")) == 0 {
			return []byte("[ ]")
		}
		return nil
	}},
	{"cut off in the last entry", func(_ *testing.T, r *rand.Rand, _ string, data []byte) []byte {
		at := bytes.LastIndexByte(data, '{')
		if at < 0 || !bytes.Contains(data[at:], []byte(`"read": true`)) {
			return nil // it would take an unread message away
		}
		return data[:at+1+r.IntN(len(data)-at-1)]
	}},
	{"garbage behind", func(_ *testing.T, _ *rand.Rand, _ string, data []byte) []byte {
		return append(bytes.TrimRight(data, " \r\n"), `ead": false}]`...)
	}},
}

// put writes a file as other programs do: another one in its place, or in place.
func put(t *testing.T, r *rand.Rand, path string, data []byte) {
	t.Helper()
	if r.IntN(2) == 0 {
		testenv.Must(t, os.WriteFile(path, data, 0o644))
		return
	}
	testenv.Must(t, os.WriteFile(path+".mv", data, 0o644))
	testenv.Must(t, os.Rename(path+".mv", path))
}

// cursor is a mailbox, its receiver, and what was sent.
type cursor struct {
	b     *mailbox.Box
	taken *receiver
	sent  []string
}

func newCursor(t *testing.T, o mailbox.Options) *cursor {
	b, err := open(t.TempDir(), o)
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(b.Path(), []byte("[]"), 0o600))
	return &cursor{b: b, taken: newReceiver()}
}

func (c *cursor) send(t *testing.T) {
	t.Helper()
	e := mail("sender", len(c.sent))
	switch len(c.sent) % 5 {
	case 1:
		e.Text += ` "read":false}] \ é   <&>` + "\r\n\x00\u2028"
	case 2:
		e.Text += " \xed\xa0\x80\xed\xa0\x80 \xff\xfe"
	case 3:
		e.Text = "[" + e.Text + "]"
	}
	testenv.Must(t, c.b.Append(t.Context(), e))
	c.sent = append(c.sent, c.label(e.Text))
}

// label is the part of a text that no rewrite respells.
func (c *cursor) label(text string) string {
	at := strings.Index(text, "sender/")
	end := at + len("sender/")
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	return text[at:end]
}

func (c *cursor) check(t *testing.T, what string) {
	t.Helper()
	c.taken.pass(t, c.b)
	got := map[string]int{}
	for text, n := range c.taken.texts {
		if !strings.Contains(text, "sender/") {
			t.Fatalf("%s: %q was taken, which nobody sent", what, text)
		}
		got[c.label(text)] += n
	}
	for _, text := range c.sent {
		if got[text] != 1 {
			data, _ := os.ReadFile(c.b.Path())
			t.Fatalf("%s: %s was taken %d times\n%.3000s", what, text, got[text], data)
		}
	}
}

// After any rewrite of the file by other programs, its receiver takes every message that was sent, and
// each once.
func TestCursorOutlastsRewrites(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for i, rw := range rewrites {
		for _, retention := range []mailbox.Retention{mailbox.Keep, mailbox.Prune} {
			if !testenv.Soak() && i%2 != int(retention) {
				continue
			}
			t.Run(fmt.Sprint(rw.name, "/", retention), func(t *testing.T) {
				r := random(t)
				c := newCursor(t, mailbox.Options{Retention: retention})
				for round := range 4 {
					if round > 0 {
						for range 5 {
							c.send(t)
						}
					}
					if round%2 == 1 {
						c.check(t, "before")
					}
					data, err := os.ReadFile(c.b.Path())
					testenv.Must(t, err)
					if out := rw.make(t, r, c.b.Path(), slices.Clone(data)); out != nil {
						put(t, r, c.b.Path(), out)
					}
					if round%3 == 0 {
						c.send(t)
					}
					c.check(t, fmt.Sprint("round ", round))
				}
			})
		}
	}
}

// The same in any order, one after the other.
func TestCursorOutlastsAnything(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	r := random(t)
	done := 0
	for range testenv.Scale(3, 200) {
		c := newCursor(t, mailbox.Options{Retention: mailbox.Retention(r.IntN(2))})
		c.send(t)
		var did []string
		for range 25 {
			switch r.IntN(3) {
			case 0:
				c.send(t)
				did = append(did, "send")
			case 1:
				rw := rewrites[r.IntN(len(rewrites))]
				data, err := os.ReadFile(c.b.Path())
				testenv.Must(t, err)
				if rw.name == "a big one in front" && len(data) > 1<<20 {
					continue
				}
				if out := rw.make(t, r, c.b.Path(), slices.Clone(data)); out != nil {
					put(t, r, c.b.Path(), out)
					did = append(did, rw.name)
					done++
				}
			default:
				did = append(did, "take")
				c.check(t, strings.Join(did, ", "))
			}
		}
		c.check(t, strings.Join(did, ", "))
	}
	testenv.Measured(t, "%d rewrites of %d kinds by other programs between sending and taking: every message taken, each once", done, len(rewrites))
}

// The content of a file that is no array is not silently lost: it lies in quarantine, the receiver
// gets a report, and goes on.
func TestCursorAfterGarbage(t *testing.T) {
	t.Parallel()
	for name, garbage := range map[string]string{
		"an object": `{"messages":[]}`, "a string": `"no"`, "words": "hello\n", "zeroes": "\x00\x00\x00\x00", "null": "null",
	} {
		var reports []mailbox.Report
		c := newCursor(t, mailbox.Options{Report: func(r mailbox.Report) { reports = append(reports, r) }})
		c.send(t)
		c.check(t, name)
		testenv.Must(t, os.WriteFile(c.b.Path(), []byte(garbage), 0o600))
		c.check(t, name)
		c.send(t)
		c.check(t, name)
		kept, err := filepath.Glob(c.b.Path() + ".corrupt-*")
		testenv.Must(t, err)
		if len(reports) != 1 || len(kept) != 1 {
			t.Errorf("%s: reports %v, kept %v", name, reports, kept)
		}
	}
}
