package confine

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"waggle/internal/sandbox"
	"waggle/spawn"
)

// cacheVariables are the variables that move the cache of a build out of the home directory. Of what one names
// these directories alone are caches, where there are some: the rest holds credentials and programs.
var cacheVariables = map[string][]struct {
	name  string
	below []string
}{
	"cargo":   {{"CARGO_HOME", []string{"registry", "git"}}},
	"ccache":  {{"CCACHE_DIR", nil}},
	"go":      {{"GOMODCACHE", nil}, {"GOCACHE", nil}, {"GOPATH", []string{"pkg/mod"}}},
	"npm":     {{"npm_config_cache", nil}},
	"pip":     {{"PIP_CACHE_DIR", nil}},
	"pnpm":    {{"npm_config_store_dir", nil}},
	"poetry":  {{"POETRY_CACHE_DIR", []string{"cache", "artifacts"}}},
	"sccache": {{"SCCACHE_DIR", nil}},
	"uv":      {{"UV_CACHE_DIR", nil}},
	"yarn":    {{"YARN_CACHE_FOLDER", nil}},
}

// caches are the directories of the granted caches: those below the home directory that this system
// uses, and those that the environment or the go command's settings name.
func (m *Member) caches(home string) (dirs []string) {
	set := append(goSettings(m.c.Environ, home), m.c.Environ...)
	for _, name := range m.c.Want.Caches {
		for _, v := range cacheVariables[name] {
			dir := spawn.Getenv(set, v.name)
			switch {
			case !filepath.IsAbs(dir):
			case len(v.below) == 0:
				dirs = append(dirs, filepath.Clean(dir))
			default:
				for _, below := range v.below {
					dirs = append(dirs, filepath.Join(dir, below))
				}
			}
		}
		if home == "" {
			continue
		}
		for _, dir := range sandbox.Caches(name, home) {
			if mac := strings.HasPrefix(dir, filepath.Join(home, "Library")); mac == (runtime.GOOS == "darwin") || !mac && !strings.Contains(dir, "/.cache/") {
				dirs = append(dirs, moved(dir, home, m.c.Environ))
			}
		}
	}
	if m.c.Existing {
		dirs = slices.DeleteFunc(dirs, func(dir string) bool { _, err := os.Stat(dir); return err != nil })
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// moved is where a cache below ~/.cache is by XDG_CACHE_HOME.
func moved(dir, home string, environ []string) string {
	rest, below := strings.CutPrefix(dir, filepath.Join(home, ".cache")+"/")
	if to := spawn.Getenv(environ, "XDG_CACHE_HOME"); below && filepath.IsAbs(to) {
		return filepath.Join(to, rest)
	}
	return dir
}

// goSettingsSize is more than the go command's settings have.
const goSettingsSize = 64 << 10

// goSettings are what `go env -w` has set, as an environment.
func goSettings(environ []string, home string) (set []string) {
	path := spawn.Getenv(environ, "GOENV")
	if path == "" {
		config := spawn.Getenv(environ, "XDG_CONFIG_HOME")
		switch {
		case runtime.GOOS == "darwin":
			config = filepath.Join(home, "Library", "Application Support")
		case config == "":
			config = filepath.Join(home, ".config")
		}
		path = filepath.Join(config, "go", "env")
	}
	if !filepath.IsAbs(path) {
		return nil // off
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // there are none
	}
	defer f.Close()
	for lines := bufio.NewScanner(io.LimitReader(f, goSettingsSize)); lines.Scan(); {
		set = append(set, lines.Text())
	}
	return set
}
