//go:build unix

package app

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"waggle/internal/fs/atomicfile"
	"waggle/spawn"
)

// screenFile is whose lock says that a full screen has a terminal; "" where that cannot be known. It is named by the terminal
// and by the process that leads its session: a later terminal may have the same number.
func (a *App) screenFile(in *os.File) string {
	var st unix.Stat_t
	if unix.Fstat(int(in.Fd()), &st) != nil || !Tty(in) {
		return ""
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		return ""
	}
	leader, err := spawn.Identify(sid)
	state, serr := a.StatePath()
	if err != nil || serr != nil {
		return ""
	}
	return filepath.Join(state, "sessions", ".screens", fmt.Sprintf("%x-%d-%x.lock", st.Rdev, sid, leader.Start))
}

// HoldScreen says that this process has a terminal for a full screen, until release or the end of the process.
func (a *App) HoldScreen(in *os.File) (release func()) {
	path := a.screenFile(in)
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return func() {}
	}
	unlock, held, err := atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease})
	if err != nil || !held {
		return func() {} // after a kill nothing repairs the terminal
	}
	return func() {
		_ = os.Remove(path)
		_ = unlock() // nobody waits for it
	}
}

// ScreenKilled reports whether the process of a full screen was killed on a terminal, once.
func (a *App) ScreenKilled(in *os.File) bool {
	path := a.screenFile(in)
	if path == "" {
		return false
	}
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	unlock, held, err := atomicfile.TryFlock(path, atomicfile.Options{Rank: atomicfile.RankLease})
	if err != nil || !held {
		return false
	}
	killed := os.Remove(path) == nil
	_ = unlock() // nobody waits for it
	return killed
}
