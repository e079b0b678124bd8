package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"waggle/internal/claudesettings"
	"waggle/operator"
)

// claudePath is the config directory of Claude Code: CLAUDE_CONFIG_DIR, ~/.claude. A
// wire tree that --root names may be elsewhere; settings and sessions never are.
func (a *App) claudePath() (string, error) {
	if v := a.env("CLAUDE_CONFIG_DIR"); v != "" {
		return filepath.Abs(v)
	}
	home, err := a.home()
	return filepath.Join(home, ".claude"), err
}

// userSettings are the settings of all sessions of this user.
func (a *App) userSettings() (string, error) {
	dir, err := a.claudePath()
	return filepath.Join(dir, "settings.json"), err
}

// localSettings are a repository's settings of this user, and those for everybody.
func localSettings(top string) (local, shared string) {
	dir := filepath.Join(top, ".claude")
	return filepath.Join(dir, "settings.local.json"), filepath.Join(dir, "settings.json")
}

// repositoryTop is the directory with .git at or above dir; "" without one.
func repositoryTop(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// managedSettings are those of an administrator, as Claude Code documents their place.
func managedSettings() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	case "windows":
		return `C:\Program Files\ClaudeCode\managed-settings.json`
	}
	return "/etc/claude-code/managed-settings.json"
}

// settingsSources are the settings files of a session in a directory.
func (a *App) settingsSources(cwd string) (claudesettings.Sources, error) {
	user, err := a.userSettings()
	if err != nil {
		return claudesettings.Sources{}, err
	}
	s := claudesettings.Sources{Managed: managedSettings()}
	if top := repositoryTop(cwd); top != "" {
		local, shared := localSettings(top)
		s.Files = append(s.Files, local, shared)
	}
	s.Files = append(s.Files, user)
	return s, nil
}

// hookStore is where it is kept what installs found and wrote.
func (a *App) hookStore() (claudesettings.Store, error) {
	state, err := a.statePath()
	return claudesettings.Store{Dir: filepath.Join(state, "hooks"), Now: a.Now}, err
}

// hookProgram is the binary that hooks run: this one, unless it is one that go run made
// and removes again.
func hookProgram() (string, error) {
	self, err := operator.Self()
	if err != nil {
		return "", err
	}
	parts := strings.FieldsFunc(self, func(r rune) bool { return r == '/' || r == '\\' })
	if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "go-build") }) {
		return "", &operator.Error{Kind: operator.Refused, Op: "hooks install",
			Msg:    fmt.Sprintf("this program is a temporary one of go run (%s), and hooks need one that stays", self),
			Advice: "go install ./cmd/waggle, or make build; then give the command with that binary"}
	}
	return self, nil
}
