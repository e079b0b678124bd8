package cli_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"waggle/internal/install"
)

// installed writes the files of install.sh below a prefix: one program, and the record of it.
func installed(s *shellSession, prefix string) {
	s.t.Helper()
	for name, text := range map[string]string{
		"bin/waggle":       "program",
		install.RecordName: fmt.Sprintf("waggle-install 1\nversion v1\nfile %x bin/waggle\n", sha256.Sum256([]byte("program"))),
	} {
		path := filepath.Join(s.dir, prefix, filepath.FromSlash(name))
		writeFile(s.t, path, text)
	}
}
