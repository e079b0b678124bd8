package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tree makes files, directories (name/) and links (name -> to) below a root, which {T} stands for. A file holds "old".
func Tree(t testing.TB, root string, entries ...string) {
	t.Helper()
	for _, e := range entries {
		name, to, link := strings.Cut(strings.ReplaceAll(e, "{T}", root), " -> ")
		at := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(to, at)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(at, 0o700)
		default:
			err = os.WriteFile(at, []byte("old"), 0o600)
		}
		Must(t, err)
	}
}
