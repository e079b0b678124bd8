package record

import (
	"slices"
	"time"
)

// Sandbox is how the commands of a member are to be confined: what the team file asks for. Nil
// where one is expected: nothing is confined.
type Sandbox struct {
	Mode SandboxMode `json:"mode"`
	// Caches names the build caches that its commands may change.
	Caches []string `json:"caches,omitempty"`
	// UnixSockets is own-tree where its commands may use Unix sockets in their own directories, and
	// "" where they may use none.
	UnixSockets string `json:"unix_sockets,omitempty"`
	// Secrets are paths that cannot be read beside the built-in list, and Readable are paths that
	// can be although they are on it: absolute, or ~/ below the home directory.
	Secrets  []string `json:"secrets,omitempty"`
	Readable []string `json:"readable,omitempty"`
	// Writable are paths outside of its tree that its commands may change: absolute, or ~/ below the home directory.
	Writable []string `json:"writable,omitempty"`
	// Variables are those of its environment that its commands have although they look like secrets.
	Variables []string       `json:"variables,omitempty"`
	Limits    *SandboxLimits `json:"limits,omitempty"`
}

// Trust is the level of a member that is to be confined so: enforced only where it does not run
// otherwise. s may be nil.
func (s *Sandbox) Trust() Level {
	if s != nil && s.Mode == SandboxRequired {
		return Enforced
	}
	return Cooperative
}

// Asked reports whether anything is to be confined. s may be nil.
func (s *Sandbox) Asked() bool { return s != nil && s.Mode != SandboxOff }

// SandboxMode says what becomes of a member whose commands cannot be confined.
type SandboxMode string

// The modes.
const (
	SandboxRequired SandboxMode = "required" // it does not start
	SandboxAuto     SandboxMode = "auto"     // as much is confined as this machine can, maybe nothing
	SandboxOff      SandboxMode = "off"      // nothing is confined
)

// SocketsOwnTree is the value of Sandbox.UnixSockets.
const SocketsOwnTree = "own-tree"

// SandboxLimits bound a command. 0 is no limit.
type SandboxLimits struct {
	CPU       int64  `json:"cpu_ms,omitempty"`       // processor time of each process
	Memory    uint64 `json:"memory_bytes,omitempty"` // of all its processes together where control groups are delegated, else data of each
	Processes uint64 `json:"processes,omitempty"`    // of all together
	Time      int64  `json:"time_ms,omitempty"`      // from the start of a command to its end
	Output    int64  `json:"output_bytes,omitempty"` // that go into output.log; the rest goes to a file of its own
}

// ExitUnconfined is what a member's process exits with that requires a sandbox and has none.
const ExitUnconfined = 6

// HeldLevel is how much of a sandbox holds.
type HeldLevel string

// The levels.
const (
	HeldEnforced  HeldLevel = "enforced"
	HeldFilesOnly HeldLevel = "files only"
	HeldOff       HeldLevel = "off"
)

// Held is what confines the commands of a start of a member, found by trying it.
type Held struct {
	Level HeldLevel `json:"level"`
	Why   string    `json:"why,omitempty"` // why there is not more
	Fix   string    `json:"fix,omitempty"` // what would permit more
	// Gaps lists what the level does not hold.
	Gaps []string `json:"gaps,omitempty"`
	// Shell says that the agent's program runs outside, for the reason Outside: each of its shell
	// commands runs inside.
	Shell   bool   `json:"shell,omitempty"`
	Outside string `json:"outside,omitempty"`
}

// LevelOf is the level of what a start found; off where it found nothing.
func LevelOf(r *Ready) HeldLevel {
	if r == nil || r.Sandbox == nil {
		return HeldOff
	}
	return r.Sandbox.Word()
}

// shellOnly ends the levels of an agent whose program runs outside.
const shellOnly = " (shell only)"

// Word is the level as it is shown, which says whether it holds for the shell commands alone.
func (h *Held) Word() HeldLevel {
	if h.Shell && h.Level != HeldOff {
		return h.Level + shellOnly
	}
	return h.Level
}

// Enforces reports whether connections of a member's commands are held to its grants.
func (l HeldLevel) Enforces() bool { return l == HeldEnforced || l == HeldEnforced+shellOnly }

// Enforces reports whether connections of a member's commands are held to its grants.
func (h *Held) Enforces() bool { return h != nil && h.Level.Enforces() }

// Weakest is the least of the levels, off for none.
func Weakest(levels ...HeldLevel) HeldLevel {
	order := []HeldLevel{HeldOff, HeldFilesOnly + shellOnly, HeldFilesOnly, HeldEnforced + shellOnly, HeldEnforced}
	least := len(order) - 1
	if len(levels) == 0 {
		least = 0
	}
	for _, l := range levels {
		least = min(least, max(0, slices.Index(order, l)))
	}
	return order[least]
}

// KindConnected is the record of Connected, in a worker's journal.
const KindConnected = "connected"

// Connected are the connections that the commands of a sandboxed member made since the record
// before, or were refused.
type Connected struct {
	Connections []Connection `json:"connections"`
	// More is how many others there were beside the listed ones.
	More int `json:"more,omitempty"`
}

// Connection is connections to one host with one outcome by one grant; Count is 1 where there are
// few.
type Connection struct {
	Host    string `json:"host"`
	Port    string `json:"port"`
	By      string `json:"by"`    // connect, http or socks
	Event   string `json:"event"` // refused, failed, closed or cut
	Grant   string `json:"grant,omitempty"`
	Address string `json:"address,omitempty"` // that was dialled last: the host's, or that of the proxy that the machine reaches it by
	Count   int    `json:"count"`
	Sent    int64  `json:"sent_bytes"`
	// Received is what came from the host.
	Received int64     `json:"received_bytes"`
	Reason   string    `json:"reason,omitempty"`
	Ended    time.Time `json:"ended"` // the last one
}
