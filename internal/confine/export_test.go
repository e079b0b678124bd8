package confine

import (
	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/spawn"
	"waggle/worker"
)

// WithParts is With with a kit of the test's own, and another network outside.
func WithParts(kit func(dir string) (sandbox.Kit, error), network proxy.Options) worker.Confine {
	return with(settings{kit: kit, proxy: network})
}

// Met is limitsMet.
var Met = limitsMet

// CachesOf are the directories of a member's caches.
func CachesOf(c worker.Confining) []string {
	return (&Member{c: c}).caches(spawn.Getenv(c.Environ, "HOME"))
}

// EndProxy ends the proxy as its failure does.
func (m *Member) EndProxy() error { return m.way.Close() }

// ProgramsFound is programsFound.
const ProgramsFound = programsFound
