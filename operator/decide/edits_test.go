package decide_test

import (
	"encoding/json"
	"strings"
	"testing"

	"waggle/operator/decide"
)

// TestEdits: what an editing tool would do is shown as a difference, told by the input
// alone; what is not of a known form is not read as one.
func TestEdits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line\n", 10_000)
	for _, c := range []struct{ name, tool, input, want string }{
		{"edit", "Edit", `{"file_path":"/x","old_string":"one\ntwo\nfour","new_string":"one\nthree\nfour"}`, " one\n-two\n+three\n four"},
		{"everywhere", "Edit", `{"old_string":"a","new_string":"b","replace_all":true}`, "everywhere in the file:\n-a\n+b"},
		{"last line ends", "Edit", `{"old_string":"a","new_string":"a\n"}`, "-a\n\\ No newline at end of file\n+a"},
		{"taken away", "Edit", `{"old_string":"a\nb\n","new_string":""}`, "-a\n-b"},
		{"lines far apart", "Edit", `{"old_string":"1\n2\n3\n4\n5\n6\n7\n8\n9\nx","new_string":"y\n2\n3\n4\n5\n6\n7\n8\n9\nz"}`, "-1\n+y\n 2\n 3\n 4\n 5\n 6\n 7\n 8\n 9\n-x\n+z"},
		{"several", "MultiEdit", `{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"d"}]}`, "edit 1 of 2:\n-a\n+b\nedit 2 of 2:\n-c\n+d"},
		{"write", "Write", `{"file_path":"/x","content":"a && b\n\n"}`, "+a && b\n+"},
		{"notebook", "NotebookEdit", `{"new_source":"x = 1"}`, "+x = 1"},
		{"other tool", "Bash", `{"command":"x","old_string":"a","new_string":"b"}`, ""},
		{"other spelling", "Edit", `{"Old_String":"a","new_string":"b"}`, ""},
		{"twice", "Edit", `{"old_string":"a","new_string":"b","new_string":"c"}`, ""},
		{"twice in a list", "MultiEdit", `{"edits":[{"old_string":"a","new_string":"b","new_string":"c"}]}`, ""},
		{"no text", "Edit", `{"old_string":1,"new_string":"b"}`, ""},
		{"no object", "Edit", `[]`, ""},
	} {
		if got := (decide.Question{PendingItem: decide.PendingItem{Tool: c.tool, Input: json.RawMessage(c.input)}}).Edits(); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
	in, err := json.Marshal(map[string]string{"old_string": long, "new_string": "x\n" + long})
	if err != nil {
		t.Fatal(err)
	}
	got := (decide.Question{PendingItem: decide.PendingItem{Tool: "Edit", Input: in}}).Edits()
	if m, p := strings.Count(got, "\n-"), strings.Count(got, "\n+"); m != 9_999 || p != 10_001 {
		t.Errorf("of long texts %d lines are taken away and %d put there", m+1, p)
	}
}
