package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// barred reports whether a directory above a path belongs to another user and lets nobody of this
// process's groups pass. In a user namespace root has no rights over such a directory: neither
// bubblewrap, which could not mount there, nor a command reaches the path.
func barred(path string) bool {
	for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return false
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && int(st.Uid) != os.Geteuid() && info.Mode().Perm()&0o001 == 0 && !groupPasses(dir, info, int(st.Gid)) {
			return true
		}
	}
	return false
}

// groupPasses reports whether one of this process's groups may pass a directory. A directory with an
// access control list counts as one that it may pass.
func groupPasses(dir string, info os.FileInfo, gid int) bool {
	if info.Mode().Perm()&0o010 == 0 {
		return false
	}
	if n, err := unix.Lgetxattr(dir, "system.posix_acl_access", nil); err == nil && n > 0 {
		return true
	}
	groups, err := os.Getgroups()
	return err != nil || gid == os.Getegid() || slices.Contains(groups, gid)
}
