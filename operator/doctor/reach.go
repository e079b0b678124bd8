package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"waggle"
	"waggle/control"
	"waggle/internal/gitdir"
	"waggle/operator"
	"waggle/record"
)

// reached lists what commands of members without an enforced sandbox can reach on this machine.
func (d *doctor) reached(ctx context.Context, n waggle.TeamName) (out []Finding) {
	s, err := d.op.State(ctx, n)
	if err != nil || s == nil {
		return nil
	}
	var open, hooks []string
	for _, m := range s.Lead.Live() {
		if m.Trust == record.FileTrust || d.enforced(s.Worker, m) {
			continue
		}
		open = append(open, string(m.Name))
		if dir := hooksOf(m); dir != "" && !slices.Contains(hooks, dir) {
			hooks = append(hooks, dir)
		}
	}
	if len(open) == 0 {
		return nil
	}
	things := append(d.things(), d.settings()...)
	for _, dir := range hooks {
		things = append(things, "git's hooks in "+dir)
	}
	return []Finding{todo(teamWhat(n), Note, fmt.Sprintf("not confined: %s; in reach of %s: %s", strings.Join(open, ", "), it(len(open)), strings.Join(things, ", ")),
		operator.NextSandboxTest.With())}
}

func it(n int) string {
	if n == 1 {
		return "its commands"
	}
	return "their commands"
}

// enforced reports a member whose start found all of its sandbox to hold.
func (d *doctor) enforced(fold func(record.Instance) (*control.Worker, error), m *control.Member) bool {
	w, err := fold(m.Instance)
	return err == nil && record.LevelOf(w.Ready).Enforces()
}

// things are waggle's own files and the servers that a process of this user can use.
func (d *doctor) things() []string {
	list := []string{"waggle's state and operator socket"}
	sockets := []string{"/var/run/docker.sock", "/run/podman/podman.sock"}
	if runtimeDir := d.o.Env("XDG_RUNTIME_DIR"); runtimeDir != "" {
		sockets = append(sockets, filepath.Join(runtimeDir, "docker.sock"), filepath.Join(runtimeDir, "podman", "podman.sock"), filepath.Join(runtimeDir, "systemd", "private"), filepath.Join(runtimeDir, "bus"))
	}
	if docker, ok := strings.CutPrefix(d.o.Env("DOCKER_HOST"), "unix://"); ok {
		sockets = append(sockets, docker)
	}
	tmux, _, _ := strings.Cut(d.o.Env("TMUX"), ",")
	for _, path := range append(sockets, d.o.Env("SSH_AUTH_SOCK"), tmux) {
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 && runtime.GOOS != "windows" && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// settings are the files in which agents of this user have hooks: programs that run outside of every
// sandbox.
func (d *doctor) settings() (list []string) {
	paths := []string{filepath.Join(d.o.ClaudeDir, "settings.json")}
	if home := d.o.Env("HOME"); home != "" {
		paths = append(paths, filepath.Join(home, ".codex", "config.toml"), filepath.Join(home, ".gemini", "settings.json"))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && writable(info) {
			list = append(list, "hooks in "+path)
		}
	}
	return list
}

// hooksOf is the directory of git's hooks that a member without a git directory of its own can
// write, "" for none.
func hooksOf(m *control.Member) string {
	common := ""
	switch {
	case m.Worktree == nil:
		common = repositoryAbove(m.Cwd)
	case m.Worktree.Mirror == "":
		common = m.Worktree.Common
	}
	if common == "" {
		return ""
	}
	dir := filepath.Join(common, "hooks")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !writable(info) {
		return ""
	}
	return dir
}

// repositoryAbove is the git directory, with the hooks, of the checkout in which a directory lies, ""
// outside of one.
func repositoryAbove(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	top := gitdir.Top(dir)
	if top == "" {
		return ""
	}
	return gitdir.Common(gitdir.Of(top))
}

// writable reports a file that its owner may write.
func writable(info fs.FileInfo) bool { return info.Mode().Perm()&0o200 != 0 }
