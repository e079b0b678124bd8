package claudesettings_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/test/testenv"
)

// TestInstalls: Installs names the files with the hooks of one program until they are uninstalled, and
// not those with hooks of another program.
func TestInstalls(t *testing.T) {
	w := newWorld(t)
	if got, err := w.store.Installs(waggle); err != nil || len(got) > 0 {
		t.Fatalf("before the install: %q, %v", got, err)
	}
	w.install()
	real, err := filepath.EvalSymlinks(w.path)
	testenv.Must(t, err)
	if got, err := w.store.Installs(waggle); err != nil || !slices.Equal(got, []string{real}) {
		t.Errorf("%q, %v, want %s", got, err, real)
	}
	codex := w.store
	codex.Client = claudesettings.Codex
	other := filepath.Join(filepath.Dir(w.path), "hooks.json")
	c, err := codex.Install(other, waggle)
	if err == nil {
		err = codex.Apply(context.Background(), c)
	}
	if got, gerr := w.store.Installs(waggle); err != nil || gerr != nil || len(got) != 2 {
		t.Errorf("with another client's: %q, %v, %v", got, err, gerr)
	}
	if c, err = codex.Uninstall(other); err == nil {
		err = codex.Apply(context.Background(), c)
	}
	if _, serr := os.Stat(other); err != nil || !os.IsNotExist(serr) {
		t.Errorf("%v, %v", err, serr)
	}
	if got, err := w.store.Installs(waggle + "2"); err != nil || len(got) > 0 {
		t.Errorf("of another program: %q, %v", got, err)
	}
	linked := newWorld(t)
	bin, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	target, link := filepath.Join(bin, "real"), filepath.Join(bin, "link")
	linked.write(target, "", 0o755)
	if err := os.Symlink(target, link); err == nil {
		c, err := linked.store.Install(linked.path, link)
		if err == nil {
			err = linked.store.Apply(context.Background(), c)
		}
		if got, gerr := linked.store.Installs(target); err != nil || gerr != nil || len(got) != 1 {
			t.Errorf("by a link: %q, %v, %v", got, err, gerr)
		}
	}
	if err := os.Remove(w.path); err != nil { // another program removed it
		t.Fatal(err)
	}
	if got, err := w.store.Installs(waggle); err != nil || len(got) > 0 {
		t.Errorf("without the file: %q, %v", got, err)
	}
	w.install()
	c, err = w.store.Uninstall(w.path)
	if err == nil {
		err = w.store.Apply(context.Background(), c)
	}
	if got, gerr := w.store.Installs(waggle); err != nil || gerr != nil || len(got) > 0 {
		t.Errorf("after the uninstall: %q, %v, %v", got, err, gerr)
	}
}
