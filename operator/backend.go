package operator

// Backends that a team file may name.
const (
	BackendAuto    = "auto"
	BackendProcess = "process"
	BackendTmux    = "tmux"
	// BackendTmuxWindow is tmux with a window for each member instead of a pane.
	BackendTmuxWindow = "tmux-window"
	BackendITerm2     = "iterm2"
	// BackendInProcess is the leader's own process.
	BackendInProcess = "in-process"
	// BackendMCP is that of a member whose client connects by itself: nothing is started.
	// It goes with the agent of that kind, and is none of the words of Backends.
	BackendMCP = "mcp"
)

// Backends lists the backends that a team file may name.
func Backends() []string {
	return []string{BackendAuto, BackendProcess, BackendTmux, BackendTmuxWindow, BackendITerm2, BackendInProcess}
}
