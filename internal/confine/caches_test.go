//go:build linux

package confine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/confine"
	"waggle/internal/test/testenv"
	"waggle/record"
	"waggle/worker"
)

// The directories of a cache are where its tool has it: by the tool's variable, by XDG_CACHE_HOME, by `go env -w`.
func TestCacheDirectories(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, text := range map[string]string{".config/go/env": "GOPROXY=off\nGOCACHE=/big/build\nGOPATH=/big/go\n", "own.env": "GOMODCACHE=/own/mod\n", ".cache/uv/x": ""} {
		path := filepath.Join(home, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	in := func(names ...string) (list []string) {
		for _, n := range names {
			if !filepath.IsAbs(n) {
				n = filepath.Join(home, n)
			}
			list = append(list, n)
		}
		return list
	}
	for _, tc := range []struct {
		name, cache string
		environ     []string
		existing    bool
		want        []string
	}{
		{"a directory of its own", "npm", nil, false, in(".npm")},
		{"a tool's variable", "uv", []string{"UV_CACHE_DIR=/big/uv"}, false, in(".cache/uv", "/big/uv")},
		{"a relative one is none", "uv", []string{"UV_CACHE_DIR=uv"}, false, in(".cache/uv")},
		{"XDG_CACHE_HOME", "pip", []string{"XDG_CACHE_HOME=/big/cache"}, false, in("/big/cache/pip")},
		{"without credentials and programs", "cargo", []string{"CARGO_HOME=/big/cargo"}, false, in(".cargo/git", ".cargo/registry", "/big/cargo/git", "/big/cargo/registry")},
		{"without virtual environments", "poetry", []string{"POETRY_CACHE_DIR=/big/p"}, false, in(".cache/pypoetry/artifacts", ".cache/pypoetry/cache", "/big/p/artifacts", "/big/p/cache")},
		{"go env -w", "go", nil, false, in(".cache/go-build", "go/pkg/mod", "/big/build", "/big/go/pkg/mod")},
		{"the environment before it", "go", []string{"GOCACHE=/e", "GOPATH=/g"}, false, in(".cache/go-build", "go/pkg/mod", "/e", "/g/pkg/mod")},
		{"a file of its own", "go", []string{"GOENV=" + home + "/own.env"}, false, in(".cache/go-build", "go/pkg/mod", "/own/mod")},
		{"no file", "go", []string{"GOENV=off"}, false, in(".cache/go-build", "go/pkg/mod")},
		{"what is there", "uv", nil, true, in(".cache/uv")},
		{"nothing is there", "npm", nil, true, []string{}},
	} {
		got := confine.CachesOf(worker.Confining{Want: record.Sandbox{Caches: []string{tc.cache}}, Existing: tc.existing, Environ: append([]string{"HOME=" + home}, tc.environ...)})
		seen := map[string]bool{}
		for _, d := range got {
			seen[d] = true
		}
		want := map[string]bool{}
		for _, d := range tc.want {
			want[d] = true
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
