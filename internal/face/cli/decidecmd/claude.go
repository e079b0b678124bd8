package decidecmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/spawn"
)

// ClaudePath returns the config directory of Claude Code: CLAUDE_CONFIG_DIR, ~/.claude. A wire tree
// that --root names may be elsewhere; settings and sessions never are.
func ClaudePath(a *app.App) (string, error) { return clientPath(a, claudesettings.Claude) }

// clientPath returns the directory of a client's settings.
func clientPath(a *app.App, c claudesettings.Client) (string, error) {
	home, err := a.Home()
	dir := c.Dir(a.Env, home)
	if err != nil && !filepath.IsAbs(dir) {
		return "", err
	}
	return filepath.Abs(dir)
}

// HookStore returns the store of what installs of a client's hooks found and wrote.
func HookStore(a *app.App, c claudesettings.Client) (claudesettings.Store, error) {
	state, err := a.StatePath()
	return claudesettings.StoreIn(state, c, a.Now), err
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
