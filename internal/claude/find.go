package claude

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/agent"
	"waggle/spawn"
)

// Oldest is the oldest version whose protocol was observed.
var Oldest = Version{2, 1, 150}

// OldestInPane is the oldest client that takes words of other sessions, which a member in a pane
// needs.
var OldestInPane = Version{2, 1, 224}

// confirms is the oldest client that is known to say that it runs the hook of its host, and blocks a
// call when that fails. A client before it runs the hook too (2.1.150).
var confirms = Version{2, 1, 329}

// Confirms reports whether the client says that it runs the hook of its host.
func (f Found) Confirms() bool { return !f.Version.before(confirms) }

// Version is a client's version.
type Version [3]int

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// Usable reports whether members can use this version.
func (v Version) Usable() bool { return !v.before(Oldest) }

func (v Version) before(w Version) bool { return slices.Compare(v[:], w[:]) < 0 }

// UnsupportedError: the client cannot be a member in a pane.
type UnsupportedError struct{ Found Found }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("a member in a pane is unsupported with %s, Claude Code %s: words of other sessions are taken from %s on; claude update, or write backend: process for the member",
		e.Found.Program, e.Found.Version, OldestInPane)
}

// InPane says why a client cannot be a member in a pane, nil when it can.
func (f Found) InPane() error {
	if f.Version.before(OldestInPane) {
		return &UnsupportedError{f}
	}
	return nil
}

// ParseVersion reads what claude --version prints: "2.1.330 (Claude Code)".
func ParseVersion(s string) (v Version, err error) {
	first, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	parts := strings.Split(first, ".")
	if len(parts) != 3 {
		return v, fmt.Errorf("%q is no version of Claude Code", clipped(first))
	}
	for i, p := range parts {
		if v[i], err = strconv.Atoi(p); err != nil || v[i] < 0 {
			return v, fmt.Errorf("%q is no version of Claude Code", clipped(first))
		}
	}
	return v, nil
}

// Found is a client on this machine.
type Found struct {
	Program string
	Version Version
}

// MissingError means that there is no client, or only an unusable one.
type MissingError struct {
	Program string
	Why     error // nil: it is too old
	Version Version
}

func (e *MissingError) Error() string {
	if e.Why == nil {
		return fmt.Sprintf("%s is Claude Code %s, and agent claude needs %s or newer: claude update", e.Program, e.Version, Oldest)
	}
	return fmt.Sprintf("agent claude needs Claude Code: %v; install it (https://code.claude.com/docs/en/setup) or name it with program", e.Why)
}

func (e *MissingError) Unwrap() error { return e.Why }

// Find looks a client up in the PATH of env and asks for its version. A MissingError says what is
// wrong with it.
func Find(ctx context.Context, name string, env []string) (Found, error) {
	return findBy(ctx, direct{}, name, env, "")
}

// program is what a name in a member's settings stands for.
func program(name string) string { return cmp.Or(name, "claude") }

func findBy(ctx context.Context, run agent.Exec, name string, env []string, dir string) (Found, error) {
	name = program(name)
	path, err := spawn.LookPath(name, env)
	if err != nil {
		return Found{}, &MissingError{Program: name, Why: err}
	}
	const patience = 20 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out bytes.Buffer
	exit, err := run.Run(ctx, spawn.Command{Argv: []string{path, "--version"}, Dir: dir, Env: Environ(env, ""), Output: &out, Linger: time.Second})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%s --version: exit status %d", path, exit.Code)
	}
	var v Version
	if err == nil {
		v, err = ParseVersion(out.String())
	}
	if err != nil {
		return Found{}, &MissingError{Program: path, Why: err}
	}
	if !v.Usable() {
		return Found{}, &MissingError{Program: path, Version: v}
	}
	return Found{path, v}, nil
}
