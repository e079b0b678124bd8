package terminal

import (
	"path/filepath"
	"strings"
)

// TmuxOptions say which tmux, and where in it.
type TmuxOptions struct {
	Options
	// Program is tmux, an absolute path.
	Program string
	// Env is what tmux itself is run with; a member gets only what its Spec says.
	Env []string
	// Socket is the server's socket, an absolute path. Without Home the server is
	// ours and made when it is not there.
	Socket string
	// Home is a pane ("%0"), ours when we run inside tmux: members get panes
	// beside it if it is alone in its window, else a window of their own. "" puts
	// them into a session of their own.
	Home string
	// Session names that session, and the window; required.
	Session string
	// Windows gives each member a window instead of a pane.
	Windows bool
}

// InTmux reads where a program runs from its environment: the server's socket and
// its own pane. ok is false outside tmux.
func InTmux(env []string) (socket, pane string, ok bool) {
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		switch k {
		case "TMUX": // SOCKET,PID,SESSION; a socket's path may have commas
			if i := strings.LastIndexByte(v, ','); i > 0 {
				if j := strings.LastIndexByte(v[:i], ','); j > 0 {
					socket = v[:j]
				}
			}
		case "TMUX_PANE":
			pane = v
		}
	}
	return socket, pane, filepath.IsAbs(socket) && paneID(pane)
}

// paneID reports whether s is spelled like tmux spells the id of a pane.
func paneID(s string) bool {
	n, ok := strings.CutPrefix(s, "%")
	return ok && n != "" && strings.Trim(n, "0123456789") == ""
}
