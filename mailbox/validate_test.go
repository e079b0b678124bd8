package mailbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
)

const goodEntry = `{"from":"a","text":"hello","timestamp":"2026-01-01T00:00:00.000Z","read":false}`

var entryCases = []struct{ what, from, to, want string }{
	{"as it is", "", "", ""},
	{"seed 002", `"read":false`, `"read":true,"summary":"s","color":"system","messageId":"msg-1","type":"system_init","metadata":{"priority":"high"}`, ""},
	{"unknown keys", `"read":false`, `"read":false,"lead_sig":"x","ours":[1]`, ""},
	{"no from", `"from":"a",`, "", "/from: is missing"},
	{"text", `"text":"hello"`, `"text":{"a":1}`, "/text: is object, want string"},
	{"time", "2026-01-01T00:00:00.000Z", "yesterday", "/timestamp: is not an ISO 8601 time"},
	{"no read", `,"read":false`, "", "/read: is missing"},
	{"read", "false", `"no"`, "/read: is string, want boolean"},
	{"color", `"read"`, `"color":7,"read"`, "/color: is number, want string"},
	{"metadata", `"read"`, `"metadata":[],"read"`, "/metadata: is array, want object"},
	{"twice", `"from":"a"`, `"from":"a","x/y":1,"x/y":2`, "/x~1y: occurs more than once"},
	{"contradiction", `"hello"`, `"{\"type\":\"plan_approval_response\",\"requestId\":\"r\"}"`, "/text: is no valid plan_approval_response"},
	{"in another name", `"hello"`, `"{\"type\":\"idle_notification\",\"from\":\"b\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"idleReason\":\"available\"}"`, "/text: is a idle_notification that names another sender"},
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range entryCases {
		entry := strings.Replace(goodEntry, c.from, c.to, 1)
		for layout, got := range map[string][]mailbox.Problem{
			"array": mailbox.Validate([]byte("[" + goodEntry + ",\n" + entry + "]")),
			"lines": mailbox.ValidateLines([]byte(goodEntry + "\r\n\n" + entry + "\n")),
		} {
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("%s %s: %v", layout, c.what, got)
				}
				continue
			}
			if len(got) != 1 || !strings.HasPrefix(got[0].String(), "/1"+c.want) {
				t.Errorf("%s %s: %v, want %s", layout, c.what, got, c.want)
			}
		}
	}
	for data, want := range map[string]string{
		"": ": is empty", "\n": ": is empty", "[]": "", "\xef\xbb\xbf[ ]\n": "",
		"{}": ": is object, want array", "[1,": ": byte 3: unexpected end", "[null]": "/0: is null, want object", `"x"`: ": is string, want array",
	} {
		got := mailbox.Validate([]byte(data))
		if (len(got) == 0) != (want == "") || len(got) > 0 && !strings.HasPrefix(got[0].String(), want) {
			t.Errorf("%q: %v", data, got)
		}
	}
	if got := mailbox.ValidateLines([]byte(goodEntry + "\n{\"from\":\"to")); len(got) > 0 {
		t.Errorf("a line that is still being written: %v", got)
	}
	if got := mailbox.ValidateLines([]byte("{\"from\":\"to\n" + goodEntry)); len(got) != 1 || got[0].Pointer != "/0" {
		t.Errorf("a torn line: %v", got)
	}
	if got := mailbox.Validate([]byte("[" + strings.Repeat("1,", 5000) + "1]")); len(got) != 1000 {
		t.Errorf("%d problems", len(got))
	}
}

// TestValidateAcceptsOurs: the output of Append is valid, in every mailbox of the tests.
func TestValidateAcceptsOurs(t *testing.T) {
	t.Parallel()
	dir := mailbox.Dir{Path: filepath.Join(t.TempDir(), "inboxes")}
	box, err := dir.Open("w", mailbox.Options{})
	testenv.Must(t, err)
	testenv.Must(t, box.Append(t.Context(), protocol.Envelope{From: "a", Text: "hi", Timestamp: "2026-01-01T00:00:00.000Z", MsgID: "m", Summary: "s", Color: "blue"}))
	data, err := os.ReadFile(box.Path())
	testenv.Must(t, err)
	if got := mailbox.Validate(data); len(got) > 0 {
		t.Errorf("%v\n%s", got, data)
	}
}

func FuzzValidate(f *testing.F) {
	for _, c := range entryCases {
		f.Add([]byte("[" + strings.Replace(goodEntry, c.from, c.to, 1) + "]"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		mailbox.ValidateLines(data)
		if len(mailbox.Validate(data)) > 0 {
			return
		}
		// A valid mailbox is read without an error.
		path := filepath.Join(t.TempDir(), "w.json")
		testenv.Must(t, os.WriteFile(path, data, 0o600))
		box, err := mailbox.Dir{Path: filepath.Dir(path)}.Open("w", mailbox.Options{Report: func(r mailbox.Report) { t.Errorf("%q was repaired: %s", data, r.What) }})
		testenv.Must(t, err)
		entries, err := box.Entries(t.Context())
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		for _, e := range entries {
			if e.Err != nil {
				t.Errorf("%q: %v", e.Raw, e.Err)
			}
		}
	})
}
