package teamfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
	"waggle/operator/teamfile"
	"waggle/record"
)

// TestChecks: the nearest check counts, and that of the file is only for agents that say by themselves
// when they are done.
func TestChecks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := testenv.Value(teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(`team: api
check: " go test ./... "
members:
  - {name: a, agent: claude}
  - {name: b, agent: claude, cwd: sub, check: {run: make, returns: 0, timeout: 90s}}
  - {name: c, agent: exec}
  - {name: d, agent: exec, check: make}
tasks:
  - {subject: one, owner: a, instructions: x}
  - {subject: two, owner: a, instructions: x, check: test -e it}
`)))(t)
	all := &record.Check{Command: "go test ./...", Dir: dir, Returns: record.CheckReturns}
	want := map[string]*record.Check{"a": all, "b": {Command: "make", Dir: filepath.Join(dir, "sub"), TimeoutMS: 90_000}, "c": nil,
		"d": {Command: "make", Dir: dir, Returns: record.CheckReturns}}
	if d := cmp.Diff(all, f.Check); d != "" {
		t.Error(d)
	}
	for _, m := range f.Members {
		if d := cmp.Diff(want[string(m.Name)], m.Check); d != "" {
			t.Errorf("%s: %s", m.Name, d)
		}
	}
	if d := cmp.Diff([]*record.Check{nil, {Command: "test -e it", Returns: record.CheckReturns}}, []*record.Check{f.Tasks[0].Check, f.Tasks[1].Check}); d != "" {
		t.Error(d)
	}
	for text, says := range map[string]string{`" "`: "waggle.yaml:2: check: a command is not empty", "{returns: 1}": "check: a command is not empty",
		"{run: x, returns: -1}": "check.returns: want a number from 0 to 20", "{run: x, times: 2}": "times", "[x]": "waggle.yaml:2"} {
		_, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte("team: api\ncheck: "+text+"\nmembers: []\n"))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("check: %s: %v, want %s", text, err, says)
		}
	}
}

// TestReadSettings: a file that says only what worktrees get and what is checked is enough for who reads only that, and is no team.
func TestReadSettings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "waggle.yaml")
	for text, fails := range map[string]string{
		"worktree: {link: [.cache]}\ncheck: go test ./...\n":         "",
		"team: api\nmembers: []\ncheck: go test ./...\n":             "",
		"check: go test ./...\nteam: '!'\n":                          "team",
		"check: go test ./...\nmembers: [{name: '', agent: exec}]\n": "members[0].name",
		"check: go test ./...\nworktre: {}\n":                        "worktre",
	} {
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
		f, err := teamfile.ReadSettings(path)
		if fails == "" && (err != nil || f.Check == nil || f.Check.Command != "go test ./...") || fails != "" && (err == nil || !strings.Contains(err.Error(), fails)) {
			t.Errorf("%q: %v, %v", text, f, err)
		}
		if _, err := teamfile.ReadFile(path); (err == nil) != strings.HasPrefix(text, "team: api") {
			t.Errorf("%q as a team: %v", text, err)
		}
	}
}
