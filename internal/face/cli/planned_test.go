package cli_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/fresh"
)

// started is the JSON output of new, with or without --plan.
type started struct {
	Team    string
	Opened  bool
	Members []struct{ Name, Agent, Branch, Worktree, State string }
}

// fetched matches a file of a member's own git directory, which the team that is up reads again and again.
var fetched = regexp.MustCompile(`/worktrees/[^/ ]+\.git[/ ]`)

// unchanged runs a command of which no file may change: of the tree, STATE, the checkout and the worktrees. A team
// that is up writes by itself, so a change counts when there is one each time; the git directories of its members
// are not compared, as it writes there all the time.
func (g *project) unchanged(t *testing.T, line string, want int) (said string) {
	t.Helper()
	look := func() []string {
		return slices.DeleteFunc(snapshot(t, g.dir, g.root, g.state, filepath.Join(g.base, "trees")), fetched.MatchString)
	}
	var before, after []string
	for range 20 {
		var code int
		before = look()
		said, code = g.run(line)
		if code != want {
			t.Errorf("waggle %s: code %d, want %d\n%s", line, code, want, said)
		}
		if after = look(); slices.Equal(before, after) {
			return said
		}
	}
	t.Errorf("waggle %s wrote:\n%s", line, changed(before, after))
	return said
}

// TestNewPlan: new --plan names exactly the team, the members and the branches that new then makes, and changes no
// file, before the team is open and afterwards.
func TestNewPlan(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	g := newProject(t, endedFile)
	t.Cleanup(func() { g.run("down --force project") })
	for _, line := range []string{"new exec true --at-once 20", "new exec true", "new exec touch --attempts 2", "new exec id --here", "new exec id --name ann"} {
		var plan, made started
		testenv.Must(t, json.Unmarshal([]byte(g.unchanged(t, line+" --plan --json --quiet", 0)), &plan))
		if text := g.unchanged(t, line+" --plan", 0); !strings.Contains(text, "would start "+plan.Members[0].Name) || !strings.Contains(text, "nothing was changed") {
			t.Errorf("waggle %s --plan:\n%s", line, text)
		}
		testenv.Must(t, json.Unmarshal([]byte(g.must(t, line+" --json --quiet --wait 30s")), &made))
		for i := range made.Members {
			if made.Members[i].State != fresh.StateStarted || plan.Members[i].State != fresh.StatePlanned {
				t.Errorf("%s: %+v %+v", line, plan, made)
			}
			made.Members[i].State = fresh.StatePlanned
			if made.Opened {
				made.Members[i].Worktree = "" // the identity of the team is not known before
			}
		}
		if plan.Team != made.Team || plan.Opened != made.Opened || !slices.Equal(plan.Members, made.Members) {
			t.Errorf("waggle %s: planned\n%+v\nmade\n%+v", line, plan, made)
		}
	}
	g.unchanged(t, "new exec id --name ann --plan", 6)
	g.unchanged(t, "new --plan", 2)
}

// TestRestorePlan: team restore --plan says what a restore would do, or refuses as it would, and changes no file.
func TestRestorePlan(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	g := newProject(t, "team: gone\nsandbox: {mode: off}\nmembers: [{name: ann, agent: exec}]\n")
	g.must(t, "up --detach waggle.yaml")
	t.Cleanup(func() { g.run("down --force gone") })
	g.must(t, "team backup gone -o "+g.base+"/gone.tar.gz")
	file := g.base + "/gone.tar.gz"
	type plan struct {
		Team, From, Authority string
		Files                 int
		Verified, Replaces    bool
		Running               []struct{ Name string }
	}
	read := func(flags string) (p plan) {
		t.Helper()
		said := g.unchanged(t, "team restore "+file+" --plan --json "+flags, 0)
		if err := json.Unmarshal([]byte(said), &p); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return p
	}
	if said := g.unchanged(t, "team restore "+file+" --plan", 6); !strings.Contains(said, "there is a team gone") || !strings.Contains(said, "--name NAME") {
		t.Error(said)
	}
	if p := read("--force"); !p.Replaces || len(p.Running) == 0 || p.Authority != "new" || p.Team != "gone" || !p.Verified {
		t.Errorf("%+v", p)
	}
	copied := read("--name copy")
	if copied.Replaces || copied.Authority != "new" || copied.From != "gone" {
		t.Errorf("%+v", copied)
	}
	if said := g.unchanged(t, "team restore "+file+" --plan --name copy", 0); !strings.Contains(said, "would restore team copy") || !strings.Contains(said, "nothing was changed") {
		t.Error(said)
	}
	var done plan
	if err := json.Unmarshal([]byte(g.must(t, "team restore "+file+" --json --name copy")), &done); err != nil || done.Files != copied.Files || done.Authority != copied.Authority || done.Team != copied.Team {
		t.Errorf("planned %+v, done %+v, %v", copied, done, err)
	}
	g.unchanged(t, "team restore "+g.dir+"/waggle.yaml --plan --name other", 6)
}
