package fileview_test

import (
	"errors"
	"testing"

	"waggle/internal/face/view/fileview"
	"waggle/internal/face/view/viewtest"
	"waggle/internal/test/testenv"
	"waggle/operator/fresh"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
)

func TestPreparationText(t *testing.T) {
	f, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nworktree: {copy: [big.db], link: [.cache], setup: [\"npm ci\", \"make \\u202E it\\nmake them\"]}\nmembers: []\n"))
	testenv.Must(t, err)
	viewtest.Same(t, "preparation.txt", fileview.PreparationText(fresh.Found{File: f, Included: []string{".env"}}))
	viewtest.Same(t, "preparation_changed.txt", fileview.PreparationText(fresh.Found{File: f, Changed: true}))
}

func TestFileText(t *testing.T) {
	file := func(task string) *teamfile.File {
		f, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nmembers: [{name: ann, agent: exec}]\ntasks: [{subject: s, owner: ann, instructions: \""+task+"\"}]\n"))
		testenv.Must(t, err)
		return f
	}
	was, is := file("make"), file("make \\u202E test")
	viewtest.Same(t, "file.txt", fileview.FileText(is))
	viewtest.Same(t, "file_change.txt", fileview.FileChangeText(supervise.FileChange{Accepted: was, Now: is, Data: is.Data}))
	viewtest.Same(t, "file_same.txt", fileview.FileChangeText(supervise.FileChange{Accepted: was, Now: file("mak\\x65"), Data: file("mak\\x65").Data}))
	viewtest.Same(t, "file_broken.txt", fileview.FileChangeText(supervise.FileChange{Accepted: was, Data: []byte("team: 7\n"), Broken: errors.New("line 1: it has no members")}))
	viewtest.Same(t, "file_large.txt", fileview.FileChangeText(supervise.FileChange{Accepted: was, Broken: errors.New("it is too large")}))
}
