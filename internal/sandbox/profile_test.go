//go:build linux

package sandbox_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/relay"
	"waggle/internal/test/testenv"
)

// A link that a member makes where its profile opens something opens nothing else.
func TestProfileLinks(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Enforced, sandbox.FilesOnly} {
		for name, adapt := range map[string]func(p *sandbox.Profile, path string){
			"writable":  func(p *sandbox.Profile, path string) { p.Writable = append(p.Writable, path) },
			"readable":  func(p *sandbox.Profile, path string) { p.Readable = append(p.Readable, path) },
			"read-only": func(p *sandbox.Profile, path string) { p.ReadOnly = append(p.ReadOnly, path) },
			"tmp":       func(p *sandbox.Profile, path string) { p.Tmp = path },
		} {
			w := newWorld(t)
			w.sb.Level = level
			// The second link leads over a link of the user to the member's.
			testenv.Must(t, os.Symlink(w.Work+"/opened", w.Base+"/by-link"))
			testenv.Must(t, os.Symlink(w.Home+"/.ssh", w.Work+"/opened"))
			for _, path := range []string{w.Work + "/opened", w.Base + "/by-link"} {
				sb := w.sb
				adapt(&sb.Profile, path)
				got := w.run(sb, nil, "sh", "-c", "cat "+w.Home+"/.ssh/id_ed25519; echo no > "+w.Home+"/.ssh/x")
				if !errors.Is(got.Err, sandbox.ErrSetup) || !strings.Contains(got.Err.Error(), "which the member writes") {
					t.Errorf("%s, %s: %v", level, name, got)
				}
			}
		}
	}
}

// A link that another than the member puts on the way to what its profile opens opens nothing else.
func TestProfileLinkOfAnother(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Enforced, sandbox.FilesOnly} {
		w := newWorld(t)
		testenv.Must(t, os.MkdirAll(w.Base+"/shared/own", 0o755))
		w.sb.Level, w.sb.Profile.Writable = level, append(w.sb.Profile.Writable, w.Base+"/shared/own")
		if got := w.inside("sh", "-c", "echo yes > "+w.Base+"/shared/own/x"); got.Exit.Code != 0 {
			t.Errorf("%s: %v", level, got)
		}
		testenv.Must(t, os.RemoveAll(w.Base+"/shared"))
		testenv.Must(t, os.Symlink(w.Home, w.Base+"/shared"))
		testenv.Must(t, os.Mkdir(w.Home+"/own", 0o755))
		got := w.inside("sh", "-c", "echo no > "+w.Home+"/own/x")
		if !errors.Is(got.Err, sandbox.ErrTree) || !strings.Contains(got.Err.Error(), "it is not followed") {
			t.Errorf("%s: %v", level, got)
		}
	}
}

// A protected path below a directory of the member's cannot be replaced by renaming that directory.
func TestProfileAncestors(t *testing.T) {
	w := newWorld(t)
	testenv.Must(t, os.MkdirAll(w.Work+"/a/b", 0o755))
	for _, path := range []string{"/a/b/settings.json", "/a/b/other"} {
		testenv.Must(t, os.WriteFile(w.Work+path, []byte("before\n"), 0o644))
	}
	script := "mv a c; mkdir -p a/b; echo after > a/b/settings.json; mv a/b a/d; mkdir -p a/b; echo after > a/b/settings.json; rm -rf a; echo after > a/b/other; cat a/b/settings.json"
	if got := w.outside("sh", "-c", "cp -r a z && cd z && mv b c && mkdir b && echo after > b/settings.json && cat b/settings.json"); !strings.Contains(got.Out, "after") {
		t.Fatalf("does not count: %v", got)
	}
	w.sb.Profile.ReadOnly = append(w.sb.Profile.ReadOnly, w.Work+"/a/b/settings.json")
	got := w.inside("sh", "-c", script)
	data, err := os.ReadFile(w.Work + "/a/b/settings.json")
	if string(data) != "before\n" || err != nil || !strings.HasSuffix(got.Out, "before\n") {
		t.Errorf("%q %v: %v", data, err, got)
	}
	// The member can still change the rest.
	if got := w.inside("sh", "-c", "echo x > a/b/more && mkdir a/e && mv a/b/more a/e && cat a/e/more"); got.Exit.Code != 0 {
		t.Errorf("%v", got)
	}
}

// The relay checks the member's own directories, which another member may have swapped, and what is mounted in them.
// Landlock would hold what a link in the place of the former opens, where the kernel has it.
func TestProfileChecked(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"/own/a", "/own/keys", "/out"} {
		testenv.Must(t, os.MkdirAll(w.Base+dir, 0o755))
	}
	p, m, err := sandbox.Look(sandbox.Profile{Writable: []string{w.Base + "/out", w.Base + "/own"}, ReadOnly: []string{w.Base + "/own/a"},
		Secrets: []string{w.Base + "/own/keys", w.Home + "/.ssh"}, Tmp: w.Base + "/tmp"}, sandbox.Enforced)
	testenv.Must(t, err)
	got, err := p.Checked(m)
	testenv.Must(t, err)
	want := []relay.Mounted{{Path: w.Base + "/out"}, {Path: w.Base + "/own"}, {Path: w.Base + "/own/a", ReadOnly: true}, {Path: w.Base + "/own/keys", Mask: true}}
	for i := range want {
		if want[i].Mask {
			continue
		}
		want[i].ID, err = relay.IDOf(want[i].Path)
		testenv.Must(t, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
