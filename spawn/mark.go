package spawn

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

// markName is the environment variable that Command.Reap adds: the marks of the
// commands that a process runs below, the outermost first, with colons between.
const markName = "WAGGLE_COMMAND"

var marks atomic.Uint64

// newMark names one run of a command among all runs of this boot.
func newMark() string {
	pid, start := os.Getpid(), ""
	if s, err := readStat(pid); err == nil {
		start = s.startText()
	}
	return fmt.Sprintf("%d.%s.%d", pid, start, marks.Add(1))
}

func withMark(env []string, mark string) []string {
	if outer := Getenv(env, markName); outer != "" {
		mark = outer + ":" + mark
	}
	return append(env, markName+"="+mark)
}

func hasMark(env []string, mark string) bool {
	return slices.Contains(strings.Split(Getenv(env, markName), ":"), mark)
}
