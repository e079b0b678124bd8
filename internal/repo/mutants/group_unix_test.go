//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
)

// TestRunSignalsItsGroup: a mutant that kills the group of its tests is found, and the run goes on.
func TestRunSignalsItsGroup(t *testing.T) {
	testenv.Long(t)
	program(t, map[string]string{
		"q/q.go":      "package q\n\nimport \"syscall\"\n\nfunc There() bool { return syscall.Kill(0, syscall.Signal(0*9)) == nil }\n",
		"q/q_test.go": "package q\n\nimport \"testing\"\n\nfunc TestThere(t *testing.T) {\n\tif !There() {\n\t\tt.Error()\n\t}\n}\n",
	})
	found, err := places("q")
	testenv.Must(t, err)
	s := settings{n: 20, jobs: 1, seed: 1, timeout: time.Minute, packages: []string{"q"}, limits: map[string]time.Duration{"q": time.Minute}}
	all, err := tryAll(t.Context(), s, [][]place{found}, t.TempDir())
	testenv.Must(t, err)
	ended := false
	for _, m := range all {
		ended = ended || m.is == "1" && !m.survived && strings.Contains(m.was, "0")
	}
	if !ended {
		t.Errorf("%+v", all)
	}
}
