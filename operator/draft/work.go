package draft

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/fs/realpath"
	"waggle/internal/pattern"
)

// mostWork bounds the rules for what one project's agents do.
const mostWork = 30

// work are the rules for what a coding agent does in a worktree of its own beside the checks: build, format and lint
// by the commands that the project names, and commit on its branch.
func (f Facts) work() (rules []string) {
	if f.has("go.mod") {
		rules = append(rules, "go build ./...", "go build -v ./...", "go build .", "go mod tidy")
		for _, name := range f.mains() {
			rules = append(rules, "go build ./cmd/"+name, "go run ./cmd/"+name+":*")
		}
	}
	if f.has("package.json") {
		rules = append(rules, f.node()...)
	}
	if f.has(python...) {
		rules = append(rules, "python -m pytest:*", "pytest:*")
		for _, tool := range f.pythonTools() {
			rules = append(rules, tool+":*", "python3 -m "+tool+":*")
		}
	}
	if f.has("Cargo.toml") {
		rules = append(rules, "cargo build:*", "cargo check:*", "cargo clippy:*", "cargo fmt:*")
	}
	if f.has("Makefile") {
		for _, target := range []string{"build", "lint", "check", "fmt", "format", "all"} {
			if f.target(target) {
				rules = append(rules, "make "+target)
			}
		}
	}
	if len(rules) > mostWork {
		rules = rules[:mostWork]
	}
	return append(rules, "git add:*", "git commit:*")
}

// mostMains bounds the main packages that have rules.
const mostMains = 5

// mains are the directories of main packages below cmd, without those that seem to do more than a build.
func (f Facts) mains() (names []string) {
	entries, err := os.ReadDir(filepath.Join(f.Dir, "cmd"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if plainName().MatchString(e.Name()) && !reachesOut().MatchString(e.Name()) && len(f.read("cmd/"+e.Name()+"/main.go")) > 0 && len(names) < mostMains {
			names = append(names, e.Name())
		}
	}
	return names
}

// mostRead bounds what is read of a file of the project.
const mostRead = 1 << 20

// read returns a file of the directory, nothing where it is none, is too large, or leads through a link.
func (f Facts) read(name string) []byte {
	dir, err := filepath.EvalSymlinks(f.Dir)
	if err != nil {
		return nil
	}
	data, err := realpath.ReadFile(filepath.Join(dir, name), mostRead)
	if err != nil {
		return nil
	}
	return data
}

// reachesOut matches names and texts of what does more than look at the project.
var reachesOut = pattern.New(`(?i)(deploy|publish|release|push|upload|curl|wget|ssh|scp|rsync|sudo|docker|kubectl|helm|terraform|pulumi|heroku|vercel|netlify|fly|aws|gcloud|\baz\b|\bgh\b|install)`)

// plainName reports a name that is one plain word of a shell.
var plainName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$`)

// buildScript matches the names of scripts that build, test or look at the project: build, test:unit, lint.
var buildScript = pattern.New(`^(build|test|lint|check|typecheck|type-check|format|fmt|compile)([:_-][A-Za-z0-9:_-]{1,40})?$`)

// nodeTools are the programs of packages that build, test or look at a project.
// Where one is not installed yet, npx fetches the package of this name, so that the program has the name of its package.
var nodeTools = []string{"ava", "eslint", "jest", "mocha", "oxlint", "prettier", "vitest"}

// node are the rules for the scripts and the tools that package.json names. A file that cannot be read names none.
func (f Facts) node() []string {
	var p struct {
		Scripts map[string]string `json:"scripts"`
		Tools   map[string]string `json:"devDependencies"`
		Uses    map[string]string `json:"dependencies"`
	}
	if json.Unmarshal(f.read("package.json"), &p) != nil {
		return nil
	}
	manager, rules := "npm", []string{}
	for _, lock := range []struct{ file, manager string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if f.has(lock.file) {
			manager = lock.manager
		}
	}
	if manager != "npm" {
		rules = append(rules, manager+" test", manager+" test --:*")
	} else {
		rules = append(rules, "npm test --:*")
		if f.has("package-lock.json") {
			rules = append(rules, "npm ci") // what the lock file names, and a new worktree lacks
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Scripts)) {
		if buildScript().MatchString(name) && name != "test" && !reachesOut().MatchString(name) && !reachesOut().MatchString(p.Scripts[name]) {
			rules = append(rules, manager+" run "+name, manager+" run "+name+" --:*") // options before -- are the manager's
		}
	}
	for _, name := range nodeTools {
		if p.Tools[name] != "" || p.Uses[name] != "" {
			rules = append(rules, "npx "+name+":*")
		}
	}
	return rules
}

// pythonTools are the formatters and checkers that the project has settings for.
func (f Facts) pythonTools() (tools []string) {
	lines := strings.Split(string(f.read("pyproject.toml")), "\n")
	for _, t := range []struct{ name, file string }{{"ruff", "ruff.toml"}, {"mypy", "mypy.ini"}, {"black", ""}, {"isort", ""}, {"pyright", "pyrightconfig.json"}} {
		set := slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "[tool."+t.name+"]") || strings.HasPrefix(l, "[tool."+t.name+".")
		})
		if set || t.file != "" && f.has(t.file) {
			tools = append(tools, t.name)
		}
	}
	return tools
}
