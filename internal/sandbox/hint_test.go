package sandbox_test

import (
	"strings"
	"testing"

	"waggle/internal/sandbox"
)

// What a sandbox has refused has a hint with the way, one for each thing; other failures have none.
func TestHints(t *testing.T) {
	for output, want := range map[string]string{
		"touch: cannot touch '/usr/x': Read-only file system":                                                                                        "$TMPDIR",
		"npm error EROFS: read-only file system, symlink '../x' -> '/usr/lib/node_modules/x'":                                                        "npm_config_prefix",
		"mkdir: cannot create directory '/home/u/.cache/x': Read-only file system":                                                                   "XDG_CACHE_HOME",
		"fatal: Unable to create '/home/u/p/.git/index.lock': Read-only file system":                                                                 "worktree: true",
		"error: could not lock config file .git/config: Read-only file system":                                                                       ".git/config stays",
		"error: could not write config file .git/config: Device or resource busy":                                                                    ".git/config stays",
		"sh: 1: cannot create .git/hooks/x: Read-only file system":                                                                                   "refuses them too",
		"Error: EROFS: read-only file system, open '/home/u/p/.git/hooks/pre-commit'":                                                                "refuses them too",
		"rm: cannot remove '.claude': Device or resource busy":                                                                                       "refuses them too",
		"mkdir: cannot create directory ‘/home/u/.claude-x’: Read-only file system":                                                                  "`writable: [PATH]`",
		"OSError: [Errno 30] Read-only file system: '.codex'":                                                                                        "refuses them too",
		"touch: cannot touch '.github/x': Read-only file system":                                                                                     "`writable: [PATH]`",
		"error: could not lock config file /home/u/.gitconfig: Read-only file system":                                                                "GIT_CONFIG_GLOBAL",
		"Error: listen EPERM: operation not permitted /home/u/p/x.sock":                                                                              "unix_sockets: own-tree",
		"dial unix /tmp/x: socket: operation not permitted":                                                                                          "unix_sockets: own-tree",
		"    _socket.socket.__init__(self, family)\nPermissionError: [Errno 1] Operation not permitted":                                              "unix_sockets: own-tree",
		"curl: (6) Could not resolve host: example.com":                                                                                              "HTTPS_PROXY",
		"psql: error: connection to server on socket \"/var/run/postgresql/.s.PGSQL.5432\" failed: could not create socket: Operation not permitted": "unix_sockets: own-tree",
		"ERROR 2001 (HY000): Can't create UNIX socket (1)":                                                                                           "unix_sockets: own-tree",
		"tcp 10.0.0.1:80: could not create socket: Operation not permitted":                                                                          "",
		"ping: socket: Operation not permitted":                                                                                                      "",
		"rm: cannot remove 'x': Device or resource busy":                                                                                             "",
		"chown: changing ownership of 'x': Operation not permitted":                                                                                  "",
		"FAIL: TestX": "",
	} {
		got := sandbox.Hints(sandbox.Enforced, output, false)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want one with %q", output, got, want)
		}
		if strings.Contains(want, "unix_sockets") && len(sandbox.Hints(sandbox.Enforced, output, true)) > 0 {
			t.Errorf("%s: a hint for what is on", output)
		}
	}
}

// At the level of files the kernel refuses by another word, and neither the network nor .git is refused.
func TestHintsFilesOnly(t *testing.T) {
	for output, want := range map[string]string{
		"touch: cannot touch '/usr/x': Permission denied":                                                  "`writable: [PATH]`",
		"mkdir: cannot create directory ‘../x’: Permission denied":                                         "`writable: [PATH]`",
		"bash: line 1: /home/u/.bashrc: Permission denied":                                                 "$TMPDIR",
		"npm error Error: EACCES: permission denied, mkdir '/usr/lib/node_modules/x'":                      "npm_config_prefix",
		"PermissionError: [Errno 13] Permission denied: '/home/u/.ssh/id'":                                 "`readable: [PATH]`",
		"error: could not lock config file /home/u/.gitconfig: Permission denied":                          "GIT_CONFIG_GLOBAL",
		"Error: listen EPERM: operation not permitted /home/u/p/x.sock":                                    "unix_sockets: own-tree",
		"sh: 1: ./script: Permission denied":                                                               "",
		"git@example.com: Permission denied (publickey).":                                                  "",
		"curl: (6) Could not resolve host: example.com":                                                    "",
		"curl: (7) Failed to connect to 127.0.0.1 port 80: Connection refused":                             "",
		"touch: cannot touch '/mnt/x': Read-only file system":                                              "",
		"permission denied while trying to connect to the Docker daemon socket at unix:///run/docker.sock": "",
	} {
		got := sandbox.Hints(sandbox.FilesOnly, output, false)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want one with %q", output, got, want)
		}
	}
	if got := sandbox.Hints(sandbox.Enforced, "touch: cannot touch '/usr/x': Permission denied", false); len(got) > 0 {
		t.Errorf("at the level enforced: %q", got)
	}
}
