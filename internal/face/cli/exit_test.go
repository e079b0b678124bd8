package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"waggle/internal/face/cli/app"
	"waggle/operator"
	"waggle/worker"
)

// TestExitCodes: the exit codes are those that the contract of the command line lists, each
// kind of failure has one of its own, and the help says the same.
func TestExitCodes(t *testing.T) {
	contract := map[operator.Kind]int{operator.None: 0, operator.Failed: 1, operator.Usage: 2, operator.Question: 3, operator.Timeout: 4,
		operator.Died: 5, operator.Refused: 6, operator.Incomplete: 7, operator.Locked: 8, operator.NotFound: 9, operator.UsedUp: 10}
	for k := operator.None; k.String() != "unknown"; k++ {
		want, ok := contract[k]
		if got := app.ExitOf(&operator.Error{Kind: k}); !ok || got != max(want, app.ExitFailed) {
			t.Errorf("an error of kind %s exits with %d, want %d", k, got, want)
		}
		if got := app.ExitCode(k); got != want {
			t.Errorf("%s is exit %d, want %d", k, got, want)
		}
		if k != operator.None && app.KindOfExit(want) != k {
			t.Errorf("exit %d is %s, want %s", want, app.KindOfExit(want), k)
		}
		delete(contract, k)
	}
	if len(contract) > 0 {
		t.Errorf("no kind: %v", contract)
	}
	if app.ExitOf(nil) != 0 || app.ExitOf(fmt.Errorf("the disk")) != app.ExitFailed || app.KindOfExit(-1) != operator.Failed || app.KindOfExit(130) != operator.Failed {
		t.Error("nothing, an error of others, or an end by a signal")
	}
	if worker.ExitRunning != app.ExitLocked || worker.ExitFailed != app.ExitFailed {
		t.Error("a worker's exit codes are others than the command line's")
	}
	helped := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?:^|\s)(\d+)\s`).FindAllStringSubmatch(exitCodes, -1) {
		n, _ := strconv.Atoi(m[1])
		helped[n] = true
	}
	for k := operator.None; k.String() != "unknown"; k++ {
		if !helped[app.ExitCode(k)] {
			t.Errorf("the help does not list exit %d of %s", app.ExitCode(k), k)
		}
	}
}
