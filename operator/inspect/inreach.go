package inspect

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/fs/gitdir"
	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/record"
	"waggle/spawn"
)

// Reacher is in whose environment commands of members run.
type Reacher struct {
	Env       func(key string) string // "" for a variable that is not set
	Environ   []string                // of the git that is asked for its directory of hooks
	ClaudeDir string                  // where Claude Code has its settings
}

// InReach lists what commands of a member can use or change outside of its own files, as short words: nil for one whose
// sandbox is enforced, or whose program waggle does not run.
func (r Reacher) InReach(ctx context.Context, m *control.Member, level record.HeldLevel) (list []string) {
	switch {
	case m.Trust == record.FileTrust || level.Enforces():
		return nil
	case level == record.HeldFilesOnly:
		list = []string{"every host of the network", "the other processes of this user"}
		if s := m.Joined.Sandbox; s != nil && s.UnixSockets == record.SocketsOwnTree {
			list = append(list, r.servers()...)
		}
		return list
	}
	list = append([]string{"waggle's state and operator socket"}, r.servers()...)
	list = append(list, r.settings()...)
	if dir := r.hooks(ctx, m); dir != "" {
		list = append(list, "git's hooks in "+dir)
	}
	return list
}

// servers are the sockets of programs of this user that are there, and the servers that variables name.
func (r Reacher) servers() (list []string) {
	below := func(variable string, names ...string) (paths []string) {
		if dir := r.Env(variable); filepath.IsAbs(dir) {
			for _, n := range names {
				paths = append(paths, filepath.Join(dir, filepath.FromSlash(n)))
			}
		}
		return paths
	}
	paths := []string{"/var/run/docker.sock", "/run/podman/podman.sock"}
	paths = append(paths, below("XDG_RUNTIME_DIR", "docker.sock", "podman/podman.sock", "systemd/private", "bus", "gnupg/S.gpg-agent")...)
	paths = append(paths, below("HOME", ".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/default/docker.sock", ".gnupg/S.gpg-agent")...)
	paths = append(paths, below("GNUPGHOME", "S.gpg-agent")...)
	for _, variable := range []string{"DOCKER_HOST", "CONTAINER_HOST"} {
		u, err := url.Parse(r.Env(variable))
		switch {
		case err != nil || u.Scheme == "":
		case u.Scheme == "unix":
			paths = append(paths, u.Path)
		default: // never its password
			list = append(list, u.Scheme+"://"+u.Host+" ("+variable+")")
		}
	}
	tmux, _, _ := strings.Cut(r.Env("TMUX"), ",")
	paths = append(paths, r.Env("SSH_AUTH_SOCK"), tmux)
	if display := r.Env("WAYLAND_DISPLAY"); filepath.IsAbs(display) {
		paths = append(paths, display)
	} else if display != "" {
		paths = append(paths, below("XDG_RUNTIME_DIR", display)...)
	}
	if number, ok := strings.CutPrefix(r.Env("DISPLAY"), ":"); ok {
		number, _, _ = strings.Cut(number, ".")
		paths = append(paths, "/tmp/.X11-unix/X"+number)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 && runtime.GOOS != "windows" && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// startFiles are what shells of this user run at their start, below the home directory.
const startFiles = ".bashrc .bash_profile .profile .zshrc .zshenv .zprofile .config/fish/config.fish"

// settings are files of this user that name programs which run outside of every sandbox, and the configuration by which
// clusters are reached.
func (r Reacher) settings() (list []string) {
	home := r.Env("HOME")
	add := func(what, path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&ownerWrites != 0 {
			list = append(list, what+path)
		}
	}
	add("hooks in ", filepath.Join(r.ClaudeDir, "settings.json"))
	if !filepath.IsAbs(home) {
		return list
	}
	add("hooks in ", filepath.Join(home, ".codex", "config.toml"))
	add("hooks in ", filepath.Join(home, ".gemini", "settings.json"))
	for f := range strings.FieldsSeq(startFiles) {
		add("the shell's ", filepath.Join(home, filepath.FromSlash(f)))
	}
	kube := filepath.SplitList(r.Env("KUBECONFIG"))
	if len(kube) == 0 {
		kube = []string{filepath.Join(home, ".kube", "config")}
	}
	for _, path := range kube {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			list = append(list, "the clusters of "+path)
		}
	}
	return list
}

// ownerWrites is the permission of a file's owner to write it.
const ownerWrites fs.FileMode = 0o200

// hooks is the directory of git's hooks that a member without a git directory of its own can write: that of the repository,
// or the one that git's configuration names (core.hooksPath) in its place. "" for none.
func (r Reacher) hooks(ctx context.Context, m *control.Member) string {
	top, common := "", ""
	switch {
	case m.Worktree != nil && m.Worktree.Mirror == "":
		top, common = m.Worktree.Path, m.Worktree.Common
	case m.Worktree == nil && filepath.IsAbs(m.Cwd):
		if top = gitdir.Top(m.Cwd); top != "" {
			common = gitdir.Common(gitdir.Of(top))
		}
	}
	if common == "" {
		return ""
	}
	dir := filepath.Join(common, "hooks")
	if git, err := worktree.Find(r.Environ); err == nil {
		if path, err := git.HooksPath(ctx, top); err == nil && path != "" {
			dir = path
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || info.Mode().Perm()&ownerWrites == 0 {
		return ""
	}
	return dir
}

// reach says what commands of a member without an enforced sandbox reach.
func (y *Why) reach(ctx context.Context, o Operator, m *control.Member, w *control.Worker) {
	env := func(key string) string { return spawn.Getenv(o.Environ, key) }
	if w == nil || w.Ready == nil {
		return // it is not known yet
	}
	for _, thing := range (Reacher{env, o.Environ, o.ClaudeDir}).InReach(ctx, m, record.LevelOf(w.Ready)) {
		y.add(fromMachine, time.Time{}, "its commands reach %s", thing)
	}
}

// Least is the level of a team: that of its least confined member, as far as it is known.
func Least(levels []record.HeldLevel) record.HeldLevel {
	known := slices.DeleteFunc(slices.Clone(levels), func(l record.HeldLevel) bool { return l == operator.HeldUnknown })
	if len(known) == 0 { // also of a team without members
		return operator.HeldUnknown
	}
	return record.Weakest(known...)
}

// sandbox says what confines a member's commands, and what that does not hold.
func (y *Why) sandbox(m *control.Member, w *control.Worker) {
	if w.Ready == nil || !m.Joined.Sandbox.Asked() || w.Ready.Sandbox == nil {
		return
	}
	h := *w.Ready.Sandbox
	text := string(h.Word())
	if h.Shell {
		text += ", and the agent's program runs outside because " + h.Outside
	}
	if h.Why != "" {
		text += ", not more because " + h.Why
	}
	if h.Fix != "" {
		text += "; to permit more: " + h.Fix
	}
	y.add(fromWorker, w.ReadyAt, "its sandbox is %s", text)
	for _, gap := range h.Gaps {
		y.add(fromWorker, w.ReadyAt, "its sandbox does not hold: %s", gap)
	}
}

// SandboxOf is what confines the commands of a team's members: the level of the least confined one
// that is ready.
func SandboxOf(s *operator.State) record.HeldLevel {
	var levels []record.HeldLevel
	for _, m := range s.Lead.Live() {
		held := operator.HeldOf(m, nil)
		if held == operator.HeldUnknown {
			if w, err := s.Worker(m.Instance); err == nil {
				held = operator.HeldOf(m, w.Ready)
			}
		}
		levels = append(levels, held)
	}
	return Least(levels)
}
