package view_test

import (
	"errors"
	"testing"

	"waggle/internal/view"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

func TestFileText(t *testing.T) {
	file := func(task string) *teamfile.File {
		f, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: s, owner: ann, instructions: \""+task+"\"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	was, is := file("make"), file("make \\u202E test")
	same(t, "file.txt", view.FileText(is))
	same(t, "file_change.txt", view.FileChangeText(supervise.FileChange{Accepted: was, Now: is, Data: is.Data}))
	same(t, "file_same.txt", view.FileChangeText(supervise.FileChange{Accepted: was, Now: file("mak\\x65"), Data: file("mak\\x65").Data}))
	same(t, "file_broken.txt", view.FileChangeText(supervise.FileChange{Accepted: was, Data: []byte("team: 7\n"), Broken: errors.New("line 1: it has no members")}))
	same(t, "file_large.txt", view.FileChangeText(supervise.FileChange{Accepted: was, Broken: errors.New("it is too large")}))
}
