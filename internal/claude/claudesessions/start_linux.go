package claudesessions

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc: USER_HZ is 100 on every machine that Go runs on.
const tick = 10 * time.Millisecond

// isStart reports whether a recorded start is field 22 of /proc/PID/stat, so that
// it can be compared.
func isStart(start string) bool {
	_, err := strconv.ParseUint(start, 10, 64)
	return err == nil
}

// hasStart reports whether a recorded start identifies a process here.
func hasStart(start string) bool { return isStart(start) && strings.Trim(start, "0") != "" }

// started is the time of a start that is counted in ticks since the boot.
func started(start string) (time.Time, bool) {
	n, err := strconv.ParseInt(start, 10, 64)
	if err != nil || n <= 0 || n > int64(1<<62)/int64(tick) {
		return time.Time{}, false
	}
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return time.Unix(boot, 0).Add(time.Duration(n) * tick), err == nil
		}
	}
	return time.Time{}, false
}
