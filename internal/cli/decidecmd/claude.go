package decidecmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/claudesettings"
	"waggle/internal/cli/app"
	"waggle/operator"
	"waggle/spawn"
)

// ClaudePath returns the config directory of Claude Code: CLAUDE_CONFIG_DIR, ~/.claude. A wire tree
// that --root names may be elsewhere; settings and sessions never are.
func ClaudePath(a *app.App) (string, error) {
	if v := a.Env("CLAUDE_CONFIG_DIR"); v != "" {
		return filepath.Abs(v)
	}
	home, err := a.Home()
	return filepath.Join(home, ".claude"), err
}

// userSettings returns the settings of all sessions of this user.
func userSettings(a *app.App) (string, error) {
	dir, err := ClaudePath(a)
	return claudesettings.UserFile(dir), err
}

// settingsSources returns the settings files of a session in a directory.
func settingsSources(a *app.App, cwd string) (claudesettings.Sources, error) {
	user, err := userSettings(a)
	if err != nil {
		return claudesettings.Sources{}, err
	}
	return claudesettings.SourcesIn(user, cwd), nil
}

// HookStore returns the store of what installs of hooks found and wrote.
func HookStore(a *app.App) (claudesettings.Store, error) {
	state, err := a.StatePath()
	return claudesettings.StoreIn(state, a.Now), err
}

// hookProgram returns the binary that hooks run: this one, unless go run made it and will remove
// it.
func hookProgram(a *app.App) (string, error) {
	self, err := spawn.Self(a.Environ)
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
