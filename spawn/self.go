package spawn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Self returns the path of the running program to record for later: in settings, and in the command lines of
// processes that start it again. Where a link leads to the program's file, that is the path by which it was called, or
// else that the PATH of env has for its name: a package manager keeps each version in a directory of its own behind such
// a link, and removes the old one. Otherwise it is the path of the file.
func Self(env []string) (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own binary: %w", err)
	}
	own, err := os.Stat(file)
	if err != nil {
		return file, nil // it was removed, as go run does
	}
	for _, name := range []string{os.Args[0], filepath.Base(file)} {
		path, err := LookPath(name, env)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || real == path || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/dev/fd/") {
			continue // those two name this process only
		}
		if at, err := os.Stat(real); err == nil && os.SameFile(at, own) {
			return path, nil
		}
	}
	return file, nil
}
