package testenv

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
)

// program is waggle as people have it: static, which the relay of a sandbox must be, and smaller
// than a test binary. A test binary builds it once.
var program = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "waggle-program")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "waggle")
	cmd := exec.Command("go", "build", "-o", path, "waggle/cmd/waggle")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	return os.ReadFile(path)
})

// Program writes waggle, as people have it, to a file, in a directory that is made.
func Program(path string) error {
	data, err := program()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return Executable(path, data)
}

// Executable writes a program that a test runs, by WriteFile.
func Executable(path string, data []byte) error { return WriteFile(path, data, 0o755) }

// WriteFile is os.WriteFile for a file that may be run. A process that is forked while the file is open for writing holds
// it open until it has exec'd, and the file cannot be run until then ("text file busy"): no process of this one is
// forked meanwhile.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, mode)
}
