package confine

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waggle/agent"
	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/spawn"
)

// Directories below the runtime files of a member whose agent's program runs in the sandbox as a
// whole.
const (
	sharedName = "shared" // it reads
	ownName    = "own"    // it writes
)

// needs adds to a profile what the agent's program must have, or the shell commands of a program
// that runs outside.
func (m *Member) needs(p *sandbox.Profile) {
	n := m.c.Needs
	if n == nil {
		return
	}
	p.ReadOnly = append(p.ReadOnly, n.Settings...)
	if m.outside() {
		p.Readable = append(p.Readable, n.Shell...)
		return
	}
	p.Readable = slices.Concat(p.Readable, n.Readable, []string{filepath.Join(m.c.Dir, sharedName)})
	p.Writable = slices.Concat(p.Writable, n.Writable, []string{filepath.Join(m.c.Dir, ownName)})
	p.Hidden = append(p.Hidden, n.Hidden...)
	p.KeepEnv = slices.Concat(p.KeepEnv, n.Variables)
	for _, h := range n.Hosts {
		if loopback(h.Name) {
			p.Loopback = append(p.Loopback, h.Name)
		}
	}
}

// files makes the directories of the program, and opens the files that it may change, which are no
// directories to be made.
func (m *Member) files(p *sandbox.Profile) error {
	if m.c.Needs == nil {
		return nil
	}
	for _, dir := range m.c.Needs.Settings {
		if err := guardable(m.c.Tree, dir); err != nil {
			return err
		}
	}
	if m.outside() {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(m.c.Dir, sharedName), 0o700); err != nil {
		return fmt.Errorf("a directory for the agent's program: %w", err)
	}
	for _, f := range m.c.Needs.Files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			p.Writable = append(p.Writable, f)
		}
	}
	return nil
}

// preset is how the record of a connection names what the agent's program reaches without a
// question.
const preset = "preset of the agent"

// presets are the grants of the agent's program.
func (m *Member) presets() (list []proxy.Grant) {
	if m.c.Needs == nil || m.outside() {
		return nil
	}
	for _, h := range m.c.Needs.Hosts {
		list = append(list, proxy.Grant{ID: preset, Host: h.Name, Port: h.Port})
		if h.Name == localName { // such a host is opened by its address alone
			list = append(list, proxy.Grant{ID: preset, Host: "127.0.0.1", Port: h.Port}, proxy.Grant{ID: preset, Host: "::1", Port: h.Port})
		}
	}
	return list
}

const localName = "localhost"

func loopback(name string) bool {
	a, err := netip.ParseAddr(name)
	return name == localName || err == nil && a.Unmap().IsLoopback()
}

// Box implements worker.Confinement.
func (m *Member) Box() *agent.Box {
	if m.c.Needs == nil || m.outside() || m.box.Level == sandbox.Off {
		return nil
	}
	return &agent.Box{Shared: filepath.Join(m.c.Dir, sharedName), Own: filepath.Join(m.c.Dir, ownName),
		Missed: func(failed bool, output string) string {
			if m.way != nil {
				m.way.NextCall()
			}
			exit := spawn.Exit{}
			if failed {
				exit.Code = 1
			}
			return strings.TrimSpace(m.lost.note(exit, output))
		}}
}
