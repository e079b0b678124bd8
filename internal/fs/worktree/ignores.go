package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"waggle/spawn"
)

// ignores is what the repository's checkouts ignore by no file of their own: by the person's file of
// patterns (core.excludesFile), and by the repository's info/exclude, which comes later and wins.
func (g Git) ignores(ctx context.Context, common string) (string, error) {
	usual := "~/.config/git/ignore"
	if dir := spawn.Getenv(g.Environ, "XDG_CONFIG_HOME"); dir != "" {
		usual = filepath.Join(dir, "git", "ignore")
	}
	person := Git{Program: g.Program, Environ: g.Environ, Limit: g.Limit} // with the person's configuration
	persons, err := person.of(common).line(ctx, common, "config", "--type=path", "--default", usual, "--get", "core.excludesFile")
	if err != nil && exit(err) < 0 {
		return "", err // else there is no home directory
	}
	var all strings.Builder
	for _, path := range []string{persons, filepath.Join(common, "info", "exclude")} {
		b, err := os.ReadFile(path)
		switch {
		case path == "" || errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		case err != nil:
			return "", fmt.Errorf("worktree: what git ignores: %w", err)
		default:
			all.Write(b)
			all.WriteString("\n")
		}
	}
	return all.String(), nil
}

// ignore makes a git directory ignore what the repository's checkouts ignore.
func (g Git) ignore(ctx context.Context, common, gitDir string) error {
	text, err := g.ignores(ctx, common)
	if err == nil {
		err = os.MkdirAll(filepath.Join(gitDir, "info"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(gitDir, "info", "exclude"), []byte(text), 0o600)
	}
	return wrapped(err)
}
