package confine_test

import (
	"strings"
	"testing"
	"time"

	"waggle/internal/confine"
	"waggle/internal/sandbox"
	"waggle/record"
	"waggle/spawn"
)

// A limit is named when the kernel has counted it, or when a program that failed says what a limit makes it say.
func TestLimitsMet(t *testing.T) {
	t.Parallel()
	all := record.SandboxLimits{CPU: 2000, Memory: 256 << 20, Processes: 60}
	counted := sandbox.Groups{Memory: "/m", Processes: "/p"}
	killed := spawn.Exit{Code: -1, Signal: "killed"}
	xcpu := spawn.Exit{Code: -1, Signal: "CPU time limit exceeded"}
	for name, tc := range map[string]struct {
		groups sandbox.Groups
		used   sandbox.Usage
		exit   spawn.Exit
		output string
		want   string // the keys
	}{
		"its own SIGKILL":                    {exit: killed},
		"its own SIGKILL, counted":           {groups: counted, exit: killed},
		"its own SIGXCPU":                    {used: sandbox.Usage{CPU: time.Second}, exit: xcpu},
		"processor time":                     {used: sandbox.Usage{CPU: 2 * time.Second}, exit: xcpu, want: "cpu"},
		"processor time on a busy machine":   {used: sandbox.Usage{CPU: 1700 * time.Millisecond}, exit: xcpu, want: "cpu"},
		"processor time below a shell":       {used: sandbox.Usage{CPU: 3 * time.Second}, exit: spawn.Exit{Code: 152}, want: "cpu"},
		"processor time of the client":       {exit: spawn.Exit{Code: 1}, output: "Exit code 152", want: "cpu"},
		"processor time of go":               {used: sandbox.Usage{CPU: 2700 * time.Millisecond}, exit: killed, want: "cpu"},
		"processor time of go below a shell": {used: sandbox.Usage{CPU: 3100 * time.Millisecond}, exit: spawn.Exit{Code: 137}, want: "cpu"},
		"processor time below go":            {used: sandbox.Usage{CPU: 3100 * time.Millisecond}, exit: spawn.Exit{Code: 1}, output: "signal: killed", want: "cpu"},
		"memory, counted, at that time":      {groups: counted, used: sandbox.Usage{Killed: 1, CPU: 3 * time.Second}, exit: killed, want: "memory"},
		"that time, and another failure":     {used: sandbox.Usage{CPU: 3 * time.Second}, exit: spawn.Exit{Code: 1}},
		"much work, and its own failure":     {used: sandbox.Usage{CPU: 9 * time.Second}, exit: killed},
		"memory, counted":                    {groups: counted, used: sandbox.Usage{Killed: 1}, exit: spawn.Exit{Code: 137}, want: "memory"},
		"memory, counted, in a pipe":         {groups: counted, used: sandbox.Usage{Killed: 1}, want: "memory"},
		"words where the kernel counts":      {groups: counted, exit: spawn.Exit{Code: 1}, output: "MemoryError; Cannot fork"},
		"memory":                             {exit: spawn.Exit{Code: 1}, output: "MemoryError", want: "memory"},
		"words of what went well":            {output: "MemoryError; Cannot fork"},
		"the heap of node, which is its own": {exit: spawn.Exit{Code: 134}, output: "JavaScript heap out of memory"},
		"processes, counted":                 {groups: counted, used: sandbox.Usage{Refused: 3}, exit: spawn.Exit{Code: 2}, output: "x", want: "processes"},
		"processes that it did without":      {groups: counted, used: sandbox.Usage{Refused: 3}, want: "processes"},
		"processes":                          {exit: spawn.Exit{Code: 2}, output: "sh: 1: Cannot fork", want: "processes"},
		"processes of go":                    {exit: spawn.Exit{Code: 2}, output: "fork/exec /bin/true: resource temporarily unavailable", want: "processes"},
		"a file that is busy":                {exit: spawn.Exit{Code: 2}, output: "read: Resource temporarily unavailable"},
	} {
		lines := confine.Met(all, tc.groups, tc.used, tc.exit, tc.output)
		var keys []string
		for _, l := range lines {
			_, rest, _ := strings.Cut(l, "limits: {")
			key, _, _ := strings.Cut(rest, ":")
			keys = append(keys, key)
		}
		if got := strings.Join(keys, " "); got != tc.want {
			t.Errorf("%s: %q, want %q: %q", name, got, tc.want, lines)
		}
		if none := confine.Met(record.SandboxLimits{}, tc.groups, tc.used, tc.exit, tc.output); len(none) > 0 {
			t.Errorf("%s: without limits %q", name, none)
		}
	}
}
