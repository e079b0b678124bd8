package atomicfile

import (
	"context"
	"path/filepath"
	"sync"
)

// queues holds one slot per canonical path for the goroutines of this process.
// The flock behind it would exclude them too; the queue is first come, first
// served, and costs no system call.
var queues = struct {
	sync.Mutex
	m map[string]*queue
}{m: map[string]*queue{}}

type queue struct {
	slot chan struct{}
	refs int
}

// enqueue waits for the slot of key and returns the call that gives it back.
func enqueue(ctx context.Context, key string) (leave func(), err error) {
	queues.Lock()
	q := queues.m[key]
	if q == nil {
		q = &queue{slot: make(chan struct{}, 1)}
		queues.m[key] = q
	}
	q.refs++
	queues.Unlock()

	drop := func() {
		queues.Lock()
		if q.refs--; q.refs == 0 {
			delete(queues.m, key)
		}
		queues.Unlock()
	}
	select {
	case q.slot <- struct{}{}:
		return func() { <-q.slot; drop() }, nil
	default:
	}
	select {
	case q.slot <- struct{}{}:
		return func() { <-q.slot; drop() }, nil
	case <-ctx.Done():
		drop()
		return nil, ctx.Err()
	}
}

// canonical resolves symbolic links in the directory of path, never in the file
// itself: a linked file is refused when it is opened. It fails with
// fs.ErrNotExist when the directory is missing.
func canonical(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}
