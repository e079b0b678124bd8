package spawn

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// ownGroup keeps the child out of the console signals that are meant for us.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// ownTerminal fails: a console is no file that a process can be given.
func ownTerminal() (*syscall.SysProcAttr, error) { return nil, errors.ErrUnsupported }
