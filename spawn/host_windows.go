package spawn

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// ownGroup keeps the child out of the console signals that are meant for us.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// ownTerminal fails: a console is no file that a process can be given.
func ownTerminal() (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }

// OpenLog opens the log for appending. The directory's permissions decide who may read it.
func OpenLog(path string) (*os.File, error) {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}
