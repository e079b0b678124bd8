package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SetAside moves what lies at path into dir, under its name and the time, and returns
// where it is. It is moved as it is, whatever it is: nothing is opened and no link is
// followed. Where dir cannot be made, or is on another file system, it stays beside path,
// under that name.
// What is gone already is no error, and has no place.
func SetAside(path, dir string, now time.Time) (place string, err error) {
	places := []string{dir, filepath.Dir(path)}
	if os.MkdirAll(dir, 0o700) != nil {
		places = places[1:]
	}
	name := filepath.Base(path) + "-" + now.UTC().Format("20060102T150405.000Z")
	for _, in := range places {
		place = filepath.Join(in, name)
		for n := 2; there(place); n++ {
			place = filepath.Join(in, fmt.Sprintf("%s-%d", name, n))
		}
		if err = Rename(path, place); err == nil {
			return place, nil
		}
		if errors.Is(err, fs.ErrNotExist) && !there(path) {
			return "", nil
		}
	}
	return "", fmt.Errorf("set aside: %w", err)
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
