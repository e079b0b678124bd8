package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

// extras are the files of an archive beside the program.
func extras(root string) ([]entry, error) {
	var all []entry
	for name, mode := range map[string]int64{"install.sh": 0o755, "LICENSE": 0o644, "README.md": 0o644, "CHANGELOG.md": 0o644} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		all = append(all, entry{name, mode, b})
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "man", "*.1"))
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, errors.New("docs/man has no pages: go generate ./... writes them")
	}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{"man/man1/" + filepath.Base(page), 0o644, b})
	}
	complete, err := completions()
	return append(all, complete...), err
}

// completions are written by the command line itself.
func completions() ([]entry, error) {
	var bash, zsh, fish bytes.Buffer
	root := cli.Root(&app.App{})
	err := errors.Join(cli.BashCompletion(root, &bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true))
	return []entry{
		{"completions/waggle.bash", 0o644, bash.Bytes()},
		{"completions/_waggle", 0o644, zsh.Bytes()},
		{"completions/waggle.fish", 0o644, fish.Bytes()},
	}, err
}

// archive writes a .tar.gz with everything below one directory. Names are sorted, and
// times and owners are the same in every archive.
func archive(path, dir string, entries []entry) error {
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: dir + "/" + e.name, Mode: e.mode, Size: int64(len(e.data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), fs.FileMode(0o644))
}
