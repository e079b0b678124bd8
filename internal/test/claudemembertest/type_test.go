//go:build unix

package claudemembertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
	"waggle/internal/test/testenv"
)

// A member's type gives it the tools of its definition and no others, also when a rule of the team and
// the user's own settings allow the call: there is no request and the call does not run.
func TestType(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(claudetest.Mark("narrowed"), claudetest.Say("done")), ", type: reader}\npolicy: {allow: [Bash]}\n#{")
		dir := filepath.Join(w.H.Work, ".claude", "agents")
		testenv.Must(t, os.MkdirAll(dir, 0o755))
		w.H.WriteFile(filepath.Join(dir, "reader.md"), "---\nname: reader\ndescription: Reads\ntools: Read, Grep\n---\nYou only read, says the definition.\n", 0o644)
		w.works("read", "read it")
		if r := w.Result(0); !r.IsError {
			t.Errorf("the model reads %+v", r)
		}
		w.Ran("narrowed", 0)
		if why := w.OK("why", "bob", "--team", "crew"); !strings.Contains(why, "definition reader") {
			t.Error(why)
		}
	})
}
