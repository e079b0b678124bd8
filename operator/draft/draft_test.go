package draft_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/draft"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

func init() { agent.Register(claude.Kind, claude.New) }

// directory makes a directory with some files, and a PATH with some programs.
func directory(t *testing.T, files map[string]string, programs ...string) draft.Facts {
	t.Helper()
	dir, bin := filepath.Join(t.TempDir(), "My Project"), t.TempDir()
	testenv.Must(t, os.Mkdir(dir, 0o700))
	for name, text := range files {
		testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, name := range programs {
		testenv.Must(t, testenv.Executable(filepath.Join(bin, name), []byte("#!/bin/sh\n")))
	}
	return draft.Look(dir, []string{"PATH=" + bin})
}

// TestTemplate: every template is a valid file, with the checks of what the directory has.
func TestTemplate(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		files map[string]string
		want  string
	}{
		"go":           {map[string]string{"go.mod": "module x\n"}, "go test ./..."},
		"node":         {map[string]string{"package.json": "{}"}, "npm test"},
		"python":       {map[string]string{"pyproject.toml": ""}, "python3 -m pytest"},
		"requirements": {map[string]string{"requirements.txt": ""}, "python3 -m pytest"},
		"rust":         {map[string]string{"Cargo.toml": ""}, "cargo test"},
		"make":         {map[string]string{"Makefile": "build:\n\ntest: build\n\ttrue\n"}, "make test"},
		"all":          {map[string]string{"go.mod": "", "package.json": "", "Cargo.toml": "", "setup.py": "", "Makefile": "test:\n"}, "cargo test"},
	}
	for kind, c := range kinds {
		f := directory(t, c.files, "claude", "codex")
		for _, name := range append(draft.Templates(), draft.Checks) {
			text, err := draft.Template(name, f)
			if err != nil {
				t.Errorf("%s, %q: %v", kind, name, err)
				continue
			}
			got, err := teamfile.ParseFile(filepath.Join(f.Dir, "waggle.yaml"), []byte(text))
			if err != nil || got.Team != "my-project" {
				t.Errorf("%s, %q: %+v, %v\n%s", kind, name, got, err, text)
				continue
			}
			if f.Dir != "" && name == draft.Checks && !slices.ContainsFunc(got.Members, func(m teamfile.FileMember) bool { return m.Name == "test" }) {
				t.Errorf("%s: no member test\n%s", kind, text)
			}
			if !strings.Contains(text, c.want) || !strings.Contains(text, "Found on this machine: claude, codex.") {
				t.Errorf("%s, %q: no %q\n%s", kind, name, c.want, text)
			}
			if changes := name == draft.Bugfix || name == draft.Migrate; changes != (got.Check != nil) {
				t.Errorf("%s, %q: check %+v", kind, name, got.Check)
			}
			if reads := name == draft.Review; reads != strings.Contains(text, `- "Edit"`) {
				t.Errorf("%s, %q: edits\n%s", kind, name, text)
			}
		}
	}
}

