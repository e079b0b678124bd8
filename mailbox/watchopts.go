package mailbox

import (
	"cmp"
	"strings"
	"time"
)

// WatchOptions are Watch's settings. The zero value works.
type WatchOptions struct {
	Interval time.Duration          // of the slow poll; 0 means 2 s
	Match    func(name string) bool // which file names matter; nil means all that end in .json or .jsonl
	// Fell receives a panic of the watch, which has ended then, as an error with its stack. nil: a
	// panic ends the program.
	Fell func(error)
}

func (o WatchOptions) interval() time.Duration { return cmp.Or(max(o.Interval, 0), 2*time.Second) }

// match excludes locks, temporary files and everything else that is not mail: a watcher must not be
// woken by its own lock.
func (o WatchOptions) match(name string) bool {
	if o.Match != nil {
		return o.Match(name)
	}
	return !strings.HasPrefix(name, ".") &&
		(strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl"))
}
