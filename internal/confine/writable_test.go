//go:build linux

package confine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/confine"
	"waggle/internal/test/testenv"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// homeWith is a home directory with these directories, and what names a path in it.
func homeWith(t *testing.T, dirs ...string) (home string, in func(name string) string) {
	t.Helper()
	require(t)
	home, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	in = func(name string) string { return filepath.Join(home, name) }
	for _, dir := range dirs {
		testenv.Must(t, os.MkdirAll(in(dir), 0o755))
	}
	return home, in
}

// A path of writable can be changed, and none that decides over the member, is kept from it or says what other
// programs run. Also with mode auto the member does not start then.
func TestWritable(t *testing.T) {
	t.Parallel()
	home, in := homeWith(t, "work/tree", "state/teams", "out", ".ssh", ".config/gh", "repo/.git/hooks", "agent/.claude")
	c := worker.Confining{Want: required, Name: "ann", Tree: in("work/tree"), Own: in("own"), Dir: in("kit"),
		Environ: append(os.Environ(), "HOME="+home), Hidden: []string{in("state")}, Now: time.Now}
	for link, to := range map[string]string{"link": ".ssh", "plain": "out", "work/tree/mine": "out"} {
		testenv.Must(t, os.Symlink(filepath.Join(home, to), filepath.Join(home, link)))
	}
	c.Want.Writable = []string{"~/out"}
	m, err := confining(t, c)
	testenv.Must(t, err)
	var out testenv.Buffer
	exit, err := m.Run(t.Context(), spawn.Command{Argv: []string{"sh", "-c", "echo x > ~/out/f && ! touch ~/agent/f"}, Dir: c.Tree, Env: c.Environ, Output: &out})
	if err != nil || exit.Code != 0 {
		t.Errorf("%+v %v: %s", exit, err, out.String())
	}
	if _, err := os.Stat(in("out/f")); err != nil {
		t.Error(err)
	}
	if lines, err := m.(*confine.Member).Explain([]string{"touch", home + "/out/f"}, c.Tree, nil, true); err != nil || lines[0].Verdict != "write" {
		t.Errorf("explain: %+v %v", lines, err)
	}
	c.Want.Writable = []string{filepath.Join(c.Tree, "mine")} // a link that the member made
	if m, err = confining(t, c); err != nil || m.Writable(in("out/f")) == nil {
		t.Errorf("a link of the member's opens what it leads to: %v", err)
	}
	for path, why := range map[string]string{
		"~/none": "is not there", "~/link": "name what it leads to", "~/plain": "name what it leads to", "~/link/x": "is not there",
		home: "is the home directory", filepath.Dir(home): "holds it", "~/work": "holds the member's tree",
		"~/.ssh": "kept from members", "~/.config": "kept from members", "~/.config/gh/x/..": "kept from members", "~/own": "kept from members",
		"~/state": "kept from members", "~/state/teams": "kept from members", "~/repo": "holds .git", "~/repo/.git/hooks": "is in .git", "~/agent": "holds .claude",
		"/etc": "the system's", "/proc/self": "", "/dev/shm": "the system's", "/": "the system's",
	} {
		for _, mode := range []record.SandboxMode{record.SandboxRequired, record.SandboxAuto} {
			c.Want.Mode, c.Want.Writable = mode, []string{path}
			if _, err := confining(t, c); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s with mode %s: %v, want %q", path, mode, err, why)
			}
		}
	}
}

// Repositories and settings of agents below a path of writable stay as they are, and so do the directories that lead to them.
func TestProgramsBelowWritable(t *testing.T) {
	t.Parallel()
	home, in := homeWith(t, "tree", "src/a/repo/.git/hooks", "src/agent/.claude", "src/bare.git/objects", "src/bare.git/refs", "src/plain/deep")
	testenv.Must(t, os.WriteFile(in("src/bare.git/HEAD"), nil, 0o644))
	c := worker.Confining{Want: required, Name: "ann", Tree: in("tree"), Own: in("own"), Dir: in("kit"),
		Environ: append(os.Environ(), "HOME="+home), Now: time.Now}
	c.Want.Writable = []string{"~/src"}
	m, err := confining(t, c)
	testenv.Must(t, err)
	var out testenv.Buffer
	script := `cd ~/src; for f in a/repo/.git/hooks/x agent/.claude/settings.json bare.git/hooks; do mkdir $f && echo "made $f"; done; mv a/repo a/other && echo moved; mv a b && echo moved
		echo x > a/repo/f && echo x > plain/deep/f && echo x > new && mkdir -p own/.git/hooks && echo fine`
	if _, err := m.Run(t.Context(), spawn.Command{Argv: []string{"sh", "-c", script}, Dir: c.Tree, Env: c.Environ, Output: &out}); err != nil {
		t.Error(err)
	}
	if s := out.String(); strings.Contains(s, "made") || strings.Contains(s, "moved") || !strings.Contains(s, "fine") {
		t.Error(s)
	}
	many := in("many")
	for i := range confine.ProgramsFound + 1 {
		testenv.Must(t, os.MkdirAll(filepath.Join(many, fmt.Sprint(i), ".git"), 0o755))
	}
	for path, why := range map[string]string{"~/src/bare.git": "is a repository", "~/many": "name the directories"} {
		c.Want.Mode, c.Want.Writable = record.SandboxAuto, []string{path}
		if _, err := confining(t, c); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", path, err, why)
		}
	}
}

