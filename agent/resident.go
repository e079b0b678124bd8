package agent

import (
	"time"

	"waggle/spawn"
)

// Resident is an Agent with a program that runs from turn to turn.
type Resident interface {
	Agent
	// Needs says what its program must have in a sandbox, for a member with this environment that
	// works in dir. It starts nothing.
	Needs(environ []string, dir string) Needs
	// Settle gives it, before its first turn, what runs such a program: the worker's record of it lets
	// a later process of the member end it.
	Settle(p Place)
}

// Needs is what the program of a Resident must have in a sandbox, beside what every command has.
type Needs struct {
	Hosts     []HostPort // that it reaches without a question
	Readable  []string   // files and directories, also on the list of secrets
	Writable  []string   // directories, which are made
	Files     []string   // that may be changed where they are there
	Hidden    []string   // what is not there
	Variables []string   // that come in although their names are those of secrets
	// Start is a command that shows whether the program starts at all; nil: it is not tried.
	Start []string
	// Settings are directories in the member's own that name programs which the program runs. They
	// are made, and no command of the member writes there.
	Settings []string
	// Shell are files and directories that its shell commands read where the program runs outside.
	Shell []string
}

// HostPort is a name or an address, with a port.
type HostPort struct{ Name, Port string }

// Place is where the program of a Resident runs.
type Place struct {
	Exec Exec
	// Leads says that the member is the agent behind the lead: the program gets the lead's tools.
	Leads bool
	Box   *Box // nil: nothing confines the program
	// Shell is the sandbox of its shell commands where Box is nil; nil: nothing confines them.
	Shell *Shell
	// Limits are those of one tool call that Exec does not hold.
	Limits CallLimits
}

// Box is the sandbox of a whole program.
type Box struct {
	Shared string // a directory that programs inside can only read
	Own    string // a directory that they write: nothing in it is to be trusted
	// Missed returns what the agent must know about the connections that programs inside did not get since
	// it was called last, for the end of a call, which failed or not, and its output; "": nothing.
	Missed func(failed bool, output string) string
}

// Shell is the sandbox of the shell commands of a program that runs outside and starts them itself.
type Shell struct {
	Tmp string // a directory for temporary files that the program and its commands have in common by name
	// Settings are the directories of Needs.Settings.
	Settings []string
	// Prepare returns the process that runs a command inside, in which the paths guarded are
	// read-only. Whoever starts the process calls Close when it has ended, also when none was started.
	Prepare func(c spawn.Command, guarded []string) (Prepared, error)
}

// Prepared is a process that runs a command in a sandbox.
type Prepared struct {
	Argv, Env []string
	End       func() error                // asks the command to end
	Close     func() (*spawn.Exit, error) // returns how the command ended; nil: as the process
	// Note returns what its user must know about what the sandbox refused it; "": nothing. output is the end of the
	// command's output, as far as it is known.
	Note func(exit spawn.Exit, output string) string
}

// CallLimits bound one tool call. 0 is no limit.
type CallLimits struct {
	Time   time.Duration // from its start to its end
	CPU    time.Duration // processor time of each of its processes
	Output int64         // bytes
}
