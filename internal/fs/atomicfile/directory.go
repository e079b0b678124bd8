package atomicfile

import (
	"path/filepath"
	"sync"
	"sync/atomic"
)

// directories remembers what the file system below a directory can do. Whether
// names can be exchanged is found by doing it.
var directories sync.Map // of string to *directory

type directory struct {
	fine       func() bool // changes get different times, see fineTimes
	noExchange atomic.Bool
	stayed     atomic.Int32 // how often a writer never closed a file
}

func dirOf(path string) *directory {
	dir := filepath.Dir(path)
	if d, ok := directories.Load(dir); ok {
		return d.(*directory)
	}
	d, _ := directories.LoadOrStore(dir, &directory{fine: sync.OnceValue(func() bool { return fineTimes(dir) })})
	return d.(*directory)
}

func (d *directory) tier(want Tier) Tier {
	switch {
	case want != TierAuto:
		return want
	case d.noExchange.Load():
		return TierRename
	}
	return TierExchange
}

// A writer that stays is an oddity once; always, it is a file system whose leases
// mean something else, and asking only costs time.
const maxStayed = 3

func (d *directory) asksForWriters() bool { return d.stayed.Load() < maxStayed }
