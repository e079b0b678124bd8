package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// boxPrefix begins the names of the directories with the runtime files of sandboxes.
const boxPrefix = "box-"

// boxDir is the directory with the runtime files of a member's sandbox. Builds fill it: it is in STATE.
func boxDir(o Options) string { return filepath.Join(o.State.Path, boxName(o)) }

// doorsDir is the directory with the sockets of a member's commands; "": there is none of its own.
func doorsDir(o Options) string {
	if o.Sockets.Dir == "" {
		return ""
	}
	return filepath.Join(o.Sockets.Dir, boxName(o))
}

func boxName(o Options) string { return fmt.Sprintf(boxPrefix+"%.8s", o.Instance) }

// RemoveBoxes removes the runtime files of the sandboxes of killed processes from a team's
// directory. The team must have ended.
func RemoveBoxes(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, boxPrefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, box := range left {
		errs = append(errs, RemoveBox(box))
	}
	return errors.Join(errs...)
}

// RemoveBox removes a directory in which commands may have made directories that cannot be listed.
func RemoveBox(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error { // RemoveAll reports the files that remain
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
