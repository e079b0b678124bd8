package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/testenv"
)

const home = "example.com/x/waggle"

// TestRenameClone: a copy of the repository under another path has all its imports, keeps the words
// that are in digests, and has the same bytes again when it is renamed back. The imports are compared in
// the files: the go command would need every module of every go.mod. The full run asks the go command,
// and builds, vets and generates all of it anew.
func TestRenameClone(t *testing.T) {
	testenv.Long(t)
	from, err := modulePath("../../..")
	testenv.Must(t, err)
	dir := t.TempDir()
	testenv.Clone(t, "../../..", dir)
	before := contents(t, dir)

	if _, err := rename(dir, home); err != nil {
		t.Fatal(err)
	}
	renamed := 0
	for name, text := range contents(t, dir) {
		if filepath.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
			renamed += renamedImports(t, dir, from, name, before[name], text)
		}
		for _, word := range []string{"waggle/request/", "waggle/journal/1", "waggle/join/1", "waggle/mint/1", "waggle/mailbox/unreadable"} {
			if strings.Count(before[name], word) != strings.Count(text, word) || strings.Contains(text, "x/"+word) {
				t.Errorf("%s: %q has changed, which is in digests", name, word)
			}
		}
	}
	if renamed < 1000 {
		t.Errorf("only %d imports of packages of this repository", renamed)
	}
	var modules []string // with packages
	for name := range before {
		if filepath.Base(name) == "go.mod" && !strings.Contains(name, "testdata/") && name != "tools/go.mod" {
			modules = append(modules, filepath.Join(dir, filepath.Dir(name)))
			run(t, dir, "go", "mod", "edit", "-json", name) // fails on a file that is none
		}
	}
	if len(modules) < 4 {
		t.Errorf("only the modules %q", modules)
	}
	if testenv.Full() { // minutes
		for _, module := range modules {
			run(t, module, "go", "list", "-deps", "-test", "./...") // fails on an import that is not there
		}
		run(t, dir, "go", "build", "-trimpath", "./journal", "./policy")
		run(t, dir, "make", "rename", "MODULE="+home+"2")
		for _, module := range modules {
			run(t, module, "go", "build", "./...")
			run(t, module, "go", "vet", "./...")
		}
		run(t, dir, "go", "test", "-run", "^TestArch(Rows|World|Module)", "./internal/house")
		run(t, dir, "go", "generate", "./...")
		run(t, filepath.Join(dir, "internal/repo"), "go", "test", "./conformance", "./docgen")
	}

	if _, err := rename(dir, from); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, contents(t, dir)); d != "" {
		t.Errorf("renamed back (-before +after):\n%s", d)
	}
}

// renamedImports compares the imports of a file before and after a rename: those of this repository have
// the new path and are directories with Go files, all others are the same. It returns the number of the
// repository's.
func renamedImports(t *testing.T, dir, from, name, before, after string) (renamed int) {
	t.Helper()
	was, is := imports(t, name, before), imports(t, name, after)
	for i, path := range was {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == '/') {
			was[i] = home + rest
			renamed++
			if files, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(rest), "*.go")); len(files) == 0 {
				t.Errorf("%s imports %s, which is no package", name, path)
			}
		}
	}
	slices.Sort(was) // a rename sorts the imports anew
	slices.Sort(is)
	if d := cmp.Diff(was, is); d != "" {
		t.Errorf("imports of %s (-want +got):\n%s", name, d)
	}
	return renamed
}

func imports(t *testing.T, name, text string) (paths []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
	testenv.Must(t, err)
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		testenv.Must(t, err)
		paths = append(paths, path)
	}
	return paths
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(b)
		return err
	})
	testenv.Must(t, err)
	return all
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "CGO_ENABLED=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out.Bytes())
	}
}

// TestFile: a name of a package changes, and a text that only looks like one stays.
func TestFile(t *testing.T) {
	p := paths{from: "waggle", to: home, packages: []string{"cmd/waggle", "journal", "mailbox", "otel"}}
	for _, tc := range []struct{ name, old, want string }{
		{"go.mod", "module waggle\n\nrequire waggle v0.0.0 // indirect\n", "module " + home + "\n\nrequire " + home + " v0.0.0 // indirect\n"},
		{"go.mod", "require (\n\twaggle v0.0.0\n\twaggle/otel v0.0.0\n)\n\nreplace waggle => ../\n", "require (\n\t" + home + " v0.0.0\n\t" + home + "/otel v0.0.0\n)\n\nreplace " + home + " => ../\n"},
		{"a.go", "package a\n\nimport (\n\t\"waggle\"\n\t\"waggle/journal\"\n)\n", "package a\n\nimport (\n\t\"" + home + "\"\n\t\"" + home + "/journal\"\n)\n"},
		{"a.go", "package a\n\nconst s = \"waggle/journal/1\\x00\" + \"waggle\" + \"waggle/mailbox/unreadable\"\n", ""},
		{"a.go", "package a // see waggle/journal.Open, waggle/otel.\n", "package a // see " + home + "/journal.Open, " + home + "/otel.\n"},
		{"a.md", "git merge waggle/api/docs\n~/.local/state/waggle/journal x/waggle/otel waggle/otels\nwaggle\nwaggle v0.1 is out\n", ""},
		{"a.md", "    require waggle v0.0.0\n    replace waggle => ../waggle\n    import \"waggle\"\n    go install waggle/cmd/waggle@latest\n", "    require " + home + " v0.0.0\n    replace " + home + " => ../waggle\n    import \"" + home + "\"\n    go install " + home + "/cmd/waggle@latest\n"},
	} {
		got, err := p.file(tc.name, []byte(tc.old))
		if tc.want == "" {
			tc.want = tc.old
		}
		if err != nil || string(got) != tc.want {
			t.Errorf("%s %q: %v\n%s", tc.name, tc.old, err, got)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for path, ok := range map[string]bool{
		home: true, "waggle": true, "example.com/x/waggle/v2": true,
		"": false, "/x": false, "x/": false, "x//y": false, "a b": false, "../x": false, "x/.y": false, "é.org/x": false, "x;y": false, "$(x)": false,
	} {
		if err := checkPath(path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
}
