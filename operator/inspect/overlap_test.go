package inspect_test

import (
	"testing"

	"waggle/control"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestEdited: a call counts when it was started, and with the input that ran.
func TestEdited(t *testing.T) {
	t.Parallel()
	call := func(tool, input string, started bool) *control.Call {
		return &control.Call{Ask: record.Ask{Tool: tool, Input: input, Cwd: "/nowhere/sub"}, Started: started}
	}
	changed := call("Write", `{"file_path":"asked.txt"}`, true)
	changed.Answer = &record.Answered{UpdatedInput: `{"file_path":"ran.txt"}`}
	for _, c := range []struct {
		name, want string
		call       *control.Call
	}{
		{"edit", "/nowhere/a.txt", call("Edit", `{"file_path":"/nowhere/a.txt"}`, true)},
		{"multi", "/nowhere/a.txt", call("MultiEdit", `{"file_path":"/nowhere/./b/../a.txt"}`, true)},
		{"relative", "/nowhere/a.txt", call("Write", `{"file_path":"../a.txt"}`, true)},
		{"notebook", "/nowhere/n.ipynb", call("NotebookEdit", `{"notebook_path":"/nowhere/n.ipynb"}`, true)},
		{"changed by the approver", "/nowhere/sub/ran.txt", changed},
		{"denied", "", call("Write", `{"file_path":"/nowhere/a.txt"}`, false)},
		{"reads", "", call("Read", `{"file_path":"/nowhere/a.txt"}`, true)},
		{"another spelling", "", call("Write", `{"File_Path":"/nowhere/a.txt"}`, true)},
		{"no text", "", call("Write", `{"file_path":7}`, true)},
		{"no object", "", call("Write", `[]`, true)},
	} {
		if got := inspect.Edited(c.call); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
