package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"waggle/agent"
	"waggle/home"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonfile"
	"waggle/record"
	"waggle/spawn"
)

// Tool is a command that a member's process runs, or what the end of a member has found running apart from it (Apart). Its
// process group is recorded while it runs, so that a leftover of a killed worker is found without a mark in its
// environment.
type Tool struct {
	ID   spawn.Identity `json:"id"`
	Argv []string       `json:"argv"`

	path string
}

// record writes the record of a tool.
func (t Tool) record() error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	return jsonfile.Write(t.path, t, atomicfile.Options{})
}

// Apart records a process below a member's, in a group of its own, before the member's is ended: whoever has to finish
// that end finds it by this record.
func Apart(dir home.Dir, i record.Instance, id spawn.Identity) error {
	t := Tool{ID: id, Argv: shown(spawn.Argv(id.PID)), path: filepath.Join(dir.Tools(), fmt.Sprintf("%s-apart-%d.json", i, id.PID))}
	return t.record()
}

// Forget removes the record of a tool that has ended.
func (t Tool) Forget() error {
	if err := os.Remove(t.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Tools lists the recorded tools of a member: those that run, and those that a killed
// process left. A record that cannot be read counts as absent.
func Tools(dir home.Dir, i record.Instance) ([]Tool, error) {
	entries, err := os.ReadDir(dir.Tools())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	var tools []Tool
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), string(i)+"-") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		t := Tool{path: filepath.Join(dir.Tools(), e.Name())}
		if jsonfile.Read(t.path, &t, maxTool) == nil && t.ID.PID > 1 {
			tools = append(tools, t)
		}
	}
	return tools, nil
}

// Size limits of a record: the arguments are for people.
const (
	maxTool     = 64 << 10
	maxToolArgv = 1 << 10
)

// shown is as much of a command's arguments as its record has.
func shown(argv []string) (out []string) {
	for _, a := range argv[:min(len(argv), 16)] {
		out = append(out, strings.ToValidUTF8(a[:min(len(a), maxToolArgv)], ""))
	}
	return out
}

// Exec runs an agent's commands, in the member's sandbox if it has one, and records their
// process groups. It is safe for concurrent use.
type Exec struct {
	dir      home.Dir
	instance record.Instance
	log      *slog.Logger
	n        *atomic.Uint64
	box      agent.Exec // the sandbox; nil: none
}

// New returns an Exec for the commands of one member, whose records lie in dir. A nil log drops
// what it would say, and without box nothing is confined.
func New(dir home.Dir, i record.Instance, log *slog.Logger, box agent.Exec) Exec {
	return Exec{dir, i, log, new(atomic.Uint64), box}
}

// Outside returns the same without the sandbox.
func (c Exec) Outside() Exec {
	c.box = nil
	return c
}

// Run implements agent.Exec.
func (c Exec) Run(ctx context.Context, cmd spawn.Command) (spawn.Exit, error) {
	t := Tool{Argv: shown(cmd.Argv), path: filepath.Join(c.dir.Tools(), fmt.Sprintf("%s-%d-%d.json", c.instance, os.Getpid(), c.n.Add(1)))}
	begun := cmd.Started
	cmd.Started = func(id spawn.Identity) {
		if begun != nil {
			begun(id)
		}
		t.ID = id
		c.warn("the process group of a command is not on record", t.record())
	}
	run := cmd.Run
	if c.box != nil {
		run = func(ctx context.Context) (spawn.Exit, error) { return c.box.Run(ctx, cmd) }
	}
	exit, err := run(ctx)
	if !errors.Is(err, spawn.ErrStillAlive) {
		c.warn("the record of a command stays", t.Forget())
	}
	return exit, err
}

func (c Exec) warn(what string, err error) {
	if err != nil && c.log != nil {
		c.log.Warn(what, "err", err)
	}
}
