package spawntest

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"waggle/spawn"
)

// Modes that only Inside has.
const (
	ModePanic  Mode = "panic"  // TEXT: panics with it
	ModeGoexit Mode = "goexit" // ends its goroutine
)

// Inside is the helper program as a func, for spawn.InProcess. It has the modes
// exit, report, block, follow, and those that only it has; follow and block end with
// their context.
func Inside(ctx context.Context, spec spawn.Spec, out io.Writer) spawn.Exit {
	var mode Mode
	for _, kv := range spec.Env {
		if m, ok := strings.CutPrefix(kv, modeEnv+"="); ok {
			mode = Mode(m)
		}
	}
	args := spec.Argv[1:]
	switch mode {
	case ModeExit:
		code, err := strconv.Atoi(args[0])
		if err != nil {
			return spawn.Exit{Code: fail(err)}
		}
		return spawn.Exit{Code: code}
	case ModeReport:
		fmt.Fprintf(out, "on stderr\n{\"Dir\": %q}\n", spec.Dir)
		return spawn.Exit{}
	case ModeFollow:
		fmt.Fprintf(out, "ready %s %d\n", mode, os.Getpid())
		for ; ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
			if _, err := os.Stat(args[0]); err == nil {
				fmt.Fprintln(out, "seen")
				<-ctx.Done()
			}
		}
		return spawn.Exit{Code: 1}
	case ModePanic:
		panic(args[0])
	case ModeGoexit:
		runtime.Goexit()
	}
	fmt.Fprintf(out, "ready %s %d\n", mode, os.Getpid())
	<-ctx.Done()
	return spawn.Exit{Code: 1}
}
