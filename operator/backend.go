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
)

// Backends lists the backends that a team file may name.
func Backends() []string {
	return []string{BackendAuto, BackendProcess, BackendTmux, BackendTmuxWindow, BackendITerm2, BackendInProcess}
}
