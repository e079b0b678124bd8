//go:build unix

package claudemembertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/test/claudetest"
)

// A member's type gives it the tools of its definition and no others, also when a rule of the team and
// the user's own settings allow the call: there is no request and the call does not run.
func TestType(t *testing.T) {
	claudetest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t, version, claudetest.Script(mark("narrowed"), claudetest.Say("done")), ", type: reader}\npolicy: {allow: [Bash]}\n#{")
		dir := filepath.Join(w.h.Work, ".claude", "agents")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		w.h.WriteFile(filepath.Join(dir, "reader.md"), "---\nname: reader\ndescription: Reads\ntools: Read, Grep\n---\nYou only read, says the definition.\n", 0o644)
		w.start()
		w.give("read", "read it")
		if r := w.result(0); !r.IsError {
			t.Errorf("the model reads %+v", r)
		}
		w.ran("narrowed", 0)
		if why := w.ok("why", "bob", "--team", "crew"); !strings.Contains(why, "definition reader") {
			t.Error(why)
		}
		w.gone()
	})
}
