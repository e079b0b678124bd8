package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// SetAside moves the file at path into dir, under its name and the time, and returns its new path.
// Files of any type are moved unchanged: nothing is opened and no link is followed. When dir cannot
// be made, or is on another file system, the file is moved to that name beside path. When path does
// not exist, SetAside returns "" and no error.
func SetAside(path, dir string, now time.Time) (place string, err error) {
	places := []string{dir, filepath.Dir(path)}
	if os.MkdirAll(dir, 0o700) != nil {
		places = places[1:]
	}
	name := filepath.Base(path) + "-" + now.UTC().Format(stampForm)
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
