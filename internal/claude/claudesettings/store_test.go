package claudesettings_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/test/testenv"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a config directory with a settings file, and a store.
type world struct {
	t     *testing.T
	path  string
	store claudesettings.Store
}

func newWorld(t *testing.T) *world {
	dir := t.TempDir()
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "claude"), 0o700))
	return &world{t, filepath.Join(dir, "claude", "settings.json"),
		claudesettings.Store{Dir: filepath.Join(dir, "state", "hooks"), Now: func() time.Time { return noon }}}
}

func (w *world) write(path, text string, mode os.FileMode) {
	w.t.Helper()
	testenv.Must(w.t, os.WriteFile(path, []byte(text), 0o600))
	testenv.Must(w.t, os.Chmod(path, mode))
}

func (w *world) install() *claudesettings.Change {
	w.t.Helper()
	c, err := w.store.Install(w.path, waggle)
	if err == nil {
		err = w.store.Apply(context.Background(), c)
	}
	testenv.Must(w.t, err)
	return c
}

func (w *world) uninstall(want claudesettings.How) {
	w.t.Helper()
	c, err := w.store.Uninstall(w.path)
	if err == nil {
		err = w.store.Apply(context.Background(), c)
	}
	testenv.Must(w.t, err)
	if c.How != want {
		w.t.Errorf("the uninstall is %s, want %s", c.How, want)
	}
}

// only checks that a directory contains exactly these names.
func (w *world) only(dir string, want ...string) {
	w.t.Helper()
	list, err := os.ReadDir(dir)
	testenv.Must(w.t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		w.t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

func (w *world) noRecords() {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.store.Dir, "*.json"))
	if err != nil || len(found) > 0 {
		w.t.Errorf("records are left: %v %v", found, err)
	}
}

// Install and uninstall through the store restore every settings file byte for byte, with its mode,
// and leave no other file.
func TestStoreRestoresEveryFile(t *testing.T) {
	files, err := filepath.Glob("testdata/settings/*.before")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			w := newWorld(t)
			before := read(t, f)
			w.write(w.path, string(before), 0o640)
			w.install()
			if want := read(t, strings.TrimSuffix(f, ".before")+".after"); !bytes.Equal(read(t, w.path), want) {
				t.Errorf("installed:\n%s", read(t, w.path))
			}
			if c := w.install(); c.How != claudesettings.Unchanged {
				t.Errorf("a second install is %s", c.How)
			}
			fi, err := os.Stat(w.path)
			if err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v, %v", fi.Mode(), err)
			}
			w.uninstall(claudesettings.Restored)
			if !bytes.Equal(read(t, w.path), before) {
				t.Errorf("restored:\n%q\nwant\n%q", read(t, w.path), before)
			}
			w.only(filepath.Dir(w.path), "settings.json")
			w.noRecords()
		})
	}
}

func TestStoreWithoutAFile(t *testing.T) {
	w := newWorld(t)
	w.install()
	w.uninstall(claudesettings.Deleted)
	w.only(filepath.Dir(w.path))

	testenv.Must(t, os.Remove(filepath.Dir(w.path)))
	w.install()
	w.uninstall(claudesettings.Deleted)
	if _, err := os.Stat(filepath.Dir(w.path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory that the install made is left: %v", err)
	}
	w.uninstall(claudesettings.Unchanged)
	w.noRecords()
}

// An install from another path of the binary is an update; the original stays what it was.
func TestStoreUpdatesThePath(t *testing.T) {
	w := newWorld(t)
	w.write(w.path, "{ }", 0o600)
	c, err := w.store.Install(w.path, "/tmp/renamed")
	if err == nil {
		err = w.store.Apply(t.Context(), c)
	}
	testenv.Must(t, err)
	w.install()
	if b := read(t, w.path); bytes.Contains(b, []byte("renamed")) || bytes.Count(b, []byte("hook claude Stop")) != 1 {
		t.Errorf("updated:\n%s", b)
	}
	w.uninstall(claudesettings.Restored)
	if b := read(t, w.path); string(b) != "{ }" {
		t.Errorf("restored: %q", b)
	}
}

// A file that was edited since keeps the edits.
func TestStoreFileChangedSinceTheInstall(t *testing.T) {
	w := newWorld(t)
	w.write(w.path, "{\n  \"a\": 1\n}\n", 0o600)
	w.install()
	edited := strings.Replace(string(read(t, w.path)), `"a": 1`, `"a": 2`, 1)
	w.write(w.path, edited, 0o600)
	if c := w.install(); c.How != claudesettings.Unchanged {
		t.Errorf("an install over all entries is %s", c.How)
	}
	w.uninstall(claudesettings.Removed)
	if b := read(t, w.path); string(b) != "{\n  \"a\": 2\n}\n" {
		t.Errorf("left: %q", b)
	}
	w.noRecords()

	// One entry was lost, and an install put it back: then the edited file is the original.
	w.install()
	lost := strings.Replace(string(read(t, w.path)), "hook claude Stop", "hook gone", 1)
	w.write(w.path, lost, 0o600)
	w.install()
	w.uninstall(claudesettings.Restored)
	if b := string(read(t, w.path)); strings.Contains(b, "hook claude") || !strings.Contains(b, "hook gone") {
		t.Errorf("left: %s", b)
	}
}

// Apply does not overwrite a change that was made after Install read the file.
func TestApplyRefusesAChangedFile(t *testing.T) {
	for name, other := range map[string]string{"edited": "{\"b\": 1}", "removed": "", "as before": "{ }"} {
		w := newWorld(t)
		w.write(w.path, "{ }", 0o600)
		c, err := w.store.Install(w.path, waggle)
		testenv.Must(t, err)
		if other == "" {
			err = os.Remove(w.path)
		} else {
			w.write(w.path, other, 0o600)
		}
		testenv.Must(t, err)
		err = w.store.Apply(t.Context(), c)
		if refused := errors.Is(err, claudesettings.ErrChanged); refused != (other != "{ }") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			continue
		}
		if b, err := os.ReadFile(w.path); err == nil && string(b) != other {
			t.Errorf("%s: the file is %q", name, b)
		}
		w.noRecords()
	}
	w := newWorld(t)
	w.install()
	c, err := w.store.Uninstall(w.path)
	testenv.Must(t, err)
	w.write(w.path, "{}", 0o600)
	if err := w.store.Apply(t.Context(), c); !errors.Is(err, claudesettings.ErrChanged) {
		t.Errorf("an uninstall: %v", err)
	}
}

