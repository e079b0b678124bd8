package teamfile

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"waggle/agent"
	"waggle/internal/fs/worktree"
	"waggle/record"
)

// yamlPreparation is what worktrees get.
type yamlPreparation struct {
	Copy  []string `yaml:"copy"`
	Link  []string `yaml:"link"`
	Setup []string `yaml:"setup"`
}

// yamlWorktree is true, false, or what the worktree gets.
type yamlWorktree struct {
	*yamlPreparation // nil: the team's
	is               bool
}

// UnmarshalYAML reads {copy, link, setup} or a truth value alone.
func (w *yamlWorktree) UnmarshalYAML(n ast.Node) error {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		w.is = n.Value
		return nil
	}
	w.is, w.yamlPreparation = true, &yamlPreparation{}
	return yaml.NodeToValue(n, w.yamlPreparation, yaml.Strict())
}

// worktree reads whether a member has a worktree, and what that gets: what its own mapping says, else
// what the team's does. Nothing is started for an MCP client, so the team's is not for it.
func (c *checker) worktree(f *File, at string, m *FileMember, y yamlWorktree) {
	m.Worktree = y.is
	switch {
	case y.yamlPreparation != nil:
		m.Prepare = c.preparation(at+".worktree", *y.yamlPreparation)
		if m.Agent == agent.KindMCP && len(y.Setup) > 0 {
			c.bad(at+".worktree.setup", "nothing is started for agent %s, so no setup runs before it", agent.KindMCP)
		}
	case y.is && m.Agent != agent.KindMCP:
		m.Prepare = f.Prepare
	}
}

// preparation reads what worktrees get.
func (c *checker) preparation(at string, y yamlPreparation) *record.Preparation {
	for key, paths := range map[string][]string{"copy": y.Copy, "link": y.Link} {
		for i, p := range paths {
			if err := checkInside(p); err != nil {
				c.bad(fmt.Sprintf("%s.%s[%d]", at, key, i), "%v", err)
			}
		}
	}
	for i, text := range y.Setup {
		if strings.TrimSpace(text) == "" {
			c.bad(fmt.Sprintf("%s.setup[%d]", at, i), "a command is not empty")
		}
	}
	return &record.Preparation{Copy: y.Copy, Link: y.Link, Setup: y.Setup}
}

// checkInside checks a path of a checkout: below its top level, and not of git.
func checkInside(p string) error {
	first, _, _ := strings.Cut(filepath.ToSlash(filepath.Clean(p)), "/")
	switch {
	case !filepath.IsLocal(p) || filepath.Clean(p) == ".":
		return fmt.Errorf("%q is not a path below the top level of the checkout", p)
	case strings.EqualFold(first, ".git"):
		return fmt.Errorf("%q is a file of git", p)
	}
	return nil
}

// Prepared is the preparation of a member of the file, the zero value when the file has none.
func (f *File) Prepared(name string) record.Preparation {
	i := slices.IndexFunc(f.Members, func(m FileMember) bool { return string(m.Name) == name })
	if i < 0 || f.Members[i].Prepare == nil {
		return record.Preparation{}
	}
	return *f.Members[i].Prepare
}

// Include looks up which files .worktreeinclude names for each member with a worktree, to show them
// before the operator consents. A checkout that git cannot read has none: that is an error later,
// when the worktree is made.
func (f *File) Include(ctx context.Context, environ []string) {
	g, err := worktree.Find(environ)
	if err != nil {
		return
	}
	for i := range f.Members {
		if m := &f.Members[i]; m.Worktree {
			m.Included, _ = g.Included(ctx, m.Cwd)
			m.Included = append([]string{}, m.Included...)
		}
	}
}
