// Package relay is the part of the sandbox that runs inside: it removes the remaining rights, then
// starts the command.
//
// The program that starts sandboxes calls Main from its hidden subcommand, and Config
// says what Main does:
//
//	os.Exit(relay.Main(os.Args[2:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
//
//	argv := append([]string{"/run/waggle/relay", "sandbox-relay"}, cfg.Args()...)
//
// The relay does, in this order: it listens on 127.0.0.1:Proxy in its own network namespace and
// sends the listening socket through the door, a Unix socket on which the program outside listens;
// it waits for the note Go; it sets limits, a Landlock domain and a system call filter for itself;
// it starts the command, which inherits them; it waits for the command and reports through the door
// how it ended.
//
// The proxy outside accepts the connections on that socket itself. So no process inside has a
// connection to the network: after the filter is set, the relay cannot open a Unix socket either.
// When the program outside ends, its socket closes, and connections to the proxy are refused.
package relay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"waggle/internal/json/jsonobj"
)

// Subcommand is the hidden subcommand whose main calls Main.
const Subcommand = "sandbox-relay"

// Exit codes of Main's program when the command did not run.
const (
	CodeChanged     = 124 // another command changes what is mounted: the command did not run
	CodeFailed      = 125 // the sandbox could not be completed: the command did not run
	CodeUnstartable = 126 // the command could not be started
	CodeNotFound    = 127 // there is no such command
)

// Config is the configuration of the relay.
type Config struct {
	// Door is the socket of the program outside.
	Door string `json:"door,omitempty"`
	// Proxy is the port of 127.0.0.1 on which the command finds the proxy. 0: none.
	Proxy int `json:"proxy,omitempty"`
	// Writable are the directories and files that the command may change.
	Writable []string `json:"writable,omitempty"`
	// Mounts are those that a command of the member could have led elsewhere.
	Mounts []Mounted `json:"mounts,omitempty"`
	// Readable are the directories and files whose contents the command may read;
	// nil: all that it can see.
	Readable []string `json:"readable,omitempty"`
	// UnixSockets lets the command open Unix sockets.
	UnixSockets bool `json:"unix_sockets,omitempty"`
	// Landlock makes the relay fail on a kernel without Landlock.
	Landlock bool `json:"landlock,omitempty"`
	// Limits are for the command and its children.
	Limits Limits `json:"limits,omitzero"`
	// Argv is the command.
	Argv []string `json:"-"`
}

// ID is which file a path names, as long as the file exists.
type ID struct {
	Dev uint64 `json:"dev,omitempty"`
	Ino uint64 `json:"ino,omitempty"`
}

// Mounted is a mount that bubblewrap has made in a directory that the member writes.
type Mounted struct {
	Path     string `json:"path"`
	ID       ID     `json:"id,omitzero"` // the file that is mounted there, unless it is a mask
	Mask     bool   `json:"mask,omitempty"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Limits are the limits of each process, or of all processes in the sandbox. 0 is no limit. The
// relay sets rlimits.
type Limits struct {
	CPU       time.Duration `json:"cpu,omitempty"`       // processor time of each process
	Memory    uint64        `json:"memory,omitempty"`    // bytes of data of each process
	Processes uint64        `json:"processes,omitempty"` // processes and threads of all together
	Files     uint64        `json:"files,omitempty"`     // open files of each process
	FileSize  uint64        `json:"file_size,omitempty"` // bytes of each file that is written

	// Limits that need a control group; the relay ignores them.
	GroupMemory uint64 `json:"-"` // bytes of all processes together
	GroupCPU    uint64 `json:"-"` // share of the processors of all together, in hundredths of one
}

// wordSize is the largest argument of the configuration: the kernel starts no program with an
// argument of more than 128 KiB.
const wordSize = 32 << 10

// Args are the arguments that give Main this configuration: "run", its JSON in as many arguments as
// it needs, "--", and the command.
func (c Config) Args() ([]string, error) {
	command := c.Argv
	c.Argv = nil
	data, err := jsonobj.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("sandbox relay: %w", err)
	}
	args := []string{"run"}
	for chunk := range slices.Chunk(data, wordSize) {
		args = append(args, string(chunk))
	}
	return append(append(args, "--"), command...), nil
}

// readConfig is the inverse of Args, without the first argument.
func readConfig(args []string) (Config, error) {
	end := slices.Index(args, "--")
	if end < 1 || end == len(args)-1 {
		return Config{}, errors.New("the relay's configuration names no command")
	}
	var c Config
	if err := json.Unmarshal([]byte(strings.Join(args[:end], "")), &c); err != nil {
		return Config{}, fmt.Errorf("the relay's configuration: %w", err)
	}
	c.Argv = args[end+1:]
	return c, nil
}

// Note is one line of the protocol on the door, in either direction.
type Note struct {
	Listening bool          `json:"listening,omitempty"` // to outside: the proxy's socket comes with it
	Go        bool          `json:"go,omitempty"`        // to inside: start the command
	Signal    int           `json:"signal,omitempty"`    // to inside: send it to the command; to outside: it ended the command
	Ended     bool          `json:"ended,omitempty"`     // to outside: the command has ended
	Code      int           `json:"code,omitempty"`      // to outside: its exit status with Ended, the relay's with Err
	CPU       time.Duration `json:"cpu,omitempty"`       // to outside: with Ended, processor time of its processes that have ended
	Err       string        `json:"err,omitempty"`       // to outside: why the command was not started
}

// Main runs one of the relay's modes and returns the exit status of the program: "run CONFIG --
// COMMAND" starts a command, "connect HOST PORT" joins stdin and stdout to a connection through the
// proxy that the environment names, "probe SPEC" tests what a sandbox must refuse, "ready" only
// shows that the relay can be started.
func Main(args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	code, err := dispatch(args, environ, stdin, stdout)
	if err != nil {
		fmt.Fprintf(stderr, "the sandbox: %v\n", err)
	}
	return code
}

func dispatch(args, environ []string, stdin io.Reader, stdout io.Writer) (int, error) {
	switch {
	case len(args) > 1 && args[0] == "run":
		c, err := readConfig(args[1:])
		if err != nil {
			return CodeFailed, err
		}
		return run(c, environ)
	case len(args) == 3 && args[0] == "connect":
		return connect(args[1], args[2], environ, stdin, stdout)
	case len(args) == 2 && args[0] == "probe":
		return probe(args[1], environ, stdout)
	case len(args) == 1 && args[0] == "ready":
		return 0, nil // that it runs is the answer
	}
	return CodeFailed, errors.New("the relay is started by waggle itself: run CONFIG -- COMMAND, connect HOST PORT or probe SPEC")
}