// TestTemplateDev: the plain file has a coding agent with a worktree where one is installed and the
// directory is in a repository with a commit, and a check of its work.
func TestTemplateDev(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		git      map[string]string
		programs []string
		has      bool
	}{
		"a commit":        {map[string]string{"HEAD": "ref: refs/heads/main\n", "refs/heads/main": "0288762\n"}, []string{"claude"}, true},
		"a packed one":    {map[string]string{"HEAD": "ref: refs/heads/main\n", "packed-refs": "# pack-refs\n0288762 refs/heads/main\n"}, []string{"claude"}, true},
		"a detached HEAD": {map[string]string{"HEAD": "0288762\n"}, []string{"claude"}, true},
		"another branch":  {map[string]string{"HEAD": "ref: refs/heads/main\n", "packed-refs": "0288762 refs/heads/main2\n"}, []string{"claude"}, false},
		"no commit":       {map[string]string{"HEAD": "ref: refs/heads/main\n"}, []string{"claude"}, false},
		"no repository":   {nil, []string{"claude"}, false},
		"another agent":   {map[string]string{"HEAD": "0288762\n"}, []string{"codex"}, false},
		"no agent":        {map[string]string{"HEAD": "0288762\n"}, nil, false},
	} {
		files := map[string]string{"go.mod": "module x\n"}
		for path, text := range one.git {
			files[".git/"+path] = text
		}
		f := directory(t, files, one.programs...)
		text, err := draft.Template(draft.Checks, f)
		testenv.Must(t, err)
		got, err := teamfile.ParseFile(filepath.Join(f.Dir, "waggle.yaml"), []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		has := got.Members[0].Agent == "claude" && got.Members[0].Worktree && got.Members[0].Mode == policy.ModeAcceptEdits
		if has != one.has || (got.Check != nil) != one.has || got.Policy.Mode != policy.ModeDefault {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestTemplateProposes: what the user's and the project's Claude settings allow is proposed, and not allowed.
func TestTemplateProposes(t *testing.T) {
	t.Parallel()
	f := directory(t, map[string]string{"go.mod": "module x\n", ".git/HEAD": "0288762\n",
		".claude/settings.json":      `{"permissions":{"allow":["Bash(npm run lint:*)","Bash(go test:*)","Bash","Read","Bash(a\u0001)"]}}`,
		"home/.claude/settings.json": `{"permissions":{"allow":["Bash(gh pr view:*)","Bash(npm run lint:*)"],"deny":["Bash(rm:*)"]}}`})
	f = draft.Look(f.Dir, []string{"HOME=" + filepath.Join(f.Dir, "home")})
	text, err := draft.Template(draft.Checks, f)
	testenv.Must(t, err)
	if want := "say so:\n    # - \"Bash(npm run lint:*)\"\n    # - \"Bash(gh pr view:*)\"\n  # What nobody"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	got, err := teamfile.ParseFile(filepath.Join(f.Dir, "waggle.yaml"), []byte(text))
	if err != nil || len(got.Policy.Allow) != 3 {
		t.Errorf("%+v %v", got, err)
	}
}

// TestNumberedDirectory: a name that YAML would read as a number or a truth value stays the team's.
func TestNumberedDirectory(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"001", "1e3", "0x10", "2024", "true", "null", "yes", "api"} {
		text := testenv.Value(draft.Template(draft.Checks, draft.Facts{Dir: "/work/" + name}))(t)
		for _, text := range []string{draft.Open(name, draft.Facts{Dir: "/work/" + name}), text} {
			f, err := teamfile.ParseFile("/work/waggle.yaml", []byte(text))
			if err != nil || string(f.Team) != name {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestTemplateNeeds: the error of a template that needs an agent names the agent to install, and the
// error of one that needs checks names the files that it looked for.
func TestTemplateNeeds(t *testing.T) {
	t.Parallel()
	bare := directory(t, nil)
	for _, name := range []string{draft.Review, draft.Bugfix, draft.Migrate} {
		_, err := draft.Template(name, bare)
		operatortest.Is(t, name, err, operator.NotFound, "claude is not in PATH")
		_, err = draft.Template(name, directory(t, nil, "gemini"))
		operatortest.Is(t, name, err, operator.NotFound, "gemini has no agent of its own")
	}
	_, err := draft.Template(draft.CI, bare)
	operatortest.Is(t, "nothing to check", err, operator.NotFound, "go.mod, package.json")
	_, err = draft.Template(draft.CI, directory(t, map[string]string{"Makefile": "build:\n"}))
	operatortest.Is(t, "a Makefile without test", err, operator.NotFound, "")
	_, err = draft.Template("other", bare)
	operatortest.Is(t, "unknown", err, operator.Usage, `no template "other"`)
	text, err := draft.Template(draft.Checks, bare)
	if err != nil || !strings.Contains(text, "echo hello") {
		t.Errorf("%s, %v", text, err)
	}
	if text := draft.Open("api", bare); !strings.Contains(text, "policy: {mode: acceptEdits, sandboxed: allow}") {
		t.Error(text)
	}
	bare.Ceiling = &record.Ceiling{Allow: []policy.Rule{}}
	if text := draft.Open("api", bare); !strings.Contains(text, "policy: {mode: default, sandboxed: ask}") {
		t.Errorf("beyond the ceiling: %s", text)
	}
}

// TestRegistries: the file that a person reads opens the hosts of the packages of the languages that are there,
// as far as the ceiling does; the file of waggle new, which nobody has read, opens none.
func TestRegistries(t *testing.T) {
	t.Parallel()
	f := directory(t, map[string]string{"go.mod": "module x\n", "package.json": `{"scripts":{"test":"true"}}`})
	hosts := func() (list []string) {
		t.Helper()
		text, err := draft.Template(draft.CI, f)
		testenv.Must(t, err)
		file, err := teamfile.ParseFile("/p/waggle.yaml", []byte(text))
		testenv.Must(t, err)
		if err := file.Under(f.Ceiling); err != nil {
			t.Error(err)
		}
		for _, g := range file.Network {
			list = append(list, g.Host+":"+g.Port)
		}
		return list
	}
	if got := hosts(); !slices.Equal(got, []string{"proxy.golang.org:443", "sum.golang.org:443", "registry.npmjs.org:443"}) {
		t.Errorf("%q", got)
	}
	if text := draft.Open("api", f); !strings.Contains(text, "caches: [go, npm]") || strings.Contains(text, "golang.org") {
		t.Error(text)
	}
	f.Ceiling = &record.Ceiling{Allow: policy.MustRules("Bash", "WebFetch(domain:*.golang.org)")}
	if got := hosts(); !slices.Equal(got, []string{"proxy.golang.org:443", "sum.golang.org:443"}) {
		t.Errorf("below a ceiling: %q", got)
	}
	f.Ceiling = &record.Ceiling{Allow: policy.MustRules("Bash")}
	if got := hosts(); len(got) > 0 {
		t.Errorf("below a ceiling without hosts: %q", got)
	}
}

// TestModulesBelow: the caches and hosts are those of every module of a repository, and not of what a build has fetched.
func TestModulesBelow(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		", caches: [go, npm, pnpm]":          {"go.work": "go 1.26\n", "packages/a/package.json": "{}", "pnpm-lock.yaml": "", "README.md": ""},
		", caches: [cargo, pip, uv]":         {"backend/pyproject.toml": "", "backend/uv.lock": "", "crates/x/Cargo.toml": ""},
		", caches: [npm, pip, poetry, yarn]": {"web/package.json": "{}", "web/yarn.lock": "", "api/pyproject.toml": "", "api/poetry.lock": ""},
		"":                                   {"node_modules/a/package.json": "{}", ".venv/x/setup.py": "", "vendor/x/go.mod": "", "a/b/c/go.mod": ""},
	} {
		f := directory(t, files)
		if got := draft.Open("api", f); want != "" && !strings.Contains(got, "{mode: auto"+want+"}") || want == "" && strings.Contains(got, "caches") {
			t.Errorf("%q: %s", want, got)
		}
	}
}

// TestTeam: the file of a team has the contents of the accepted file, without members that have left,
// and with those that came later; it is valid, and reads as the same policy.
func TestTeam(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	dir := t.TempDir()
	rules := []policy.Rule{}
	for _, text := range []string{"Bash(go test:*)", "Read"} {
		r := testenv.Value(policy.ParseRule(text))(t)
		rules = append(rules, r)
	}
	rig := operatortest.Team(t, op, "api", record.PolicySet{Policy: policy.Policy{Mode: policy.ModeAcceptEdits, Allow: rules}, Decide: record.Deciders{policy.GateTool: policy.DecideRules}})
	accepted, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(`team: api
check: "go test ./..."
deadline: 10m
members:
  - {name: ann, agent: exec, command: [make, "it"], color: red}
  - {name: gone, agent: exec}
tasks:
  - {subject: first, owner: gone}
  - {subject: 0755, owner: ann, after: [first], instructions: "one\ntwo\n"}
`))
	testenv.Must(t, err)
	s := rig.State()
	spec, err := json.Marshal(agent.ExecSpec{Command: []string{"make", "more"}})
	testenv.Must(t, err)
	rig.Enlist(s, "ann")
	rig.Enlist(s, "late", func(m *teamfile.FileMember) {
		m.Agent, m.Spec, m.Cwd, m.PlanRequired, m.Model = "exec", spec, filepath.Join(dir, "sub"), true, "big"
		m.Check = &record.Check{Command: "make check", Returns: 1}
	})
	rig.Task("late", "third")
	rig.Task("ann", "third")
	text, err := draft.Team(rig.State(), accepted, dir)
	testenv.Must(t, err)
	got, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got.Check == nil || got.Check.Command != "go test ./..." || got.Deadline.Minutes() != 10 || got.Policy.Mode != policy.ModeAcceptEdits || len(got.Policy.Allow) != 2 || got.Decide[policy.GateTool] != policy.DecideRules {
		t.Errorf("%s", text)
	}
	if len(got.Members) != 2 || got.Members[0].Color != "red" || got.Members[1].Name != "late" || string(got.Members[1].Spec) != string(spec) ||
		got.Members[1].Cwd != filepath.Join(dir, "sub") || !got.Members[1].PlanRequired || got.Members[1].Model != "big" || got.Members[0].Check != nil || got.Members[1].Check == nil || got.Members[1].Check.Command != "make check" || got.Members[1].Check.Returns != 1 {
		t.Errorf("%+v\n%s", got.Members, text)
	}
	if len(got.Tasks) != 3 || got.Tasks[0].Subject != "0755" || len(got.Tasks[0].After) != 0 || got.Tasks[1].Subject != "third" || got.Tasks[2].Subject != "third (ann)" {
		t.Errorf("%+v\n%s", got.Tasks, text)
	}
	if text, err = draft.Team(rig.State(), nil, dir); err != nil || strings.Count(text, "check:") != 1 || !strings.Contains(text, "run: make check") {
		t.Errorf("without a file: %s, %v", text, err)
	}
}

// TestTeamPrepared: the preparation that waggle new accepted from a waggle.yaml is in the file, for
// all members when the team was opened without a file.
func TestTeamPrepared(t *testing.T) {
	t.Parallel()
	testenv.Require(t, "git")
	op := operatortest.New(t)
	dir := filepath.Join(filepath.Dir(op.Root.Path), "repo")
	op.Worktrees = filepath.Join(filepath.Dir(dir), "trees")
	op.Environ = append(op.Environ, "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	for _, args := range [][]string{{"init", "--quiet", dir}, {"-C", dir, "commit", "--quiet", "--allow-empty", "--message", "first"}} {
		c := exec.Command("git", args...)
		c.Env = op.Environ
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	rig := operatortest.Team(t, op, "api", record.PolicySet{})
	s := rig.State()
	enlist := func(name protocol.MemberName, agent string, p *record.Preparation) {
		rig.Enlist(s, name, func(m *teamfile.FileMember) {
			m.Agent, m.Cwd, m.Worktree, m.Prepare, m.Included = agent, dir, true, p, []string{}
			if agent == "mcp" {
				m.Backend = operator.BackendMCP
			}
		})
	}
	old := &record.Preparation{Setup: []string{"npm install"}, Check: "npm test", Path: "/waggle.yaml", File: "1"}
	now := &record.Preparation{Link: []string{".cache"}, Setup: []string{"npm ci"}, Check: "npm run all", Path: "/waggle.yaml", File: "2"}
	enlist("old", "exec", old)
	enlist("client", "mcp", old)
	enlist("now", "exec", now)
	enlist("bare", "exec", &record.Preparation{}) // --no-setup
	read := func(accepted *teamfile.File) (*teamfile.File, string) {
		t.Helper()
		text, err := draft.Team(rig.State(), accepted, dir)
		testenv.Must(t, err)
		f, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return f, text
	}
	parse := func(text string) *teamfile.File {
		t.Helper()
		return testenv.Value(teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(text)))(t)
	}
	prepared := func(what string, f *teamfile.File, text string, want map[string]*record.Preparation) {
		t.Helper()
		for name, p := range want {
			if got := f.Prepared(name); !got.Equal(p) {
				t.Errorf("%s: %s gets %+v\n%s", what, name, got, text)
			}
		}
	}
	f, text := read(parse(draft.Open("api", draft.Facts{Dir: dir})))
	if f.Check == nil || f.Check.Command != now.Check || !f.Prepare.Equal(now) || !strings.Contains(text, "# The check of old was another: \"npm test\"\n") {
		t.Errorf("%+v, %+v\n%s", f.Check, f.Prepare, text)
	}
	none := &record.Preparation{}
	prepared("opened by new", f, text, map[string]*record.Preparation{"old": old, "client": none, "now": now, "bare": none})

	f, text = read(parse("team: api\ncheck: make\nmembers: [{name: old, agent: exec, worktree: true}]\n"))
	if f.Check == nil || f.Check.Command != "make" || f.Prepare != nil || !strings.Contains(text, "\ncheck: make\n") || !strings.Contains(text, "# The check of now was another: \"npm run all\"\n") {
		t.Errorf("%+v, %+v\n%s", f.Check, f.Prepare, text)
	}
	prepared("brought up from a file", f, text, map[string]*record.Preparation{"old": none, "client": none, "now": now, "bare": none})
}
