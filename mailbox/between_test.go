package mailbox_test

import (
	"errors"
	"strings"
	"testing"

	"waggle/mailbox"
	"waggle/protocol"
)

// TestPromptPassesOver: entries that are read or cannot be read are passed over, wherever they stand,
// and what is unverified is marked.
func TestPromptPassesOver(t *testing.T) {
	entry := func(s string, read bool, err error) mailbox.Entry {
		e := text(s)
		e.Read = read
		return mailbox.Entry{ID: mailbox.ID{Hash: s, Occurrence: 1}, Envelope: e, Err: err}
	}
	entries := []mailbox.Entry{entry("a", true, nil), entry("one", false, nil), entry("b", false, errors.New("no")), entry("c", true, nil), entry("two", false, nil)}
	for _, unverified := range []func(mailbox.Entry) bool{nil, func(e mailbox.Entry) bool { return e.Envelope.Text == "two" }} {
		p := mailbox.PromptOf(entries, unverified)
		if len(p.IDs) != 2 || p.IDs[0].Hash != "one" || p.IDs[1].Hash != "two" {
			t.Errorf("%v", p.IDs)
		}
		want := protocol.TextForm(protocol.Mail{From: "tester", Text: "one"}, protocol.Mail{From: "tester", Text: "two", Unverified: unverified != nil})
		if p.Text != want {
			t.Errorf("%s, want %s", p.Text, want)
		}
	}
	if p := mailbox.PromptOf(entries[:1], nil); p.IDs != nil {
		t.Errorf("%v", p.IDs)
	}
}

// TestTraceShows: TraceOf reports what happened to a message from the current mailbox: an older entry
// that is unread, or a file that is older than the message, shows that no reader has taken it.
func TestTraceShows(t *testing.T) {
	at := func(s, stamp string, read bool) mailbox.Entry {
		return mailbox.Entry{Envelope: protocol.Envelope{From: "a", Text: s, Timestamp: stamp, Read: read}}
	}
	const before, then, after = "2026-11-20T18:15:42.000Z", "2026-11-20T18:15:43.000Z", "2026-11-20T18:15:44.000Z"
	unreadable := at("x", before, false)
	unreadable.Err = errors.New("no")
	w := mailbox.Written{Envelope: at("it", then, false).Envelope, File: 5}
	for what, c := range map[string]struct {
		entries []mailbox.Entry
		file    int64
		want    mailbox.Trace
	}{
		"it lies there":        {[]mailbox.Entry{at("it", then, false)}, 5, mailbox.Lies},
		"it is marked":         {[]mailbox.Entry{at("x", before, false), at("it", then, true)}, 5, mailbox.Marked},
		"it is gone":           {nil, 5, mailbox.Taken},
		"the file is older":    {nil, 4, mailbox.Erased},
		"an older is unread":   {[]mailbox.Entry{at("x", before, false)}, 9, mailbox.Erased},
		"one as old is unread": {[]mailbox.Entry{at("x", then, false)}, 9, mailbox.Erased},
		"a newer is unread":    {[]mailbox.Entry{at("x", after, false)}, 9, mailbox.Taken},
		"an older is read":     {[]mailbox.Entry{at("x", before, true)}, 9, mailbox.Taken},
		"one cannot be read":   {[]mailbox.Entry{unreadable}, 9, mailbox.Taken},
	} {
		if got := mailbox.TraceOf(w, c.entries, c.file); got != c.want {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	w.File = 0
	if got := mailbox.TraceOf(w, nil, -1); got != mailbox.Taken {
		t.Errorf("its file is not known: %v", got)
	}
}

// TestValidateSays: a problem names its place and what is wrong; blank lines, marks and an unfinished
// end are none.
func TestValidateSays(t *testing.T) {
	const good = `{"from":"a","text":"x","timestamp":"2026-11-20T18:15:43.000Z","read":false}`
	bad := `{"from":"a","text":"{\"type\":\"permission_request\",\"request_id\":7}","timestamp":"2026-11-20T18:15:43.000Z","read":false}`
	other := `{"from":"a","text":"{\"type\":\"task_completed\",\"from\":\"b\",\"taskId\":\"1\",\"timestamp\":\"2026-11-20T18:15:43.000Z\"}","timestamp":"2026-11-20T18:15:43.000Z","read":false}`
	for data, want := range map[string]string{
		good + "\n":                          "",
		"\xef\xbb\xbf" + good + "\n":         "",
		"  " + good + "  \n\n \n" + good:     "",
		good + "\n{\"from\":":                "",
		good + "\n{\"from\":\n":              "/1",
		"\n\n" + good + "\nnothing\n" + good: "/1",
		good + "\n" + bad + "\n":             "/1/text",
		other + "\n":                         "/0/text",
	} {
		got := mailbox.ValidateLines([]byte(data))
		if (len(got) == 0) != (want == "") || len(got) > 0 && (len(got) != 1 || got[0].Pointer != want) {
			t.Errorf("%q: %+v, want %q", data, got, want)
		}
	}
	if got := mailbox.ValidateLines([]byte(bad + "\n")); len(got) != 1 || !strings.Contains(got[0].Message, "is no valid permission_request: ") {
		t.Errorf("%+v", got)
	}
	if got := mailbox.ValidateLines([]byte(other + "\n")); len(got) != 1 || !strings.Contains(got[0].Message, "names another sender") {
		t.Errorf("%+v", got)
	}
}
