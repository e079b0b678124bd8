package spawn

import (
	"fmt"
	"os/exec"
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
	n, err := strconv.Atoi(days)
	if err != nil {
		return 0, false
	}
	d = time.Duration(n) * 24
	parts := strings.Split(clock, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	for i, p := range parts[:2] {
		if n, err = strconv.Atoi(p); err != nil {
			return 0, false
		}
		d += time.Duration(n)
		if i == 0 {
			d *= 60
		}
	}
	secs, err := strconv.ParseFloat(parts[2], 64)
	return d*time.Minute + time.Duration(secs*float64(time.Second)), err == nil
}
