package operator

import (
	"sync"
	"time"

	"waggle/record"
)

const (
	// editsFor is how long what git said of a worktree is taken for true.
	editsFor = 5 * time.Second
)

// EditCache remembers for a moment what git said of worktrees, for a process that asks
// often. Its zero value is empty; it may be used by several goroutines.
type EditCache struct {
	mu    sync.Mutex
	trees map[record.Worktree]editsAt
}

type editsAt struct {
	files []string
	at    time.Time
}

// Get returns what was put not long ago.
func (c *EditCache) Get(t record.Worktree, now time.Time) ([]string, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.trees[t]
	return e.files, ok && now.Sub(e.at) < editsFor && !now.Before(e.at)
}

// Put remembers what git said at a time.
func (c *EditCache) Put(t record.Worktree, files []string, now time.Time) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trees == nil {
		c.trees = map[record.Worktree]editsAt{}
	}
	c.trees[t] = editsAt{files, now}
}
