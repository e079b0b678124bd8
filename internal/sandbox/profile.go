// Package sandbox runs a command with access to the files and hosts of its profile, and to nothing
// else: package policy decides, this package enforces the decision with the kernel's means.
//
//	kit, err := sandbox.NewKit(dir, program)       // once for a member
//	sb := sandbox.Sandbox{Kit: kit, Level: sandbox.Enforced, Profile: profile, Network: proxy.Serve}
//	exit, err := sb.Run(ctx, spawn.Command{Argv: argv, Dir: dir, Env: environ})
//
// On Linux the command runs below bubblewrap: in a network namespace with loopback only, with its
// own process ids, IPC and host name, with a file system that is read-only except for the profile's
// directories, without access to secrets, and without waggle's own files. Inside, package relay
// adds Landlock, a filter of system calls and limits, and sends the listening socket of the proxy
// to package proxy, which makes the only connections to the network.
//
// Levels. Enforced is all of that. FilesOnly is Landlock, the filter and the limits without
// namespaces: files are protected, the network is not. Off is no sandbox. Kit.Detect finds the
// highest level that this machine supports, the reason, and the command that would permit a higher
// one. Level.Gaps lists what a level does not enforce, and Sandbox.LimitGaps the limits that cannot
// be enforced: no face may show either as enforced. Sandbox.Test tests every promise from inside
// when a member starts; a level with a failed point is not used. Sandbox.Explain lists what a
// command could access, and why. On macOS the levels are Enforced, by sandbox-exec, and Off.
//
// Failures. A sandbox that cannot be built runs no command (ErrSetup). When the proxy or the
// program outside ends, connections are refused; when the program outside is killed, the kernel
// kills every process inside.
//
// A sandbox does not prevent: that a granted host passes data on; reading a file that is not on the
// list of secrets, or a secret that is created while a command runs; changes to the member's own
// directories, whose files other programs may run later; with UnixSockets, connections to a server
// that begins to listen outside /run and /tmp while a command runs; a fault of the kernel. On macOS
// other programs of this machine can use the proxy's port.
package sandbox

import (
	"waggle/internal/sandbox/relay"
)

// Level names how much a sandbox enforces.
type Level string

// The levels.
const (
	Enforced  Level = "enforced"
	FilesOnly Level = "files only"
	Off       Level = "off"
)

// Profile lists what a member's commands may access. Every path is absolute.
type Profile struct {
	// Writable are the directories that the command may change: the member's checkout, its
	// artifacts, granted caches. They must exist, and have no link on the way (Real).
	Writable []string
	// Tmp is the directory that is /tmp and $TMPDIR inside. "": one in memory, which
	// ends with the command.
	Tmp string
	// Secrets are files and directories that exist inside and cannot be read.
	Secrets []string
	// Hidden are directories that are empty inside, and files that cannot be read: waggle's state,
	// its sockets, the mailboxes of other members.
	Hidden []string
	// Readable are files and directories that can be read although they are secrets.
	Readable []string
	// ReadOnly are paths inside writable directories that the command cannot change. A path that
	// does not exist cannot be protected.
	ReadOnly []string
	// UnixSockets lets the command use Unix sockets; it finds only those in its own
	// directories.
	UnixSockets bool
	// KeepEnv are variables that stay in the environment although their names look like secrets.
	KeepEnv []string
	// Loopback are addresses of 127.0.0.1 and names for it that lead outside by the proxy.
	Loopback []string
	Limits   relay.Limits
}
