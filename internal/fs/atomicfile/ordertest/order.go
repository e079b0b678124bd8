// Package ordertest checks the order of nested locks (atomicfile.Rank) in the test
// binary that imports it. Package internal/test/testenv imports it; a test that has no need
// of testenv does it itself:
//
//	import _ "waggle/internal/fs/atomicfile/ordertest"
package ordertest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"waggle/internal/fs/atomicfile"
)

func init() { atomicfile.CheckOrder(enter) }

// ranks are the ranked locks that each goroutine holds. A lock that could close a
// circle panics before it could deadlock (trust §6).
var ranks = struct {
	sync.Mutex
	held map[uint64][]rankedLock
}{held: map[uint64][]rankedLock{}}

type rankedLock struct {
	rank atomicfile.Rank
	path string
}

// enter checks that this goroutine may take a lock and remembers that it has it; the
// result forgets it again, from whatever goroutine. wait is false for a try.
func enter(rank atomicfile.Rank, path string, wait bool) (leave func()) {
	id := goroutineID()
	lock := rankedLock{rank, path}
	ranks.Lock()
	defer ranks.Unlock()
	if rank == atomicfile.RankLease && wait {
		panic(fmt.Sprintf("atomicfile: lock order: a %v lock is only ever tried, not waited for: %s", rank, path))
	}
	for _, h := range ranks.held[id] {
		if h.rank < rank || h.rank == rank && rank == atomicfile.RankTask && ascending(h.path, path) {
			continue
		}
		if h.rank == atomicfile.RankLease && rank == atomicfile.RankLease {
			continue // nobody waits for a lease, so no circle can close
		}
		panic(fmt.Sprintf("atomicfile: lock order: %v %s wanted while holding %v %s (trust §6)", rank, path, h.rank, h.path))
	}
	ranks.held[id] = append(ranks.held[id], lock)
	return sync.OnceFunc(func() {
		ranks.Lock()
		defer ranks.Unlock()
		held := ranks.held[id]
		if i := slices.Index(held, lock); i >= 0 {
			held = slices.Delete(held, i, i+1)
		}
		if len(held) == 0 {
			delete(ranks.held, id)
		} else {
			ranks.held[id] = held
		}
	})
}

// ascending orders task files of one directory by number, others by path.
func ascending(a, b string) bool {
	if filepath.Dir(a) == filepath.Dir(b) {
		na, erra := taskNumber(a)
		nb, errb := taskNumber(b)
		if erra == nil && errb == nil {
			return na < nb
		}
	}
	return a < b
}

func taskNumber(path string) (int, error) {
	return strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".json"))
}

// goroutineID reads the number in the first line of a stack trace: "goroutine 7 [".
func goroutineID() uint64 {
	var b [64]byte
	f := bytes.Fields(b[:runtime.Stack(b[:], false)])
	id, err := strconv.ParseUint(string(f[1]), 10, 64)
	if err != nil {
		panic("ordertest: a stack trace without a goroutine number")
	}
	return id
}
