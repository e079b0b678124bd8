package confine

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waggle/internal/sandbox"
	"waggle/spawn"
)

// What a deny rule with a wildcard can mask.
const (
	deniedSearch = 50_000 // files that are looked at
	deniedFound  = 200    // that are masked
)

// systemRoots are the directories without which no command starts: a rule that names one as a whole masks
// nothing.
var systemRoots = []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var/tmp"}

// masked is the profile of one command in dir: what a deny rule for Read names cannot be read either, and what
// one for edits names in the member's own directories cannot be changed. A rule without a path names a
// tool alone.
func (m *Member) masked(p sandbox.Profile, dir string) (sandbox.Profile, error) {
	if m.c.Denied == nil {
		return p, nil
	}
	var unread, unchanged []string
	for _, r := range m.c.Denied() {
		switch r.Tool {
		case "Read":
			unread = append(unread, m.named(r.Pattern, dir)...)
		case "Edit", "MultiEdit", "NotebookEdit", "Write":
			unchanged = append(unchanged, m.named(r.Pattern, dir)...)
		}
	}
	p.Secrets = slices.Concat(p.Secrets, unread)
	granted := expand(m.c.Want.Readable, spawn.Getenv(m.c.Environ, "HOME"))
	p.Readable = slices.DeleteFunc(slices.Clone(p.Readable), func(path string) bool {
		return slices.Contains(unread, path) && slices.Contains(granted, path)
	})
	if len(unchanged) == 0 {
		return p, nil
	}
	// Read-only is more than what is masked has: it is for what could be changed.
	resolved, machine, err := sandbox.Look(p, m.box.Level)
	if err != nil {
		return p, err
	}
	p.ReadOnly = slices.Clone(p.ReadOnly)
	for _, path := range unchanged {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real != path || slices.Contains(resolved.Writable, path) {
			continue // none, or a link that the member has made
		}
		if access, _, err := resolved.AccessTo(machine, path); err != nil {
			return p, err
		} else if access == sandbox.Write {
			p.ReadOnly = append(p.ReadOnly, path)
		}
	}
	return p, nil
}

// named lists the files and directories that a rule's pattern names for a command in dir, outside of the
// member's own git directory, which git reads. Those of a pattern with a wildcard are the ones that were
// there when a command first had the rule.
func (m *Member) named(pattern, dir string) []string {
	if pattern == "" {
		return nil
	}
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(quoted.Replace(dir), pattern)
	}
	base, rest := doublestar.SplitPattern(pattern)
	if base = filepath.Clean(base); rest == "**" {
		pattern, rest = base, ""
	}
	if !strings.ContainsAny(rest, `*?[{\`) {
		return m.maskable(filepath.Join(base, rest))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.found[pattern]; ok {
		return found
	}
	var found []string
	looked := 0
	err := filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if looked++; looked > deniedSearch || len(found) > deniedFound {
			return fs.SkipAll
		}
		if err != nil || !doublestar.MatchUnvalidated(pattern, path) {
			return nil // what this user cannot list the member cannot either
		}
		if found = append(found, m.maskable(path)...); e.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || looked > deniedSearch || len(found) > deniedFound {
		m.log.Warn("a deny rule names more files than a sandbox masks: some are held by the rule alone", "rule", pattern, "masked", len(found), "err", err)
	}
	if m.found == nil {
		m.found = map[string][]string{}
	}
	m.found[pattern] = found
	return found
}

// quoted makes a path a pattern for itself.
var quoted = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// maskable is the path, unless a sandbox without it would start nothing.
func (m *Member) maskable(path string) []string {
	git := filepath.Join(m.c.Tree, ".git")
	if slices.Contains(systemRoots, path) || path == git || strings.HasPrefix(path, git+"/") {
		return nil
	}
	return []string{path}
}
