package spawn

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usageStats is the process table with what ps adds to it: sysctl has neither times
// nor sizes.
func usageStats() ([]stat, error) {
	all, err := allStats()
	if err != nil {
		return nil, err
	}
	ps := exec.Command("/bin/ps", "-axo", "pid=,rss=,time=")
	ps.Env = []string{"LC_ALL=C"}
	out, err := ps.Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	used := map[int]stat{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		pid, perr := strconv.Atoi(f[0])
		kb, rerr := strconv.ParseUint(f[1], 10, 64)
		cpu, ok := parseTime(f[2])
		if perr == nil && rerr == nil && ok {
			used[pid] = stat{rss: kb << 10, cpu: cpu}
		}
	}
	for i := range all {
		u := used[all[i].pid]
		all[i].cpu, all[i].rss = u.cpu, u.rss
	}
	return all, nil
}

// parseTime reads [[dd-]hh:]mm:ss.cc.
func parseTime(s string) (d time.Duration, ok bool) {
	days, clock, found := strings.Cut(s, "-")
	if !found {
		days, clock = "0", s
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 2 {
		parts = slices.Insert(parts, 0, "0")
	}
	if len(parts) != 3 {
		return 0, false
	}
	n, nerr := strconv.Atoi(days)
	d, err := time.ParseDuration(parts[0] + "h" + parts[1] + "m" + parts[2] + "s")
	return d + time.Duration(n)*24*time.Hour, errors.Join(nerr, err) == nil
}
