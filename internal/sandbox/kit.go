package sandbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Kit has the programs and files from which the sandboxes of one member are built.
type Kit struct {
	Dir   string // private, on disk
	Doors string // a private directory with a short name for the sockets of calls; "": Dir
	Bwrap string // "": there is none
	Relay string // the program that runs inside
	Blank string // an empty file without permissions, mounted over hidden files
}

// NewKit creates the private directory dir and a kit in it. It copies program there, the static
// binary whose main calls relay.Main, so that the relay remains when the program is replaced or
// deleted while a member runs, as go run does.
func NewKit(dir, program string) (Kit, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Kit{}, fmt.Errorf("sandbox: %w", err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Kit{}, fmt.Errorf("sandbox: %w", err)
	}
	k := Kit{Dir: dir, Relay: filepath.Join(real, "relay")}
	if err := checkStatic(program); err != nil {
		return Kit{}, err
	}
	if err := copyProgram(k.Relay, program); err != nil {
		return Kit{}, fmt.Errorf("sandbox: copy the relay: %w", err)
	}
	return k.complete()
}

// complete finds bubblewrap and creates the other parts of a kit.
func (k Kit) complete() (Kit, error) {
	k.Blank = filepath.Join(k.Dir, "unreadable")
	if err := os.WriteFile(k.Blank, nil, 0o000); err != nil && !errors.Is(err, os.ErrPermission) {
		return Kit{}, fmt.Errorf("sandbox: %w", err)
	}
	path, err := exec.LookPath("bwrap")
	if err == nil {
		k.Bwrap, err = filepath.Abs(path)
	}
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return Kit{}, fmt.Errorf("sandbox: bubblewrap: %w", err)
	}
	return k, nil
}

// checkStatic refuses a program that needs a dynamic loader: its libraries may be missing inside
// the sandbox.
func checkStatic(program string) error {
	if runtime.GOOS != "linux" {
		return nil // macOS: the sandbox has the same file system
	}
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("sandbox: %s is no program of this system: %w", program, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("sandbox: %s is linked dynamically; build it with CGO_ENABLED=0", program)
		}
	}
	return nil
}

// copyProgram writes a temporary file and renames it: a copy that runs is not changed.
func copyProgram(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.CreateTemp(filepath.Dir(to), ".relay-*")
	if err != nil {
		return err
	}
	defer os.Remove(dst.Name()) // after the rename there is nothing to remove
	_, err = io.Copy(dst, src)
	err = errors.Join(err, dst.Chmod(0o500), dst.Close())
	if err != nil {
		return err
	}
	return os.Rename(dst.Name(), to)
}
