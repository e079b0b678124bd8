package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"waggle/internal/sandbox"
)

// reserve makes the entries at the top of the member's tree that are guarded and do not exist: only what exists can be
// protected, and a command would make them, with settings by which other programs run what it likes. Each is an empty
// directory, which git does not see. Not .git: a command may begin a repository where there is none.
func (m *Member) reserve() error {
	if m.box.Level != sandbox.Enforced {
		return nil
	}
	root, err := os.OpenRoot(m.c.Tree)
	if err != nil {
		return fmt.Errorf("the member's tree: %w", err)
	}
	defer root.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, path := range m.c.Guarded {
		name, err := filepath.Rel(m.c.Tree, path)
		if err != nil || name != filepath.Base(path) || name == ".git" {
			continue // elsewhere, or inside of a directory that exists
		}
		err = root.Mkdir(name, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("keep %s from the member's commands: %w", path, err)
		}
		if err == nil && !slices.Contains(m.reserved, name) {
			m.reserved = append(m.reserved, name)
		}
	}
	return nil
}

// release removes what reserve made and is still empty.
func (m *Member) release() {
	root, err := os.OpenRoot(m.c.Tree)
	if err != nil {
		return // the tree is gone, and they with it
	}
	defer root.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.reserved {
		_ = root.Remove(name) // what somebody has filled stays
	}
	m.reserved = nil
}
