package confine

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"waggle/internal/sandbox"
)

// cacheVariables are the variables that move the cache of a build out of the home directory.
var cacheVariables = map[string][]string{
	"go":    {"GOMODCACHE", "GOCACHE"},
	"npm":   {"npm_config_cache"},
	"pip":   {"PIP_CACHE_DIR"},
	"cargo": {"CARGO_HOME"},
}

// caches are the directories of the granted caches: those below the home directory that this system
// uses, and those that the environment names.
func (m *Member) caches(home string) (dirs []string) {
	for _, name := range m.c.Want.Caches {
		for _, v := range cacheVariables[name] {
			dir := variable(m.c.Environ, v)
			switch {
			case !filepath.IsAbs(dir):
			case v == "CARGO_HOME": // exclude its credentials and programs
				dirs = append(dirs, filepath.Join(dir, "registry"), filepath.Join(dir, "git"))
			default:
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
		if path := variable(m.c.Environ, "GOPATH"); name == "go" && filepath.IsAbs(path) {
			dirs = append(dirs, filepath.Join(path, "pkg", "mod"))
		}
		if home == "" {
			continue
		}
		for _, dir := range sandbox.Caches(name, home) {
			if mac := strings.HasPrefix(dir, filepath.Join(home, "Library")); mac == (runtime.GOOS == "darwin") || !mac && !strings.Contains(dir, "/.cache/") {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
