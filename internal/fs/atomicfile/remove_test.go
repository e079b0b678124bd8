package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waggle/internal/fs/atomicfile"
)

// TestRemove: Remove removes a file that is still the identified one. Another file, one that cannot be
// identified and one that cannot be removed stay, and the last two are errors.
func TestRemove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	identified := func() atomicfile.Identity {
		t.Helper()
		must(t, os.WriteFile(path, []byte("x"), 0o600))
		id, err := atomicfile.Identify(path)
		must(t, err)
		return id
	}
	is := func(what string, removed, want bool, err error, why string) {
		t.Helper()
		if removed != want || (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: removed %v, %v; want %v, %q", what, removed, err, want, why)
		}
	}
	id := identified()
	must(t, os.WriteFile(filepath.Join(dir, ".x.shadow"), []byte("older"), 0o600))
	removed, err := atomicfile.Remove(path, id, atomicfile.Options{Sync: atomicfile.SyncFull})
	is("a file", removed, true, err, "")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	removed, err = atomicfile.Remove(path, id, atomicfile.Options{})
	is("a file that is gone", removed, true, err, "")

	id = identified()
	must(t, os.WriteFile(path, []byte("longer"), 0o600))
	removed, err = atomicfile.Remove(path, id, atomicfile.Options{})
	is("another file", removed, false, err, "")
	holds(t, path, "longer")
	removed, err = atomicfile.Remove(path+"/below", id, atomicfile.Options{})
	is("what is below a file", removed, false, err, "remove: ")
	if errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v says that it is gone", err)
	}
	id = identified()
	removed, err = atomicfile.Remove(path, id, atomicfile.Options{Hook: func(step string) {
		if step == "checked" {
			must(t, os.Remove(path))
			must(t, os.MkdirAll(filepath.Join(path, "full"), 0o700))
		}
	}})
	is("a directory in its place", removed, false, err, "remove: ")
}
