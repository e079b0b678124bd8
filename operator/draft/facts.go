package draft

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/token"

	"waggle/internal/claude/claudeaccount"
	"waggle/internal/claude/claudesettings"
	"waggle/internal/fs/gitdir"
	"waggle/policy"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// Facts are what a draft depends on.
type Facts struct {
	Dir    string   // absolute
	Agents []string // coding agents that are installed, by the names of their programs
	// Ceiling is the user's, beyond which no file goes; nil: there is none.
	Ceiling *record.Ceiling

	allowed []string        // rules by which the settings of Claude Code allow shell commands here, the first of them
	builds  map[string]bool // the files of languages that Dir has, or a directory below it
	commits bool            // it is in a git repository with a commit, so that members can have worktrees
}

// KnownAgents are the programs of coding agents that Look looks for. The first can be a member as it
// is (agent claude).
var KnownAgents = []string{"claude", "codex", "gemini", "opencode"}

// Installed are the KnownAgents that are in PATH.
func Installed(environ []string) (names []string) {
	for _, name := range KnownAgents {
		if _, err := spawn.LookPath(name, environ); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// marks are the files by which a language or a tool is known.
var marks = []string{"go.mod", "package.json", "pyproject.toml", "requirements.txt", "setup.py", "Cargo.toml", "Makefile"}

// Look looks at a directory and at the PATH of members' processes.
func Look(dir string, environ []string) Facts {
	f := Facts{Dir: dir, builds: map[string]bool{}}
	if top := gitdir.Top(dir); top != "" {
		f.commits = gitdir.HasCommit(gitdir.Of(top))
	}
	room := mostModules
	f.findBuilds(dir, deepest, &room)
	f.allowed = allowedShell(dir, environ)
	f.Agents = Installed(environ)
	return f
}

// mostAllowed bounds the rules that a draft proposes.
const mostAllowed = 12

// allowedShell are the rules for some shell commands in the user's and the project's settings of Claude Code.
// A file that cannot be read proposes none.
func allowedShell(dir string, environ []string) (rules []string) {
	config := claudeaccount.Of(environ).Config
	if config == "" {
		return nil
	}
	list, _ := claudesettings.SourcesIn(claudesettings.Claude.UserFile(config), dir).Permissions()
	for _, p := range list {
		for _, text := range p.Allow {
			r, err := policy.ParseRule(text)
			if err == nil && r.Tool == "Bash" && r.Pattern != "" && !slices.Contains(rules, r.String()) && len(rules) < mostAllowed {
				rules = append(rules, r.String())
			}
		}
	}
	return rules
}

// has reports whether the directory has one of some files.
func (f Facts) has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		_, err := os.Stat(filepath.Join(f.Dir, n))
		return err == nil
	})
}

// python are the files of a Python project.
var python = []string{"pyproject.toml", "requirements.txt", "setup.py"}

// language is a language or a package manager whose packages a build fetches: its files, its cache, and the public
// hosts that it uses without settings of its own.
type language struct {
	cache string
	files []string
	hosts []string
}

var languages = []language{
	{"cargo", []string{"Cargo.toml"}, []string{"index.crates.io:443", "static.crates.io:443"}},
	{"go", []string{"go.mod", "go.work"}, []string{"proxy.golang.org:443", "sum.golang.org:443"}},
	{"npm", []string{"package.json"}, []string{"registry.npmjs.org:443"}},
	{"pip", python, []string{"pypi.org:443", "files.pythonhosted.org:443"}},
	{"pnpm", []string{"pnpm-lock.yaml"}, nil}, // the hosts are npm's
	{"poetry", []string{"poetry.lock"}, nil},  // pip's
	{"uv", []string{"uv.lock"}, nil},
	{"yarn", []string{"yarn.lock"}, []string{"registry.yarnpkg.com:443"}},
}

// deepest and mostModules bound the directories below a project in which modules are looked for.
const (
	deepest     = 2
	mostModules = 500
)

// notModules are directories of which a build makes or fetches the contents.
var notModules = []string{"build", "dist", "node_modules", "target", "testdata", "third_party", "vendor", "venv"}

// findBuilds looks for the files of languages in a directory, and in those below it: a repository may have several
// modules. room is for how many more directories there is; deep, how far below one may be.
func (f Facts) findBuilds(dir string, deep int, room *int) {
	if *room == 0 {
		return
	}
	*room--
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case !e.IsDir():
			f.builds[name] = f.builds[name] || slices.ContainsFunc(languages, func(l language) bool { return slices.Contains(l.files, name) })
		case deep > 0 && !strings.HasPrefix(name, ".") && !slices.Contains(notModules, name):
			f.findBuilds(filepath.Join(dir, name), deep-1, room)
		}
	}
}

// used are the languages that the directory, or one below it, has.
func (f Facts) used() (list []language) {
	for _, l := range languages {
		if slices.ContainsFunc(l.files, func(n string) bool { return f.builds[n] }) {
			list = append(list, l)
		}
	}
	return list
}

// caches are the build caches of the languages that are used.
func (f Facts) caches() string {
	var names []string
	for _, l := range f.used() {
		names = append(names, l.cache)
	}
	if len(names) == 0 {
		return ""
	}
	return ", caches: [" + strings.Join(names, ", ") + "]"
}

// registries are the hosts of the packages of the languages that are used, without those beyond the ceiling.
func (f Facts) registries() (hosts []string) {
	for _, l := range f.used() {
		hosts = append(hosts, l.hosts...)
	}
	return slices.DeleteFunc(hosts, func(h string) bool {
		name, _, _ := policy.CutPort(h)
		rule := policy.Rule{Tool: "WebFetch", Pattern: "domain:" + name}
		return len(f.Ceiling.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Allow: []policy.Rule{rule}})) > 0
	})
}

// sandboxed is what the file says of calls in a verified sandbox.
func (f Facts) sandboxed() string {
	if len(f.Ceiling.Beyond(policy.Policy{Mode: policy.ModeLockedDown, Sandboxed: true})) > 0 {
		return "ask"
	}
	return "allow"
}

// mode is the mode of members that work in trees of their own: their edits there do not ask, as a person
// looks at them before a merge.
func (f Facts) mode() policy.Mode { return f.Ceiling.Meet(policy.ModeAcceptEdits) }

// TeamName derives the name of a team from a directory's.
func TeamName(dir string) string {
	name := words(filepath.Base(dir), '-')
	if _, err := team.CheckName(name); err != nil {
		return "team"
	}
	return name
}

// scalar writes a name in YAML: in quotes where it would be read as a number or a truth value.
func scalar(name string) string {
	if token.IsNeedQuoted(name) {
		return strconv.Quote(name)
	}
	return name
}

// words keeps the ASCII letters, small, and digits of a text, with one sep for what is between them.
func words(text string, sep rune) string {
	mapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return sep
	}, text)
	return strings.Join(strings.FieldsFunc(mapped, func(r rune) bool { return r == sep }), string(sep))
}
