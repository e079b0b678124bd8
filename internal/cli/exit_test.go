package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"waggle/operator"
	"waggle/worker"
)

// TestExitCodes: the exit codes are those that the contract of the command line lists, each
// kind of failure has one of its own, and the help says the same.
func TestExitCodes(t *testing.T) {
	contract := map[operator.Kind]int{operator.None: 0, operator.Failed: 1, operator.Usage: 2, operator.Question: 3, operator.Timeout: 4,
		operator.Died: 5, operator.Refused: 6, operator.Incomplete: 7, operator.Locked: 8, operator.NotFound: 9}
	for k := operator.None; k.String() != "unknown"; k++ {
		want, ok := contract[k]
		if got := exitOf(&operator.Error{Kind: k}); !ok || got != max(want, ExitFailed) {
			t.Errorf("an error of kind %s exits with %d, want %d", k, got, want)
		}
		if got := ExitCode(k); got != want {
			t.Errorf("%s is exit %d, want %d", k, got, want)
		}
		if k != operator.None && kindOfExit(want) != k {
			t.Errorf("exit %d is %s, want %s", want, kindOfExit(want), k)
		}
		delete(contract, k)
	}
	if len(contract) > 0 {
		t.Errorf("no kind: %v", contract)
	}
	if exitOf(nil) != 0 || exitOf(fmt.Errorf("the disk")) != ExitFailed || kindOfExit(-1) != operator.Failed || kindOfExit(130) != operator.Failed {
		t.Error("nothing, an error of others, or an end by a signal")
	}
	if worker.ExitRunning != ExitLocked || worker.ExitFailed != ExitFailed {
		t.Error("a worker's exit codes are others than the command line's")
	}
	helped := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?:^|\s)(\d)\s`).FindAllStringSubmatch(exitCodes, -1) {
		n, _ := strconv.Atoi(m[1])
		helped[n] = true
	}
	for k, code := range exits {
		if !helped[code] {
			t.Errorf("the help does not list exit %d of %s", code, k)
		}
	}
}
