package decide_test

import (
	"encoding/json"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

// TestBrief: lists and reasons say what a call is for, in words where the tool is known; a file in its directory by its name
// there.
func TestBrief(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"make","description":"x"}`, "Bash make"},
		{"Edit", `{"file_path":"/w/a/b.go","old_string":"a","new_string":"b"}`, "Edit a/b.go"},
		{"Write", `{"file_path":"/other/b.go","content":"b"}`, "Write /other/b.go"},
		{"Write", `{"file_path":"/w","content":"b"}`, "Write /w"},
		{"NotebookEdit", `{"notebook_path":"/w/n.ipynb","new_source":"b"}`, "NotebookEdit n.ipynb"},
		{"WebFetch", `{"url":"https://example.com/w/x","prompt":"y"}`, "WebFetch https://example.com/w/x"},
		{"Edit", `{"file_path":"/w/a","file_path":"/w/b"}`, `Edit {"file_path":"/w/a","file_path":"/w/b"}`},
		{"Edit", `{"File_Path":"/w/a"}`, `Edit {"File_Path":"/w/a"}`},
		{"Edit", `{"file_path":7}`, `Edit {"file_path":7}`},
		{"mcp__db__query", `{"query":"x"}`, `mcp__db__query {"query":"x"}`},
	} {
		a := record.Ask{Tool: c.tool, Input: c.input, Cwd: "/w"}
		if got := decide.Brief(protocol.KindPermissionRequest, a); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

// TestEdits: Edits shows the call of an editing tool as a difference, from the input alone. An input
// of an unknown form gives none.
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
		if got := (decide.Request{PendingItem: decide.PendingItem{Tool: c.tool, Input: json.RawMessage(c.input)}}).Edits(); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
	in := testenv.Value(json.Marshal(map[string]string{"old_string": long, "new_string": "x\n" + long}))(t)
	got := (decide.Request{PendingItem: decide.PendingItem{Tool: "Edit", Input: in}}).Edits()
	if m, p := strings.Count(got, "\n-"), strings.Count(got, "\n+"); m != 9_999 || p != 10_001 {
		t.Errorf("of long texts %d lines are taken away and %d put there", m+1, p)
	}
}

// TestInFile: InFile shows the change of a call in its file with the lines around it; for a call that
// would change nothing it gives the reason.
func TestInFile(t *testing.T) {
	t.Parallel()
	file := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for _, c := range []struct{ name, tool, input, text, want string }{
		{"edit", "Edit", `{"file_path":"x","old_string":"6","new_string":"six"}`, file, "@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9"},
		{"not there", "Edit", `{"old_string":"z","new_string":"six"}`, file, "the text that it replaces is not in the file"},
		{"often", "Edit", `{"old_string":"a","new_string":"b"}`, "a a", "the text that it replaces occurs 2 times in the file"},
		{"everywhere", "Edit", `{"old_string":"a","new_string":"b","replace_all":true}`, "a\na\n", "@@ -1,2 +1,2 @@\n-a\n-a\n+b\n+b"},
		{"a new file", "Edit", `{"old_string":"","new_string":"b"}`, file, ""},
		{"several", "MultiEdit", `{"edits":[{"old_string":"1\n","new_string":"one\n"},{"old_string":"one","new_string":"uno"}]}`, "1\n", "@@ -1 +1 @@\n-1\n+uno"},
		{"one of several", "MultiEdit", `{"edits":[{"old_string":"1","new_string":"one"},{"old_string":"1","new_string":"uno"}]}`, "1\n", "edit 2 of 2: the text that it replaces is not in the file"},
		{"write", "Write", `{"file_path":"x","content":"1\n2\n"}`, "1\n3\n", "@@ -1,2 +1,2 @@\n 1\n-3\n+2"},
		{"the same", "Write", `{"content":"1\n"}`, "1\n", ""},
		{"into an empty file", "Write", `{"content":"1\n"}`, "", ""},
		{"long", "Write", `{"content":"1\n"}`, strings.Repeat("a line\n", 10_000), "10000 lines become 1"},
		{"notebook", "NotebookEdit", `{"new_source":"x = 1"}`, file, ""},
		{"twice", "Write", `{"content":"a","content":"b"}`, file, ""},
	} {
		if got := (decide.Request{PendingItem: decide.PendingItem{Tool: c.tool, Input: json.RawMessage(c.input)}}).InFile(c.text); got != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, c.want)
		}
	}
}

// TestEditedPath: EditedPath is the real path that the request recorded for its file when it was
// asked, and no other.
func TestEditedPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, input, edited, at string }{
		{"Edit", `{"file_path":"link/a.go"}`, "link/a.go", "/src/real/a.go"},
		{"Write", `{"file_path":"/src/link/../link/a.go"}`, "/src/link/../link/a.go", "/src/real/a.go"},
		{"NotebookEdit", `{"notebook_path":"/src/link/a.go"}`, "/src/link/a.go", "/src/real/a.go"},
		{"Write", `{"file_path":"/src/other"}`, "/src/other", ""},
		{"Write", `{"file_path":"lost"}`, "lost", ""},
		{"Read", `{"file_path":"/src/link/a.go"}`, "", ""},
		{"Edit", `{"file_path":"/src/link/a.go","file_path":"/src/other"}`, "", ""},
		{"Edit", `[]`, "", ""},
		{"Bash", `{"":"a.go"}`, "", ""},
	} {
		q := decide.Request{PendingItem: decide.PendingItem{Tool: c.tool, Input: json.RawMessage(c.input), Cwd: "/src"}}
		q.Paths = []record.RealPath{{Spelled: "/src", Real: "/src"}, {Spelled: "/src/link/a.go", Real: "/src/real/a.go"}, {Spelled: "/src/lost"}}
		if edited, at := q.Edited(), q.EditedPath(); edited != c.edited || at != c.at {
			t.Errorf("%s %s: %q at %q, want %q at %q", c.tool, c.input, edited, at, c.edited, c.at)
		}
	}
}
