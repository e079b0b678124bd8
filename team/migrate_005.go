package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// step005 brings the mail of earlier members from the team's own directory, with
// which it would be deleted, to where KeepIn says. A team without such a place
// keeps it.
var step005 = step{
	version: "1.4.0",
	what:    "keep old mail where it outlives the team",
	files: func(_ context.Context, t *Team, dry bool) ([]string, error) {
		from := filepath.Join(t.root.TeamDir(t.name), archiveName)
		entries, err := os.ReadDir(from)
		if errors.Is(err, fs.ErrNotExist) || t.kept == "" {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		n := 0
		for _, e := range entries {
			if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			n++
			if dry {
				continue
			}
			if err := moveFile(from, t.kept, e.Name()); err != nil {
				return nil, err
			}
		}
		if n == 0 {
			return nil, nil
		}
		if !dry {
			_ = os.Remove(from) // unless something else is in it
		}
		return []string{fmt.Sprintf("%d old mailboxes moved to %s", n, t.kept)}, nil
	},
}

// moveFile moves a file to another directory, perhaps on another file system: it
// is never in neither.
func moveFile(from, to, name string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	ext := filepath.Ext(name)
	target := freePath(filepath.Join(to, strings.TrimSuffix(name, ext)), ext)
	source := filepath.Join(from, name)
	if err := os.Rename(source, target); err == nil || !foreignDevice(err) {
		return err
	}
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(target+".part", data, 0o600); err != nil {
		return err
	}
	return errors.Join(os.Rename(target+".part", target), os.Remove(source))
}
