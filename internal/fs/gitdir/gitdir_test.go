package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"waggle/internal/fs/gitdir"
	"waggle/internal/test/testenv"
)

// write makes the files of a tree; a name that ends with a slash is a directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if name[len(name)-1] == '/' {
			path = filepath.Join(path, "x")
		}
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if name[len(name)-1] == '/' {
			continue
		}
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// TestTop: a .git counts where it has a HEAD, itself or by the file's gitdir. Every case lies below a
// repository, so what does not count leads to that one. The directory of temporary files may itself lie
// below a .git.
func TestTop(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		found bool
	}{
		"no .git":                     {map[string]string{"a/": ""}, false},
		"a repository":                {map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, true},
		"an empty directory":          {map[string]string{".git/": ""}, false},
		"a directory without HEAD":    {map[string]string{".git/config": "", ".git/hooks/": ""}, false},
		"HEAD is a directory":         {map[string]string{".git/HEAD/": ""}, false},
		"an empty file":               {map[string]string{".git": ""}, false},
		"a file of something else":    {map[string]string{".git": "hello\n"}, false},
		"a file with gitdir":          {map[string]string{".git": "gitdir: real/git\n", "real/git/HEAD": "x\n"}, true},
		"gitdir leads nowhere":        {map[string]string{".git": "gitdir: real/git\n"}, false},
		"gitdir has no HEAD":          {map[string]string{".git": "gitdir: real/git\n", "real/git/": ""}, false},
		"gitdir without a directory":  {map[string]string{".git": "gitdir:\n"}, false},
		"a file that is far too long": {map[string]string{".git": "gitdir: real/git\n" + string(make([]byte, 9<<10)), "real/git/HEAD": "x\n"}, false},
	} {
		above := t.TempDir()
		write(t, above, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
		dir := filepath.Join(above, "dir")
		write(t, dir, tc.files)
		write(t, dir, map[string]string{"sub/deep/": ""})
		want := above
		if tc.found {
			want = dir
		}
		for _, at := range []string{dir, filepath.Join(dir, "sub", "deep")} {
			if got := gitdir.Top(at); got != want {
				t.Errorf("%s: the top of %s is %q, want %q", name, at, got, want)
			}
		}
	}
}

// TestOfGit: a repository, its worktree and its submodule, as git makes them.
func TestOfGit(t *testing.T) {
	git := testenv.Require(t, "git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	repo, tree := filepath.Join(dir, "repo"), filepath.Join(dir, "tree")
	for _, args := range [][]string{
		{"init", "-q", repo},
		{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"},
		{"-C", repo, "worktree", "add", "-q", tree},
		{"-C", repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repo, "sub"},
	} {
		cmd := exec.Command(git, args...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	common := filepath.Join(repo, ".git")
	for _, tc := range []struct{ dir, git, common string }{
		{repo, common, common},
		{tree, filepath.Join(common, "worktrees", "tree"), common},
		{filepath.Join(repo, "sub"), filepath.Join(common, "modules", "sub"), filepath.Join(common, "modules", "sub")},
	} {
		got := gitdir.Of(tc.dir)
		if got != tc.git || gitdir.Common(got) != tc.common || gitdir.Top(tc.dir) != tc.dir {
			t.Errorf("%s: git directory %q, common %q, top %q", tc.dir, got, gitdir.Common(got), gitdir.Top(tc.dir))
		}
	}
}

// Alternates are found over several repositories, relative ones too; a circle and a missing one end the search.
func TestAlternates(t *testing.T) {
	base := t.TempDir()
	for of, text := range map[string]string{"a": "# of b\n../../b/objects\n/nowhere/objects\n", "b": filepath.Join(base, "c", "objects") + "\n", "c": filepath.Join(base, "a", "objects") + "\n"} {
		info := filepath.Join(base, of, "objects", "info")
		testenv.Must(t, os.MkdirAll(info, 0o755))
		testenv.Must(t, os.WriteFile(filepath.Join(info, "alternates"), []byte(text), 0o644))
	}
	want := []string{filepath.Join(base, "b", "objects"), filepath.Join(base, "c", "objects"), filepath.Join(base, "a", "objects")}
	if got := gitdir.Alternates(filepath.Join(base, "a")); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := gitdir.Alternates(base); got != nil {
		t.Errorf("without a repository: %q", got)
	}
}
