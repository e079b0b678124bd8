package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
)

// TestReproducible: the same sources in two directories give the same bytes, static,
// stripped, and without a path of either directory. It takes minutes where nothing is
// built yet; continuous integration has a step for it.
func TestReproducible(t *testing.T) {
	testenv.Long(t) // it builds the program twice
	var outs []string
	for _, dir := range []string{"a", "b/deeper than the other"} {
		dir = filepath.Join(t.TempDir(), dir)
		testenv.Clone(t, "../../..", dir)
		out := filepath.Join(dir, "dist")
		testenv.Must(t, run(dir, out, "v1", []string{"linux/amd64"}))
		outs = append(outs, out)
	}
	for _, name := range []string{"waggle-v1-linux-amd64", "waggle-v1-linux-amd64.tar.gz", sumsName} {
		a, b := read(t, filepath.Join(outs[0], name)), read(t, filepath.Join(outs[1], name))
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs: %x and %x", name, sha256.Sum256(a), sha256.Sum256(b))
		}
		for _, out := range outs {
			if bytes.Contains(a, []byte(filepath.Dir(out))) {
				t.Errorf("%s names %s", name, out)
			}
		}
	}
	f, err := elf.Open(filepath.Join(outs[0], "waggle-v1-linux-amd64"))
	testenv.Must(t, err)
	defer f.Close()
	if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
		t.Error("the program is not stripped")
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Error("the program is not static")
		}
	}
}

// TestArchive: entries are sorted, with one time and no owner, in any order they come.
func TestArchive(t *testing.T) {
	entries := []entry{{"waggle", 0o755, []byte("p")}, {"man/man1/waggle.1", 0o644, []byte("m")}}
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		testenv.Must(t, archive(filepath.Join(dir, name), "waggle-v1", slices.Clone(entries)))
		slices.Reverse(entries)
	}
	one := read(t, filepath.Join(dir, "one"))
	if !bytes.Equal(one, read(t, filepath.Join(dir, "two"))) {
		t.Error("the order of the entries is in the archive")
	}
	z, err := gzip.NewReader(bytes.NewReader(one))
	testenv.Must(t, err)
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		testenv.Must(t, err)
		got = append(got, fmt.Sprintf("%s %o %d %d", h.Name, h.Mode, h.Uid, h.ModTime.Unix()))
	}
	if want := []string{"waggle-v1/man/man1/waggle.1 644 0 0", "waggle-v1/waggle 755 0 0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestExtras: the archive has completions for each shell, the manual and install.sh.
func TestExtras(t *testing.T) {
	all, err := extras("../../..")
	testenv.Must(t, err)
	for name, text := range map[string]string{
		"completions/waggle.bash": "__start_waggle", "completions/_waggle": "#compdef waggle", "completions/waggle.fish": "complete -c waggle",
		"man/man1/waggle-uninstall.1": ".TH", "install.sh": "waggle uninstall", "LICENSE": "Apache",
	} {
		i := slices.IndexFunc(all, func(e entry) bool { return e.name == name })
		if i < 0 || !strings.Contains(string(all[i].data), text) {
			t.Errorf("%s: not there, or without %q", name, text)
		}
	}
}

// TestClear: only the files that an earlier run wrote are removed from the directory.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"waggle-v0-linux-amd64", "waggle-v0-linux-amd64.tar.gz", sumsName, "notes", "waggle"} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	testenv.Must(t, clear(dir))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("%q, %v", left, err)
	}
}

// TestRefuses: nothing is removed or built for an invalid version or system.
func TestRefuses(t *testing.T) {
	for _, tc := range [][2]string{{"v1 -X evil", "linux/amd64"}, {"../v1", "linux/amd64"}, {"-v", "linux/amd64"}, {"v1", "plan9/amd64"}, {"v1", "linux"}} {
		dir := t.TempDir()
		kept := filepath.Join(dir, "waggle-v0-linux-amd64")
		testenv.Must(t, os.WriteFile(kept, nil, 0o600))
		if err := run("../../..", dir, tc[0], tc[1:]); err == nil {
			t.Errorf("%q: no error", tc)
		}
		if _, err := os.Stat(kept); err != nil {
			t.Errorf("%q: %v", tc, err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	return b
}
