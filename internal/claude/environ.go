package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waggle/agent"
	"waggle/internal/claude/claudeaccount"
	"waggle/spawn"
)

// notInherited are variables of the member's process, besides those of a session above (spawn.ScopeSession), that its
// client must not have.
var notInherited = []string{
	"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", // it switches the client's own teams on: their members ask its lead, and not waggle
	"CLAUDE_CODE_SIMPLE",                   // it leaves hooks out: the host would not be asked
	agent.EnvSocket, agent.EnvSpawn,        // they are for hooks and tool servers that ask by themselves, not for the model's commands
	SecondVar, // it is another client's
}

// SecondVar is the environment variable with the socket of Second, for the hooks of a member in a pane.
const SecondVar = "WAGGLE_CLAUDE_SECOND"

// unparented is an environment without the variables of a session in which waggle itself may run.
func unparented(env []string) []string {
	return slices.DeleteFunc(spawn.Without(env, spawn.ScopeSession), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(notInherited, name)
	})
}

// Environ is the environment of a member's client, from the member's own (see unparented). second is the
// socket of Second, "" for a headless client.
func Environ(member []string, second string) []string {
	// Without it, a cd in one command would move the next command out of the directory in which it
	// was judged.
	env := append(unparented(member), "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR=1")
	if second != "" {
		env = append(env, SecondVar+"="+second)
	}
	return env
}

// Needs implements agent.Resident.
func (a *Agent) Needs(env []string, dir string) agent.Needs {
	n := claudeaccount.Of(env).Needs(dir)
	n.Hosts, n.Variables, n.Start = claudeaccount.Hosts(env), claudeaccount.Secrets, []string{program(a.spec.Program), "--version"}
	if path, err := spawn.LookPath(program(a.spec.Program), env); err == nil {
		n.Readable = slices.Insert(n.Readable, 0, path) // also where the sandbox has a directory of its own
	}
	n.Settings = []string{filepath.Join(dir, settingsName)}
	return n
}

// environ is the environment of a client where it is to run.
func (a *Agent) environ(p agent.Place, o *opened, member []string) ([]string, error) {
	env := Environ(member, "")
	limits, err := limitsOf(p.Limits, o.private)
	if err != nil {
		return nil, err
	}
	env = append(env, limits...)
	if o.shells != nil {
		return append(env, o.shells.Environ()...), nil
	}
	if p.Box == nil {
		return env, nil
	}
	// What its member must not decide: which program it is tomorrow, and who hears of it.
	env = append(env, "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
	acc := claudeaccount.Of(member)
	if acc.Config == "" {
		return env, nil
	}
	config, err := acc.Move(p.Box.Own, o.dir)
	if err != nil {
		return nil, fmt.Errorf("the client's configuration in its sandbox: %w", err)
	}
	o.account, o.own = acc, p.Box.Own
	return append(env, "CLAUDE_CONFIG_DIR="+config), nil
}

// limitsOf are the variables by which a client holds its calls to limits. It runs every command by a
// script in dir, which limits the processor time.
func limitsOf(l agent.CallLimits, dir string) (env []string, err error) {
	if l.Time > 0 {
		ms := strconv.FormatInt(l.Time.Milliseconds(), 10)
		env = append(env, "BASH_DEFAULT_TIMEOUT_MS="+ms, "BASH_MAX_TIMEOUT_MS="+ms)
	}
	if l.Output > 0 {
		env = append(env, "BASH_MAX_OUTPUT_LENGTH="+strconv.FormatInt(l.Output, 10))
	}
	if l.CPU > 0 {
		seconds := int64((l.CPU + time.Second - 1) / time.Second)
		prefix := filepath.Join(dir, "shell")
		if err := os.WriteFile(prefix, fmt.Appendf(nil, "#!/bin/sh\nulimit -S -t %d && ulimit -H -t %d && exec \"${SHELL:-/bin/sh}\" -c \"$1\"\n", seconds, seconds+1), 0o700); err != nil {
			return nil, err
		}
		env = append(env, prefixVar+"="+prefix)
	}
	return env, nil
}
