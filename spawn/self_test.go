package spawn_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/spawn"
)

func init() {
	scenarios["self"] = func() error {
		path, err := spawn.Self(os.Environ())
		fmt.Print(path)
		return err
	}
}

// TestSelf: the path to record is a link that leads to the program, and no version's own where there is a link.
func TestSelf(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	dir, err := filepath.EvalSymlinks(testenv.DiskDir(t))
	must(t, err)
	test, err := os.Executable()
	must(t, err)
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, d := range []string{"cellar/1.0/bin", "cellar/1.1/bin", "bin", "other", "script"} {
		must(t, os.MkdirAll(in(d), 0o755))
	}
	program := in("cellar/1.0/bin/waggle")
	if err := os.Link(test, program); err != nil {
		b, rerr := os.ReadFile(test)
		must(t, rerr)
		must(t, testenv.Executable(program, b))
	}
	must(t, testenv.Executable(in("cellar/1.1/bin/waggle"), []byte("#!/bin/sh\n")))
	must(t, testenv.Executable(in("script/waggle"), []byte("#!/bin/sh\nexec "+program+" \"$@\"\n")))
	must(t, os.Symlink("../cellar/1.0/bin/waggle", in("bin/waggle")))
	must(t, os.Symlink("../cellar/1.0/bin/waggle", in("bin/w")))
	must(t, os.Symlink("../cellar/1.1/bin/waggle", in("other/waggle")))
	must(t, os.Symlink("1.0", in("cellar/current")))
	for _, c := range []struct{ argv0, path, cwd, want string }{
		{"waggle", "bin", ".", "bin/waggle"},                                    // by its name
		{"waggle", "other:bin", ".", program},                                   // called by a path of another PATH
		{in("bin/w"), "", ".", "bin/w"},                                         // by a link
		{"./waggle", "", "bin", "bin/waggle"},                                   // by a relative one
		{"./bin/waggle", "", "script", program},                                 // that leads nowhere here
		{in("cellar/current/bin/waggle"), "", ".", "cellar/current/bin/waggle"}, // a directory is the link
		{program, "bin", ".", "bin/waggle"},                                     // by its file, and PATH has a link
		{program, "script", ".", program},                                       // PATH has another program
		{program, "other", ".", program},                                        // a link to another version
		{program, "", ".", program},                                             // nothing but the file
		{"", "bin", ".", "bin/waggle"}, {"nonsense", "bin", ".", "bin/waggle"},  // whoever starts it says what it likes
		{"/proc/self/exe", "", ".", program},
	} {
		if !filepath.IsAbs(c.want) {
			c.want = in(c.want)
		}
		var path string
		for _, d := range filepath.SplitList(c.path) {
			path += string(filepath.ListSeparator) + in(d)
		}
		cmd := exec.Cmd{Path: program, Args: []string{c.argv0}, Dir: in(c.cwd), Env: []string{scenarioEnv + "=self", "PATH=" + path}}
		out, err := cmd.Output()
		if err != nil || string(out) != c.want {
			t.Errorf("called %q in %s with PATH %q: %s, %v, want %s", c.argv0, c.cwd, c.path, out, err, c.want)
		}
	}
}
