package inspect_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/record"
)

// TestInReach: what commands of a member reach outside of their own files is listed where it is there: servers of the user
// and of variables, settings, start files of shells, clusters. Of a member with an enforced sandbox there is nothing.
func TestInReach(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no such sockets")
	}
	home, err := os.MkdirTemp("/tmp", "wir") // a socket's path is short
	testenv.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	env := map[string]string{"HOME": home, "XDG_RUNTIME_DIR": home + "/run", "WAYLAND_DISPLAY": "wayland-1", "CONTAINER_HOST": "ssh://me:secret@pods:22/x", "DOCKER_HOST": "unix://" + home + "/d.sock", "SSH_AUTH_SOCK": home + "/agent", "DISPLAY": ":0.0"}
	r := inspect.Reacher{Env: func(k string) string { return env[k] }, ClaudeDir: home + "/.claude"}
	m := &control.Member{Joined: record.Joined{Cwd: home, Sandbox: &record.Sandbox{Mode: record.SandboxAuto}}}
	if got := r.InReach(t.Context(), m, record.HeldOff); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, home) }) {
		t.Errorf("with nothing there: %q", got)
	}
	var servers, files []string
	for _, path := range []string{"run/docker.sock", "run/gnupg/S.gpg-agent", "run/wayland-1", "run/bus", ".docker/run/docker.sock", ".gnupg/S.gpg-agent", "d.sock", "agent"} {
		path = filepath.Join(home, path)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		l := testenv.Value(net.Listen("unix", path))(t)
		t.Cleanup(func() { l.Close() })
		servers = append(servers, path)
	}
	for path, words := range map[string]string{".bashrc": "the shell's ", ".config/fish/config.fish": "the shell's ", ".kube/config": "the clusters of ", ".claude/settings.json": "hooks in ", ".codex/config.toml": "hooks in "} {
		path = filepath.Join(home, path)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.WriteFile(path, nil, 0o600))
		files = append(files, words+path)
	}
	got := r.InReach(t.Context(), m, record.HeldOff)
	for _, want := range append(append(slices.Clone(servers), files...), "waggle's state and operator socket", "ssh://pods:22 (CONTAINER_HOST)") {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(strings.Join(got, " "), "secret") {
		t.Errorf("a password is shown: %q", got)
	}
	if got := r.InReach(t.Context(), m, record.HeldEnforced); got != nil {
		t.Errorf("enforced: %q", got)
	}
	if got := r.InReach(t.Context(), m, record.HeldFilesOnly); len(got) != 2 {
		t.Errorf("files only: %q", got)
	}
	m.Joined.Sandbox.UnixSockets = record.SocketsOwnTree
	if got := r.InReach(t.Context(), m, record.HeldFilesOnly); !slices.Contains(got, servers[0]) || slices.Contains(got, files[0]) {
		t.Errorf("files only with sockets: %q", got)
	}
}

// TestHooksInReach: the hooks of the repository in which a member works are in its reach, also without a worktree, and in their
// place those that git's configuration names; hooks that cannot be written, and those of a repository that lends only its
// objects, are not.
func TestHooksInReach(t *testing.T) {
	testenv.Require(t, "git")
	work := t.TempDir()
	r := inspect.Reacher{Env: func(string) string { return "" }, Environ: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")}
	of := func(m *control.Member) string {
		for _, s := range r.InReach(t.Context(), m, record.HeldOff) {
			if dir, ok := strings.CutPrefix(s, "git's hooks in "); ok {
				return dir
			}
		}
		return ""
	}
	sub, hooks := filepath.Join(work, "sub"), filepath.Join(work, ".git", "hooks")
	testenv.Must(t, os.MkdirAll(sub, 0o700))
	in := func(dir string) *control.Member { return &control.Member{Joined: record.Joined{Cwd: dir}} }
	if got := of(in(sub)); got != "" {
		t.Errorf("without a repository: %q", got)
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", work}, args...)...).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	git("init", "-q")
	testenv.Must(t, os.MkdirAll(hooks, 0o700))
	for _, dir := range []string{work, sub} {
		if got := of(in(dir)); got != hooks {
			t.Errorf("in %s: %q", dir, got)
		}
	}
	for mirror, want := range map[string]string{"": hooks, work + "/mirror": ""} {
		m := &control.Member{Joined: record.Joined{Worktree: &record.Worktree{Path: work, Common: filepath.Join(work, ".git"), Mirror: mirror}}}
		if got := of(m); got != want {
			t.Errorf("mirror %q: %q", mirror, got)
		}
	}
	git("config", "core.hooksPath", "sub")
	if got := of(in(work)); got != sub {
		t.Errorf("core.hooksPath: %q", got)
	}
	testenv.Must(t, os.Chmod(sub, 0o500))
	if got := of(in(work)); got != "" && runtime.GOOS != "windows" {
		t.Errorf("hooks that cannot be written: %q", got)
	}
}
