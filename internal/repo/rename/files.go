package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// repositoryFiles lists the files below root that may name a package: sources everywhere,
// documents and scripts outside testdata.
func repositoryFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "node_modules" || name == filepath.Join(root, "out") || name == filepath.Join(root, "dist") {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && names(filepath.ToSlash(name)) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// names reports whether a file may name a package.
func names(name string) bool {
	switch filepath.Ext(name) {
	case ".go", ".mod":
		return true
	case ".md", ".sh", ".yaml", ".yml":
		return !strings.Contains(name, "/testdata/")
	}
	dir := filepath.Base(filepath.Dir(name))
	return filepath.Base(name) == "Makefile" || dir == ".ci"
}

// packagesOf lists, by path below root, the directories with sources or a go.mod.
func packagesOf(root string, files []string) []string {
	var dirs []string
	for _, name := range files {
		if ext := filepath.Ext(name); ext != ".go" && ext != ".mod" {
			continue
		}
		if dir, err := filepath.Rel(root, filepath.Dir(name)); err == nil && dir != "." {
			dirs = append(dirs, filepath.ToSlash(dir))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
