package house_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// unsafeFiles may import unsafe: they call a system that has no other way in.
var unsafeFiles = []string{
	"spawn/identity_windows.go",
	"internal/sandbox/relay/filter_linux.go",   // seccomp
	"internal/sandbox/relay/landlock_linux.go", // Landlock has no functions in x/sys
	"internal/sandbox/relay/signals_linux.go",  // default actions of signals, which os/signal does not set
	"internal/sandbox/relay/probe_linux.go",    // system calls that have to be refused
	"internal/sandbox/corpus_test.go",
	"internal/sandbox/hostile_test.go",
}

// TestNoUnsafe: nothing depends on how values lie in memory.
func TestNoUnsafe(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return nil // a program of testdata that is wrong on purpose
		}
		for _, i := range f.Imports {
			if i.Path.Value == `"unsafe"` && !slices.Contains(unsafeFiles, filepath.ToSlash(path)) {
				t.Errorf("%s imports unsafe", path)
			}
		}
		return nil
	})
	testenv.Must(t, err)
}
