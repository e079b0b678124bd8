package policy

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// GuardedGroup is guarded names with one reason. A name is a file or directory at any depth; of two
// names with a slash the second is directly below the first; * at one end matches the rest of the
// name; HEAD is a file only, by which git takes its directory for a repository. Names are compared without
// regard to case.
type GuardedGroup struct {
	Why   string // for a person: the effect of such a file
	Names []string
}

var guardedGroups = []GuardedGroup{
	{"git: hooks, filters and what attributes run", []string{
		".git", ".gitattributes", ".gitmodules", ".gitconfig", ".config/git", ".husky", ".githooks", ".git-hooks",
		".hooks", ".lefthook", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".pre-commit-config.yaml", "HEAD"}},
	{"CI: what a server runs", []string{
		".github/workflows", ".github/actions", ".gitlab-ci.yml", ".gitlab-ci", ".gitlab", ".circleci", "Jenkinsfile", ".jenkins",
		"azure-pipelines.yml", "azure-pipelines.yaml", ".azure-pipelines", "bitbucket-pipelines.yml", ".ci", ".buildkite", ".drone.yml", ".drone.star",
		".travis.yml", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".forgejo", ".gitea", ".cirrus.yml", ".cirrus.star",
		".semaphore", ".teamcity", "appveyor.yml", ".appveyor.yml", "buildspec.yml", "cloudbuild.yaml", "cloudbuild.yml"}},
	{"editors and tools that run what they find in a directory", []string{
		".vscode", ".idea", ".vs", ".fleet", ".zed", "*.code-workspace", ".devcontainer", ".devcontainer.json", ".exrc", ".vimrc", ".gvimrc",
		".nvimrc", ".nvim.lua", ".config/nvim", ".vim", ".emacs", ".emacs.d", ".dir-locals.el", ".dir-locals-2.el",
		".envrc", ".direnv", ".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".config/mise"}},
	{"instructions and settings of agents", []string{
		"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "AGENT.md", "GEMINI.md", "QWEN.md", ".claude", ".claude.json", ".mcp.json",
		".codex", ".gemini", ".qwen", ".cursor", ".cursorrules", ".windsurf", ".windsurfrules", ".aider*", ".clinerules", ".roo", ".roorules",
		".continue", ".goosehints", ".opencode", "opencode.json", "opencode.jsonc", ".kiro", ".junie", ".amp", ".agents",
		".github/copilot-instructions.md", ".github/instructions", ".github/prompts", ".github/chatmodes", ".github/agents"}},
	{"what a shell or a session starts", []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".config/fish", ".config/nushell",
		".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", ".config/autostart", ".config/systemd", ".config/environment.d",
		"LaunchAgents", "LaunchDaemons", ".ssh", ".tmux.conf", ".config/tmux", ".screenrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".cargo", ".gdbinit", ".lldbinit"}},
	{"the rules of a team", []string{"waggle.yaml", "waggle.yml"}},
}

// guardedNames are the names in lower case, and their parts.
var guardedNames = sync.OnceValue(func() (all []guardedName) {
	for _, g := range guardedGroups {
		for _, n := range g.Names {
			n = strings.ToLower(n)
			all = append(all, guardedName{n, strings.Split(n, "/")})
		}
	}
	return all
})

type guardedName struct {
	name  string
	parts []string
}

// GuardedGroups are the file and directory names, at any depth, that acceptEdits does not edit
// silently and that a wildcard in an allow rule for edits does not match, with the reasons, as
// people write the names: such files are later run as code or set rules. Call.Guarded adds the
// paths of one call. Documents are generated from GuardedGroups.
func GuardedGroups() []GuardedGroup {
	all := slices.Clone(guardedGroups)
	for i := range all {
		all[i].Names = slices.Clone(all[i].Names)
	}
	return all
}

// guardedIn lists the guarded names that a path or pattern holds, as Guarded spells
// them.
func guardedIn(p string) []string {
	segs := strings.Split(strings.ToLower(p), "/")
	for i, s := range segs { // Windows opens .git for ".git .", ".git::$DATA" and git~1
		s, _, _ = strings.Cut(s, ":")
		segs[i] = strings.TrimRight(s, " .")
		if segs[i] == "git~1" {
			segs[i] = ".git"
		}
	}
	segs = slices.DeleteFunc(segs, func(s string) bool { return s == "" })
	var begins [256]bool // most names begin with none of these letters
	for _, s := range segs {
		begins[s[0]] = true
	}
	var found []string
	for _, n := range guardedNames() {
		if first := n.parts[0][0]; (begins[first] || first == '*') && n.in(segs) {
			found = append(found, n.name)
		}
	}
	return found
}

// beginsGuarded reports a path whose last part is the first of a guarded name of two: .github.
func beginsGuarded(p string) bool {
	last := strings.ToLower(path.Base(path.Join("/", p)))
	return slices.ContainsFunc(guardedNames(), func(n guardedName) bool { return len(n.parts) > 1 && n.parts[0] == last })
}

func (n guardedName) in(segs []string) bool {
	if n.name == "head" && len(segs) > 0 {
		segs = segs[len(segs)-1:]
	}
	for i := 0; i+len(n.parts) <= len(segs); i++ {
		if slices.EqualFunc(n.parts, segs[i:i+len(n.parts)], sameName) {
			return true
		}
	}
	return false
}

func sameName(want, have string) bool {
	if begin, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(have, begin)
	}
	if end, ok := strings.CutPrefix(want, "*"); ok {
		return strings.HasSuffix(have, end)
	}
	return want == have
}
