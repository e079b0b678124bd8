package program_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/program"
	"waggle/internal/test/testenv"
)

// files writes programs below a directory and returns it without links.
func files(t *testing.T, of map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs here are found by their rights")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	for name, text := range of {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t *testing.T, p, text string) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	mode := os.FileMode(0o755)
	if strings.HasSuffix(p, ".txt") {
		mode = 0o644
	}
	testenv.Must(t, os.WriteFile(p, []byte(text), mode))
}

func TestLook(t *testing.T) {
	dir := files(t, map[string]string{"a/tool": "\x7fELF", "b/tool": "x", "b/other": "x", "here": "x", "b/not.txt": "x", "a/dir/x": "x",
		"b/script": "#!/usr/bin/env other -x\n", "run.txt": "echo", "sub/run.txt": "sub", "sub/rel": "x"})
	testenv.Must(t, os.Symlink(filepath.Join(dir, "b/other"), filepath.Join(dir, "a/link")))
	path := "PATH=" + strings.Join([]string{dir + "/nowhere", dir + "/a", "sub", dir + "/b", ""}, ":")
	look := func(argv0 string, cmds ...program.Command) program.Found {
		return new(program.Finder).Look(program.Launch{Argv: []string{argv0}, Commands: cmds, Dir: dir, Env: []string{"PATH=/else", path}}, true)
	}
	for name, want := range map[string]string{
		"tool": "a/tool", "link": "b/other", "./here": "here", "sub/rel": "sub/rel", dir + "/here": "here",
		"not.txt": "", "dir": "", "nothing": "", "": "",
		"here": "", "rel": "", // by relative entries, which package spawn does not take
	} {
		got := look(name).Program
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got != want {
			t.Errorf("argv[0] %q is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"tool": "a/tool", "here": "here", "rel": "sub/rel", "echo": "", "not.txt": ""} {
		f := look("tool", program.Command{Name: name}, program.Command{Name: name})
		got := ""
		if len(f.Words) > 0 {
			got = strings.TrimPrefix(f.Words[0].Path, dir+"/")
		}
		if got != want || len(f.Words) > 1 {
			t.Errorf("the word %q is %v, want %q", name, f.Words, want)
		}
	}
	f := look("tool", program.Command{Name: "script"}, program.Command{Name: "tool", Script: "run.txt"})
	if len(f.Scripts) != 2 || f.Scripts[0].Path != dir+"/b/script" || f.Scripts[1].Path != dir+"/run.txt" {
		t.Errorf("scripts: %v", f.Scripts)
	}
	if last := f.Words[len(f.Words)-1]; last.Name != "other" || last.Path != dir+"/b/other" {
		t.Errorf("the interpreter of a script: %v", f.Words)
	}
	// After cd the directory of a relative path is unknown.
	f = look("tool", program.Command{Name: "cd"}, program.Command{Name: "./here", Script: "run.txt"}, program.Command{Name: dir + "/here"})
	if len(f.Words) != 1 || len(f.Scripts) != 0 {
		t.Errorf("after cd: %v %v", f.Words, f.Scripts)
	}
}

// TestLookWithoutContent: a call that a rule allows has the paths of its words and no script; the
// cached path of a name is dropped with its file.
func TestLookWithoutContent(t *testing.T) {
	dir := files(t, map[string]string{"real/one": "#!/bin/sh\n", "real/two": "#!/bin/sh\n", "bin/x": "", "early/y": "x", "run.txt": "echo"})
	link := filepath.Join(dir, "bin/tool")
	var f program.Finder
	c := program.Launch{Argv: []string{"tool"}, Dir: dir, Env: []string{"PATH=" + dir + "/early:" + dir + "/bin"}, Commands: []program.Command{{Name: "tool", Script: "run.txt"}}}
	look := func(want string) {
		t.Helper()
		for range 2 { // the second time it is remembered
			got := f.Look(c, false)
			if got.Program != filepath.Join(dir, want) || len(got.Words) != 1 || got.Words[0].Path != got.Program || len(got.Scripts) != 0 {
				t.Errorf("%+v, want %s and no script", got, want)
			}
		}
	}
	lead := func(to string) {
		t.Helper()
		_ = os.Remove(link) // it may not be there yet
		testenv.Must(t, os.Symlink(filepath.Join(dir, to), link))
	}
	lead("real/one")
	look("real/one")
	lead("real/two")
	look("real/two")
	write(t, filepath.Join(dir, "early/tool"), "x") // earlier on the PATH
	look("early/tool")
	testenv.Must(t, os.Remove(filepath.Join(dir, "early/tool")))
	look("real/two")
}

func TestScripts(t *testing.T) {
	dir := files(t, map[string]string{"small": "x", "large": strings.Repeat("x", 1<<20), "below": strings.Repeat("x", 1<<20-1)})
	testenv.Must(t, os.Symlink(filepath.Join(dir, "small"), filepath.Join(dir, "link")))
	mkfifo(t, filepath.Join(dir, "fifo"))
	for name, want := range map[string]string{"small": "small", "link": "small", "below": "below", "large": "", "fifo": "", "none": "", ".": ""} {
		found := make(chan program.Found, 1)
		go func() {
			found <- new(program.Finder).Look(program.Launch{Argv: []string{"sh"}, Dir: dir, Commands: []program.Command{{Name: "sh", Script: name}}}, true)
		}()
		select {
		case f := <-found:
			got := ""
			if len(f.Scripts) == 1 {
				got = strings.TrimPrefix(f.Scripts[0].Path, dir+"/")
			}
			if got != want {
				t.Errorf("%s: %v, want %q", name, f.Scripts, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s holds everybody up", name)
		}
	}
}

func TestChanged(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"": func(*testing.T, string) {},
		"was replaced or changed": func(t *testing.T, dir string) {
			write(t, dir+"/new", "y")
			testenv.Must(t, os.Rename(dir+"/new", dir+"/b/tool"))
		},
		"tool is": func(t *testing.T, dir string) { write(t, dir+"/a/tool", "x") },
		"names another file": func(t *testing.T, dir string) {
			testenv.Must(t, os.Remove(dir+"/b/tool"))
		},
		"holds another text": func(t *testing.T, dir string) { write(t, dir+"/run.txt", "b") },
		"is gone": func(t *testing.T, dir string) {
			testenv.Must(t, os.Remove(dir+"/run.txt"))
		},
	} {
		dir := files(t, map[string]string{"b/tool": "x", "run.txt": "a", "a/x": "x", "c/sh": "x"})
		c := program.Launch{Argv: []string{"sh"}, Dir: dir, Env: []string{"PATH=" + dir + "/a:" + dir + "/b:" + dir + "/c"},
			Commands: []program.Command{{Name: "tool"}, {Name: "sh", Script: "run.txt"}}}
		var f program.Finder
		was := f.Look(c, true)
		if was.Program != dir+"/c/sh" || len(was.Words) != 2 || len(was.Scripts) != 1 {
			t.Fatalf("%+v", was)
		}
		change(t, dir)
		got := was.Changed(f.Look(c, true))
		if (got == "") != (name == "") || !strings.Contains(got, name) {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// BenchmarkLook measures the cost of the paths for a call that the rules allow.
func BenchmarkLook(b *testing.B) {
	env := []string{"PATH=" + os.Getenv("PATH")}
	c := program.Launch{Argv: []string{"sh", "-c", "ls | wc -l && cat x"}, Dir: b.TempDir(), Env: env,
		Commands: []program.Command{{Name: "ls"}, {Name: "wc"}, {Name: "cat"}}}
	var f program.Finder
	for b.Loop() {
		f.Look(c, false)
	}
}
