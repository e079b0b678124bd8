package draft

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mostWork bounds the rules for what one project's agents do.
const mostWork = 30

// work are the rules for what a coding agent does in a worktree of its own beside the checks: build, format and lint
// by the commands that the project names, and commit on its branch.
func (f Facts) work() (rules []string) {
	if f.has("go.mod") {
		rules = append(rules, "go build:*", "go mod tidy", "go mod tidy -v")
		mains, _ := filepath.Glob(filepath.Join(f.Dir, "cmd", "*", "main.go")) // the pattern is right
		for _, m := range mains[:min(len(mains), 5)] {
			if name := filepath.Base(filepath.Dir(m)); plainName(name) {
				rules = append(rules, "go run ./cmd/"+name+":*")
			}
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
	return append(rules, "git add:*", "git commit:*", "git mv:*", "git rm:*")
}

// plainName reports a name that is one plain word of a shell.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$`).MatchString

// buildScript matches the names of scripts that build, test or look at the project: build, test:unit, lint.
var buildScript = regexp.MustCompile(`^(build|test|lint|check|typecheck|type-check|format|fmt|compile)([:_-][A-Za-z0-9:_-]{1,40})?$`).MatchString

// nodeTools are the programs of packages that build, test or look at a project.
var nodeTools = map[string]string{"typescript": "tsc", "vitest": "vitest", "jest": "jest", "mocha": "mocha", "ava": "ava",
	"eslint": "eslint", "prettier": "prettier", "@biomejs/biome": "biome", "oxlint": "oxlint"}

// node are the rules for the scripts and the tools that package.json names. A file that cannot be read names none.
func (f Facts) node() (rules []string) {
	var p struct {
		Scripts map[string]string `json:"scripts"`
		Tools   map[string]string `json:"devDependencies"`
		Uses    map[string]string `json:"dependencies"`
	}
	data, err := os.ReadFile(filepath.Join(f.Dir, "package.json"))
	if err != nil || json.Unmarshal(data, &p) != nil {
		return nil
	}
	manager := "npm"
	for _, lock := range []struct{ file, manager string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"}} {
		if _, err := os.Stat(filepath.Join(f.Dir, lock.file)); err == nil {
			manager = lock.manager
		}
	}
	if manager != "npm" {
		rules = append(rules, manager+" test:*")
	} else if _, err := os.Stat(filepath.Join(f.Dir, "package-lock.json")); err == nil {
		rules = append(rules, "npm ci") // what the lock file names, and a new worktree lacks
	}
	for _, name := range slices.Sorted(maps.Keys(p.Scripts)) {
		if buildScript(name) && name != "test" {
			rules = append(rules, manager+" run "+name+":*")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodeTools)) {
		if p.Tools[name] != "" || p.Uses[name] != "" {
			rules = append(rules, "npx "+nodeTools[name]+":*")
		}
	}
	return rules
}

// pythonTools are the formatters and checkers that the project has settings for.
func (f Facts) pythonTools() (tools []string) {
	data, _ := os.ReadFile(filepath.Join(f.Dir, "pyproject.toml")) // without one there are the tools' own files
	for _, t := range []struct{ name, file string }{{"ruff", "ruff.toml"}, {"mypy", "mypy.ini"}, {"black", ""}, {"isort", ""}, {"pyright", "pyrightconfig.json"}} {
		_, err := os.Stat(filepath.Join(f.Dir, t.file))
		if strings.Contains(string(data), "[tool."+t.name) || t.file != "" && err == nil {
			tools = append(tools, t.name)
		}
	}
	return tools
}
