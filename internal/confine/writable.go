package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waggle/internal/fs/realpath"
	"waggle/internal/sandbox"
)

// errWritable means that a path of `writable` is none that members may change. The member does not start, in any
// mode: what another member left there, a link, must not lead to less.
var errWritable = errors.New("writable")

// agentNames are entries by which other programs run what they say.
var agentNames = []string{".git", ".claude", ".codex", ".gemini", ".mcp.json"}

// granted adds the paths of the block that its commands may change outside of its tree.
func (m *Member) granted(p *sandbox.Profile, home string) error {
	own := slices.Clone(p.Writable)
	for _, path := range expand(m.c.Want.Writable, home) {
		if slices.ContainsFunc(own, func(dir string) bool { return realpath.Within(dir, path) }) {
			continue // the member's already: what is there may be a link of its own
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil:
			err = fmt.Errorf("is not there: make it, or take it out of the team file (%w)", err)
		case real != path:
			err = fmt.Errorf("is a link, or below one: name what it leads to, %s", real)
		default:
			err = m.grantable(path, home, m.kept(p))
		}
		below := programs{left: programsSearch}
		if err == nil {
			err = below.find(path, 0)
		}
		if err != nil {
			return fmt.Errorf("%w: %s %w", errWritable, path, err)
		}
		p.Writable, p.ReadOnly = append(p.Writable, path), append(p.ReadOnly, below.found...)
	}
	return nil
}

// How far below a path of `writable` programs looks.
const (
	programsDepth  = 4       // directories
	programsSearch = 100_000 // entries
	programsFound  = 200
)

// programs finds what other programs run by in a directory that is granted as a whole: repositories and agents' settings.
// A member cannot move them deeper: they become mounts.
type programs struct {
	left  int // entries that may be looked at
	found []string
}

var errMany = fmt.Errorf("holds more than can be looked through for repositories (%d entries to a depth of %d, %d repositories): "+
	"name the directories in it that members need", programsSearch, programsDepth, programsFound)

func (s *programs) find(dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	bare := bareRepository(entries)
	switch {
	case depth == 0 && errors.Is(err, syscall.ENOTDIR):
		return nil // a file
	case depth == 0 && err != nil:
		return err
	case depth == 0 && bare:
		return errors.New("is a repository, whose hooks other programs run")
	case err != nil, bare: // the member could list it after a chmod
		s.found = append(s.found, dir)
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if slices.Contains(agentNames, e.Name()) {
			s.found = append(s.found, path)
		} else if e.IsDir() && depth < programsDepth {
			if err := s.find(path, depth+1); err != nil {
				return err
			}
		}
		if s.left--; s.left < 0 || len(s.found) > programsFound {
			return errMany
		}
	}
	return nil
}

// bareRepository reports whether a directory with these entries is a git directory.
func bareRepository(entries []os.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	}
	return has("HEAD") && has("objects") && has("refs")
}

// cached adds the directories of the granted caches, and makes them, where what the person's variables and links lead
// to may be granted. A link that the member made is not followed: its own directories are its already.
func (m *Member) cached(p *sandbox.Profile, home string) error {
	for _, dir := range m.caches(home) {
		real, kept := resolved(dir), m.kept(p)
		if slices.ContainsFunc(p.Writable, func(own string) bool { return realpath.Within(own, dir) || realpath.Within(own, real) }) {
			continue
		}
		if err := m.grantable(real, home, kept); err != nil {
			m.log.Warn("a cache is not granted", "directory", dir, "why", err)
			continue
		}
		if err := os.MkdirAll(real, 0o755); err != nil {
			return fmt.Errorf("a directory that its commands may change: %w", err)
		}
		p.Writable = append(p.Writable, real)
	}
	return nil
}

// astray returns an error when a link in the tree's path leads to a secret or the home directory: another member
// whose tree holds it may have put it there.
func (m *Member) astray(secrets []string, home string) error {
	real := resolved(m.c.Tree)
	if err := m.moved(real); err != nil || real == m.c.Tree {
		return err
	}
	if slices.ContainsFunc(secrets, func(s string) bool { return realpath.Within(resolved(s), real) }) ||
		home != "" && realpath.Within(real, resolved(home)) && !realpath.Within(m.c.Tree, home) {
		return fmt.Errorf("%w: a link in %s leads to %s", sandbox.ErrTree, m.c.Tree, real)
	}
	return nil
}

// moved returns an error when the tree, which is real without links, is not where it was when the member joined: a
// command, of the member or of another one, may have put a link in its path.
func (m *Member) moved(real string) error {
	if m.c.Real == "" || real == m.c.Real {
		return nil
	}
	return fmt.Errorf("%w: a link leads the member's directory %s to %s, and it was %s when the member joined: its commands are not let in; "+
		"put the directory back, or end the member and make another one there", sandbox.ErrTree, m.c.Tree, real, m.c.Real)
}

// kept are what members do not change: secrets, what is hidden from them, and what decides over the member.
func (m *Member) kept(p *sandbox.Profile) []string {
	return slices.Concat(p.Secrets, p.Hidden, m.c.Guarded, m.c.Lent, []string{m.c.Own})
}

// grantable returns why members may not change a path without links: it would hold, or lie in, what decides over the
// member, what cannot be read, or what other programs run. kept are such paths.
func (m *Member) grantable(path, home string, kept []string) error {
	switch {
	case slices.Contains(systemRoots, path) || slices.ContainsFunc([]string{"/dev", "/proc", "/run", "/sys"}, func(dir string) bool { return realpath.Within(dir, path) }):
		return errors.New("is the system's")
	case home != "" && realpath.Within(path, resolved(home)):
		return errors.New("is the home directory, or holds it")
	case realpath.Within(path, resolved(m.c.Tree)):
		return errors.New("holds the member's tree")
	}
	for _, part := range strings.Split(path, "/") {
		if slices.Contains(agentNames, part) {
			return fmt.Errorf("is in %s, which other programs run by", part)
		}
	}
	for _, name := range agentNames {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return fmt.Errorf("holds %s, which other programs run by", name)
		}
	}
	for _, k := range kept {
		if k = resolved(k); realpath.Within(k, path) || realpath.Within(path, k) {
			return fmt.Errorf("is, holds or is in %s, which is kept from members", k)
		}
	}
	return nil
}

// resolved is a path without links, as far as it is there.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if dir := filepath.Dir(path); err != nil && dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
	}
	return real
}
