package terminal

import (
	"path/filepath"
	"strings"

	"waggle/spawn"
)

// TmuxOptions say which tmux, and where in it.
type TmuxOptions struct {
	Options
	// Program is tmux, an absolute path.
	Program string
	// Env is what tmux itself is run with; a member gets what its Spec says, and its pane.
	Env []string
	// Socket is the server's socket, an absolute path. Without Home the server is
	// ours and made when it is not there.
	Socket string
	// Home is a pane ("%0"), ours when we run inside tmux: members get panes beside it if no other
	// pane is in its window, else a window of their own, in its session when the pane is gone. ""
	// puts them into a session of their own. When Env has the variable TMUX of that server, only
	// that run of it will do.
	Home string
	// Session names that session, and the window; required.
	Session string
	// Windows gives each member a window instead of a pane.
	Windows bool
}

// InTmux reads where a program runs from its environment: the server's socket and
// its own pane. ok is false outside tmux.
func InTmux(env []string) (socket, pane string, ok bool) {
	socket, _, _ = tmuxVar(env)
	pane = spawn.Getenv(env, "TMUX_PANE")
	return socket, pane, filepath.IsAbs(socket) && paneID(pane)
}

// tmuxVar reads the variable TMUX: SOCKET,PID,SESSION. A socket's path may have
// commas. The session is a number.
func tmuxVar(env []string) (socket, pid, session string) {
	v := spawn.Getenv(env, "TMUX")
	i := strings.LastIndexByte(v, ',')
	j := strings.LastIndexByte(v[:max(i, 0)], ',')
	if j <= 0 {
		return "", "", ""
	}
	return v[:j], v[j+1 : i], v[i+1:]
}

// paneID reports whether s is spelled like tmux spells the id of a pane.
func paneID(s string) bool {
	n, ok := strings.CutPrefix(s, "%")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}
