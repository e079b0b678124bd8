package home

import (
	"os"
	"path/filepath"
	"time"

	"waggle/internal/fs/atomicfile"
)

// parts are the directories of a team's state that are made again when they are needed. The
// journals are not, because they have authority.
var parts = []string{"set-aside", "processes", "archive", "started", "tools", "sockets", "tokens", "bridges", "cgroups", "worktrees"}

// Mend repairs the team's directories: a path of one that is not a directory is set aside, and
// missing directories are made. It checks before it changes anything; a link to a directory counts
// as a directory. A directory that cannot be repaired causes an error where it is needed.
func (d Dir) Mend(now time.Time) {
	if d.Aside {
		return
	}
	if info, err := os.Stat(d.Path); err != nil || !info.IsDir() {
		return
	}
	for _, name := range parts {
		path := filepath.Join(d.Path, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			_, _ = atomicfile.SetAside(path, d.Quarantine(), now)
		}
	}
	for _, path := range []string{d.Processes(), d.Archive()} {
		_ = os.Mkdir(path, 0o700)
	}
}
