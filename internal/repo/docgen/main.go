// Docgen writes what the documents take from the code: the marked sections of the
// pages that are listed below (see package section) and the manual pages in docs/man.
// What it writes depends on the code alone, so continuous integration runs it and
// wants no difference.
//
//	go -C internal/repo run ./docgen // go generate . calls it
//
// A page that wants a section holds its markers; the names are in sections.go.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/repo/docgen/section"
)

// top is the top of the repository, from the directory of this module.
const top = "../.."

// pages are where sections may be, from the top of the repository.
var pages = []string{"SECURITY.md", "docs/commands.md", "docs/guide/run.md", "docs/kinds.md", "docs/design/machines.md"}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run() error {
	root := cli.Root(&app.App{})
	if err := writePages(root); err != nil {
		return err
	}
	return writeManual(filepath.Join(top, "docs", "man"), root)
}

func writePages(root *cobra.Command) error {
	for _, page := range pages {
		path := filepath.Join(top, page)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out, err := section.Fill(string(data), func(name, _ string) (string, error) {
			fn, ok := sections[name]
			if !ok {
				return "", errors.New("docgen knows no such section")
			}
			return fn(root)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := write(path, out); err != nil {
			return err
		}
	}
	return nil
}

// writeManual writes one page a command and removes those of commands that are
// no more.
func writeManual(dir string, root *cobra.Command) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pages := manual(root)
	for name, text := range pages {
		if err := write(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(slices.Values(old)) {
		if _, ok := pages[filepath.Base(path)]; !ok {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// write leaves a file alone that is as it should be.
func write(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
