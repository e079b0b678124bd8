//go:build unix

package atomicfile_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

func makeFIFO(t *testing.T, dir string) string {
	p := filepath.Join(dir, "fifo.json")
	must(t, syscall.Mkfifo(p, 0o600))
	return p
}
