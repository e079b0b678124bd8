package teamfile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/teamfile"
)

func init() { agent.Register(claude.Kind, claude.New) } // the program does

// writeFiles makes files below a directory.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

const typed = `team: typed
members:
  - {name: ann, agent: claude, type: reviewer, cwd: sub/dir, prompt: Be brief.}
  - {name: bob, agent: claude, type: writer, model: own}
  - {name: cal, agent: claude, type: general-purpose}
  - {name: dan, agent: exec, type: whatever}
`

// TestDefine: a type gives prompt, model and tools of the nearest definition; the project's goes
// before the user's, and what the team file says itself before both.
func TestDefine(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"repo/.git/HEAD":                  "",
		"repo/.claude/agents/reviewer.md": "---\nname: reviewer\ndescription: Reads code\ntools: Read, Grep, mcp__github\nmodel: 4.10\ncolor: red\n---\n\nYou review.\n",
		"repo/.claude/agents/writer.md":   "---\ntools:\n  - Read\n  - Write\ndisallowedTools: [Bash]\nmodel: inherit\n---\nYou write.",
		"user/agents/reviewer.md":         "---\nname: reviewer\n---\nthe user's",
		"repo/waggle.yaml":                typed,
	})
	f, err := teamfile.ReadFile(filepath.Join(dir, "repo", "waggle.yaml"))
	testenv.Must(t, err)
	if got := f.Undefined(); !slices.Equal(got, []string{"reviewer", "writer"}) {
		t.Errorf("undefined %q", got)
	}
	testenv.Must(t, f.Define(filepath.Join(dir, "user")))
	ann, bob := f.Members[0], f.Members[1]
	s, err := claude.Read(ann.Spec)
	if err != nil || s.Prompt != "You review.\n\nBe brief." || s.Model != "4.10" || !slices.Equal(s.Tools, []string{"Read", "Grep", "mcp__github"}) {
		t.Errorf("%+v, %v", s, err)
	}
	if d := ann.Definition; d.Name != "reviewer" || d.Path != filepath.Join(dir, "repo/.claude/agents/reviewer.md") || len(d.SHA256) != 64 || ann.Model != "4.10" {
		t.Errorf("%+v", ann)
	}
	if s, err = claude.Read(bob.Spec); err != nil || s.Model != "own" || !slices.Equal(s.Tools, []string{"Read", "Write"}) || !slices.Equal(s.NoTools, []string{"Bash"}) {
		t.Errorf("%+v, %v", s, err)
	}
	if f.Members[2].Definition != nil || f.Members[3].Definition != nil || len(f.Undefined()) > 0 {
		t.Errorf("%+v", f.Members)
	}
	// An accepted definition holds, also when its file changes.
	kept, err := f.Definitions.Bytes()
	testenv.Must(t, err)
	writeFiles(t, dir, map[string]string{"repo/.claude/agents/reviewer.md": "---\nname: reviewer\n---\nDo harm."})
	again, err := teamfile.ParseFile(f.Path, f.Data)
	testenv.Must(t, err)
	d, err := teamfile.ReadDefinitions(kept)
	if err == nil {
		err = again.DefineAs(d)
	}
	if err != nil || string(again.Members[0].Spec) != string(ann.Spec) || *again.Members[0].Definition != *ann.Definition {
		t.Errorf("%v, %s", err, again.Members[0].Spec)
	}
	if changed, err := again.Changed(); !changed || err != nil || !slices.Equal(again.ChangedTypes(), []string{"reviewer"}) {
		t.Errorf("changed %v, %v, %q", changed, err, again.ChangedTypes())
	}
}

// TestDefineRefuses: a definition that is not there, or that cannot be read in one way only, is an
// error that names the file.
func TestDefineRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		text, says string
		kind       operator.Kind
	}{
		"none":         {"", "there is no reviewer.md in", operator.NotFound},
		"no head":      {"You review.", "begins with YAML", operator.Usage},
		"no end":       {"---\nname: reviewer\n", "begins with YAML", operator.Usage},
		"another name": {"---\nname: other\n---\n", `it is of "other"`, operator.Usage},
		"twice":        {"---\ntools: Read\ntools: Bash\n---\n", "reviewer.md", operator.Usage},
		"a rule":       {"---\ntools: Bash(git:*)\n---\n", "is no name of a tool", operator.Usage},
		"no names":     {"---\ntools: {a: b}\n---\n", "want names of tools", operator.Usage},
		"a list":       {"---\n- a\n---\n", "no mapping", operator.Usage},
		"a flag":       {"---\nmodel: --dangerous\n---\n", "do not begin with -", operator.Usage},
	} {
		dir := t.TempDir()
		files := map[string]string{"waggle.yaml": "team: types\nmembers: [{name: ann, agent: claude, type: reviewer}]\n", ".claude/agents/reviewers.md": ""}
		if c.text != "" {
			files[".claude/agents/reviewer.md"] = c.text
		}
		writeFiles(t, dir, files)
		f, err := teamfile.ReadFile(filepath.Join(dir, "waggle.yaml"))
		testenv.Must(t, err)
		err = f.Define("")
		if operator.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "reviewer") {
			t.Errorf("%s: %v, kind %v", name, err, operator.KindOf(err))
		}
		if c.text == "" && !strings.Contains(err.Error(), "near: reviewers") {
			t.Errorf("no near name: %v", err)
		}
	}
	f := testenv.Value(teamfile.ParseFile("/x/waggle.yaml", []byte("team: types\nmembers: [{name: ann, agent: claude, type: ../../etc/x}]\n")))(t)
	if err := f.Define(""); operator.KindOf(err) != operator.Usage {
		t.Error(err)
	}
}

// TestDefineBelowStrayGit: a .git without a HEAD above a directory makes no checkout of it, so the
// definitions beside that .git are not read.
func TestDefineBelowStrayGit(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		".git/config":                "",
		".claude/agents/reviewer.md": "---\nname: reviewer\n---\nanybody's",
		".claude/agents/writer.md":   "\uFEFF---\nname: writer\n---\nanybody's",
		"user/agents/reviewer.md":    "---\nname: reviewer\n---\nthe user's",
		"user/agents/writer.md":      "---\nname: writer\n---\nthe user's",
		"own/waggle.yaml":            typed,
	})
	f := testenv.Value(teamfile.ReadFile(filepath.Join(dir, "own", "waggle.yaml")))(t)
	testenv.Must(t, f.Define(filepath.Join(dir, "user")))
	for _, m := range f.Members[:2] {
		if want := filepath.Join(dir, "user", "agents", m.Type+".md"); m.Definition == nil || m.Definition.Path != want {
			t.Errorf("%s has the definition %+v, not %s", m.Name, m.Definition, want)
		}
	}
}