// A link stays a link, and its target is edited in place.
func TestStoreFollowsLinks(t *testing.T) {
	w := newWorld(t)
	dotfiles := t.TempDir()
	target := filepath.Join(dotfiles, "claude.json")
	w.write(target, "{}\n", 0o644)
	if err := os.Symlink(target, w.path); err != nil {
		t.Skip(err)
	}
	w.install()
	if to, err := os.Readlink(w.path); err != nil || to != target {
		t.Errorf("the link is %q, %v", to, err)
	}
	if !bytes.Contains(read(t, target), []byte("hook claude Stop")) {
		t.Error("the target was not edited")
	}
	w.uninstall(claudesettings.Restored)
	if b := read(t, target); string(b) != "{}\n" {
		t.Errorf("restored: %q", b)
	}
	w.only(dotfiles, "claude.json")
	w.only(filepath.Dir(w.path), "settings.json")
}

func TestStoreRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		lay  func(w *world) error
		want string
	}{
		"read-only file": {func(w *world) error { w.write(w.path, "{}", 0o444); return nil }, "is read-only"},
		"read-only directory": {func(w *world) error {
			w.t.Cleanup(func() { _ = os.Chmod(filepath.Dir(w.path), 0o700) })
			return os.Chmod(filepath.Dir(w.path), 0o500)
		}, "lies in a directory that is read-only"},
		"link to nothing": {func(w *world) error { return os.Symlink("/nowhere/at/all", w.path) }, "is a link to nothing"},
		"link to itself":  {func(w *world) error { return os.Symlink(w.path, w.path) }, "is a link that leads back to itself"},
		"directory":       {func(w *world) error { return os.Mkdir(w.path, 0o700) }, "not a regular file"},
		"hard link": {func(w *world) error {
			w.write(w.path, "{}", 0o600)
			return os.Link(w.path, w.path+".other")
		}, "second name"},
		"no directory above": {func(w *world) error { w.path = filepath.Join(w.path, "a", "b", "settings.json"); return nil }, "cannot be made"},
		"not JSON":           {func(w *world) error { w.write(w.path, "{", 0o600); return nil }, "cannot be edited: line 1, column 2"},
	} {
		if runtime.GOOS == "windows" && name != "not JSON" {
			continue // modes and links are others there
		}
		w := newWorld(t)
		testenv.Must(t, tc.lay(w))
		before, _ := os.ReadFile(w.path)
		_, err := w.store.Install(w.path, waggle)
		var refused *claudesettings.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if after, _ := os.ReadFile(w.path); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was written", name)
		}
		w.noRecords()
	}
}

// A file that a person made read-only after an install is not restored.
func TestUninstallRefusesAReadOnlyFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are others there")
	}
	w := newWorld(t)
	w.install()
	testenv.Must(t, os.Chmod(w.path, 0o400))
	if _, err := w.store.Uninstall(w.path); err == nil || !strings.Contains(err.Error(), "is read-only") {
		t.Errorf("got %v", err)
	}
}

func TestSourcesOff(t *testing.T) {
	for name, tc := range map[string]struct {
		managed, local, project, user string
		want                          string // KEY in FILE
	}{
		"nothing":                {},
		"user":                   {user: `{"disableAllHooks": true}`, want: "disableAllHooks in user"},
		"not true":               {user: `{"disableAllHooks": "true", "x": {"disableAllHooks": true}}`},
		"switched on again":      {local: `{"disableAllHooks": false}`, user: `{"disableAllHooks": true}`},
		"project over user":      {project: `{"disableAllHooks": true}`, user: `{"disableAllHooks": false}`, want: "disableAllHooks in project"},
		"managed":                {managed: `{"disableAllHooks": true}`, local: `{"disableAllHooks": false}`, want: "disableAllHooks in managed"},
		"managed only":           {managed: `{"allowManagedHooksOnly": true}`, want: "allowManagedHooksOnly in managed"},
		"managed only elsewhere": {user: `{"allowManagedHooksOnly": true}`},
	} {
		dir := t.TempDir()
		s := claudesettings.Sources{Managed: filepath.Join(dir, "managed")}
		for _, f := range []struct{ name, text string }{{"managed", tc.managed}, {"local", tc.local}, {"project", tc.project}, {"user", tc.user}} {
			if f.name != "managed" {
				s.Files = append(s.Files, filepath.Join(dir, f.name))
			}
			if f.text != "" {
				testenv.Must(t, os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o600))
			}
		}
		off, problems := s.Off()
		got := ""
		if off != nil {
			got = off.Key + " in " + filepath.Base(off.Path)
		}
		if got != tc.want || len(problems) > 0 {
			t.Errorf("%s: %q, want %q; problems %v", name, got, tc.want, problems)
		}
	}
}
