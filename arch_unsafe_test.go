package waggle_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unsafeFiles may import unsafe: they call a system that has no other way in.
var unsafeFiles = []string{"spawn/identity_windows.go"}

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
	if err != nil {
		t.Fatal(err)
	}
}
