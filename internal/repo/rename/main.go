// Rename gives this repository another module path:
//
//	go -C internal/repo run ./rename example.com/you/waggle
//
// It changes go.mod of the core and of the further modules, the imports, and every
// mention of a package by its path in code, documents and scripts. What only looks like
// a path stays: names of branches and files, and the words that go into digests and
// journals. Renaming back gives the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rename MODULE")
		os.Exit(2)
	}
	changed, err := rename("../..", os.Args[1]) // from the directory of this module
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files name %s now. Next: go generate ./... && go test ./...\n", changed, os.Args[1])
}

// rename changes the module path of the repository at root and returns how many files
// have changed. Nothing is written before every file was read.
func rename(root, to string) (int, error) {
	if err := checkPath(to); err != nil {
		return 0, err
	}
	from, err := modulePath(root)
	if err != nil {
		return 0, err
	}
	if from == to {
		return 0, fmt.Errorf("the module path is %s already", to)
	}
	files, err := repositoryFiles(root)
	if err != nil {
		return 0, err
	}
	p := paths{from: from, to: to, packages: packagesOf(root, files)}
	changed := map[string][]byte{}
	for _, name := range files {
		old, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		now, err := p.file(name, old)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if string(now) != string(old) {
			changed[name] = now
		}
	}
	for name, now := range changed {
		st, err := os.Stat(name)
		if err == nil {
			err = os.WriteFile(name, now, st.Mode().Perm())
		}
		if err != nil {
			return 0, fmt.Errorf("%w; the rest has changed: git restore . and try again", err)
		}
	}
	return len(changed), nil
}

// checkPath refuses what cannot be a module path.
func checkPath(path string) error {
	for _, part := range strings.Split(path, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") {
			return fmt.Errorf("%q is not a module path: example.com/you/waggle is one", path)
		}
		for _, r := range part {
			if !letter(byte(r)) || r > 127 || r == '$' {
				return fmt.Errorf("%q is not a module path: %q cannot be in it", path, r)
			}
		}
	}
	return nil
}

// modulePath reads the module path in root's go.mod.
func modulePath(root string) (string, error) {
	b, err := os.ReadFile(root + "/go.mod")
	if err != nil {
		return "", fmt.Errorf("%w; run it in internal/repo", err)
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`), nil
		}
	}
	return "", errors.New("go.mod has no module line")
}
