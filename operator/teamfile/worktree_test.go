package teamfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/operator/teamfile"
	"waggle/record"
)

// TestPreparation reads worktree in both forms, and check.
func TestPreparation(t *testing.T) {
	t.Parallel()
	f, err := teamfile.ParseFile("/proj/waggle.yaml", []byte(`team: api
members:
  - {name: a, agent: exec, worktree: true}
  - {name: b, agent: exec, worktree: {copy: [.env], link: [cache/big], setup: ["npm ci"]}}
  - {name: c, agent: exec, worktree: {}}
  - {name: d, agent: exec, worktree: false}
`))
	testenv.Must(t, err)
	for i, want := range []bool{true, true, true, false} {
		if m := f.Members[i]; m.Worktree != want {
			t.Errorf("%s: %v", m.Name, m.Worktree)
		}
	}
	want := record.Preparation{Copy: []string{".env"}, Link: []string{"cache/big"}, Setup: []string{"npm ci"}}
	if d := cmp.Diff(want, f.Prepared("b")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(record.Preparation{}, f.Prepared("a")); d != "" {
		t.Error(d)
	}
	team, err := teamfile.ParseFile("/proj/waggle.yaml", []byte(`team: api
worktree: {copy: [.env], setup: [make]}
members:
  - {name: a, agent: exec, worktree: true}
  - {name: b, agent: exec, worktree: {setup: []}}
  - {name: c, agent: exec}
  - {name: d, agent: mcp, worktree: true}
`))
	testenv.Must(t, err)
	all := record.Preparation{Copy: []string{".env"}, Setup: []string{"make"}}
	for name, want := range map[string]record.Preparation{"a": all, "b": {Setup: []string{}}, "c": {}, "d": {}} {
		if d := cmp.Diff(want, team.Prepared(name)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for text, say := range map[string]string{"{copy: [../x]}": "worktree.copy[0]", "{setup: ['']}": "worktree.setup[0]", "true": "yaml:2"} {
		_, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nworktree: "+text+"\nmembers: []\n"))
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, say := range map[string]string{
		"worktree: {copy: [../x]}":                "not a path below",
		"worktree: {link: [/etc]}":                "not a path below",
		"worktree: {copy: [.]}":                   "not a path below",
		"worktree: {copy: [.git/config]}":         "a file of git",
		"worktree: {setup: [' ']}":                "not empty",
		"worktree: {clone: [x]}":                  "clone",
		"agent: mcp, worktree: {setup: [npm ci]}": "nothing is started",
	} {
		if !strings.Contains(text, "agent") {
			text = "agent: exec, " + text
		}
		_, err := teamfile.ParseFile("/proj/waggle.yaml", []byte("team: api\nmembers:\n  - {name: a, "+text+"}\n"))
		if err == nil || !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), "/proj/waggle.yaml:3") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