// What the person's variables and links name as a cache is held to what members may change: a variable may have been
// set for another reason, or wrongly. The member starts without that cache.
func TestCachesThatAreNone(t *testing.T) {
	t.Parallel()
	home, in := homeWith(t, "work/tree", "state/teams", "out", "other", "big", ".ssh", ".config", "repo/.git/hooks", "agent/.claude", ".cache")
	for link, to := range map[string]string{"link": ".ssh", "disk": "big", "work/tree/mine": ".config", ".cache/pypoetry": "big", "out/uv": "other"} {
		testenv.Must(t, os.Symlink(in(to), in(link)))
	}
	for _, tc := range []struct{ cache, set, granted, kept string }{
		{"uv", "UV_CACHE_DIR=" + in("out/uv"), in("out"), in("other")}, // a link that a member made
		{"uv", "UV_CACHE_DIR=" + home, "", home}, {"uv", "UV_CACHE_DIR=/", "", "/srv"}, {"uv", "UV_CACHE_DIR=/etc", "", "/etc"},
		{"uv", "UV_CACHE_DIR=" + in(".ssh"), "", in(".ssh")}, {"uv", "UV_CACHE_DIR=" + in("link"), "", in(".ssh")},
		{"pnpm", "npm_config_store_dir=" + in("link/new"), "", in(".ssh")}, {"yarn", "YARN_CACHE_FOLDER=" + in(".config"), "", in(".config")},
		{"yarn", "YARN_CACHE_FOLDER=" + in("state"), "", in("state")}, {"pip", "PIP_CACHE_DIR=" + in("repo"), "", in("repo")},
		{"pip", "PIP_CACHE_DIR=" + in("repo/.git"), "", in("repo/.git")}, {"npm", "npm_config_cache=" + in("agent"), "", in("agent")},
		{"go", "GOCACHE=" + in("work"), "", in("work")}, {"go", "GOCACHE=" + in("work/tree/mine"), "", in(".config")},
		{"pip", "XDG_CACHE_HOME=" + in(".ssh"), "", in(".ssh/pip")},
		{"uv", "UV_CACHE_DIR=" + in("disk/uv"), in("big/uv"), in("big")}, {"poetry", "A=b", in("big/cache"), in("big")},
	} {
		c := worker.Confining{Want: record.Sandbox{Mode: record.SandboxRequired, Caches: []string{tc.cache}, Writable: []string{in("out")}}, Name: "ann", Tree: in("work/tree"), Own: in("own"), Dir: in("kit"),
			Environ: append(os.Environ(), "HOME="+home, tc.set), Hidden: []string{in("state")}, Now: time.Now}
		m, err := confining(t, c)
		if err != nil {
			t.Errorf("%s: %v", tc.set, err)
			continue
		}
		if err := m.Writable(filepath.Join(tc.kept, "f")); err == nil {
			t.Errorf("%s: commands may change %s", tc.set, tc.kept)
		}
		if tc.granted == "" {
			continue
		}
		if err := m.Writable(filepath.Join(tc.granted, "f")); err != nil {
			t.Errorf("%s: %v", tc.set, err)
		}
	}
	if entries, err := os.ReadDir(in(".ssh")); err != nil || len(entries) > 0 {
		t.Errorf("the start of a member made %v in a secret directory: %v", entries, err)
	}
}

// Another member whose directory holds that of a member, a path of writable or a cache puts a link in its place: the
// commands of that member are not let where it leads, also after its next start.
func TestDirectoryThatBecomesALink(t *testing.T) {
	t.Parallel()
	home, in := homeWith(t, "work/tree", "work/out", "work/uv", ".ssh")
	testenv.Must(t, os.WriteFile(in(".ssh/key"), []byte("KEY"), 0o600))
	for _, dir := range []string{"work/out", "work/uv", "work/tree"} {
		for _, to := range []string{".ssh", "."} {
			c := worker.Confining{Want: record.Sandbox{Mode: record.SandboxAuto, Writable: []string{in("work/out")}, Caches: []string{"uv"}}, Name: "ann",
				Tree: in("work/tree"), Own: in("own"), Dir: in("kit"), Environ: append(os.Environ(), "HOME="+home, "UV_CACHE_DIR="+in("work/uv")), Now: time.Now}
			m, err := confining(t, c)
			testenv.Must(t, err)
			try := func(m worker.Confinement) {
				t.Helper()
				var out testenv.Buffer
				exit, err := m.Run(t.Context(), spawn.Command{Argv: []string{"sh", "-c", "cat ~/.ssh/key; echo x > ~/.bashrc; echo x > ~/.ssh/key"}, Dir: home, Env: c.Environ, Output: &out})
				if text, _ := os.ReadFile(in(".ssh/key")); strings.Contains(out.String(), "KEY") || string(text) != "KEY" {
					t.Errorf("%s is a link to %s: %+v %v: %s", dir, to, exit, err, out.String())
				}
				if _, err := os.Stat(in(".bashrc")); err == nil {
					t.Errorf("%s is a link to %s: a command wrote in the home directory", dir, to)
					os.Remove(in(".bashrc"))
				}
			}
			testenv.Must(t, os.Rename(in(dir), in("moved")))
			testenv.Must(t, os.Symlink(in(to), in(dir)))
			try(m)
			if m.Writable(in(".ssh/key")) == nil {
				t.Errorf("%s is a link to %s: a file is written there", dir, to)
			}
			if m, err := confining(t, c); err == nil {
				try(m)
			} else if dir == "work/uv" {
				t.Errorf("%s: %v", dir, err)
			}
			testenv.Must(t, os.Remove(in(dir)))
			testenv.Must(t, os.Rename(in("moved"), in(dir)))
		}
	}
}
