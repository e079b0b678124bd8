package spawn

import (
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
	m := Mark{PID: os.Getpid(), Run: marks.Add(1)}
	if s, err := readStat(m.PID); err == nil {
		m.Start = s.startText()
	}
	return m.String()
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
