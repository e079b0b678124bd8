package operator

import (
	"sync"
	"time"

	"waggle/record"
)

// editsFor is how long a result of git for a worktree is reused.
const editsFor = 5 * time.Second

// EditCache keeps results of git for worktrees for editsFor, for a process that asks often. Its
// zero value is empty; several goroutines may use it.
type EditCache struct {
	mu    sync.Mutex
	trees map[record.Worktree]editsAt
}

type editsAt struct {
	files []string
	at    time.Time
}

// Get returns a result that is younger than editsFor.
func (c *EditCache) Get(t record.Worktree, now time.Time) ([]string, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.trees[t]
	return e.files, ok && now.Sub(e.at) < editsFor && !now.Before(e.at)
}

// Put stores a result and its time.
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
