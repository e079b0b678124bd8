package spawn

import (
	"time"
)

// Usage is what a process and all that runs below it use.
type Usage struct {
	CPU       time.Duration // since they started, of ended children too that were waited for
	RSS       uint64        // bytes in memory; shared memory is counted for each process
	Processes int           // 0: no process runs
}

// UsageOf reads the process table once and reports what each of the processes uses, in their order.
// A process that does not run uses nothing; a member inside a process (Identity.Inside) has the
// usage of that process, without its descendants. Elsewhere than on Linux and macOS the error
// matches errors.ErrUnsupported.
func UsageOf(ids ...Identity) ([]Usage, error) {
	used := make([]Usage, len(ids))
	if len(ids) == 0 {
		return used, nil
	}
	all, err := usageStats()
	if err != nil {
		return nil, failed(err, "usage")
	}
	for i, id := range ids {
		for _, s := range all {
			if !s.is(id) || s.zombie {
				continue
			}
			of := []stat{s}
			if !id.Inside {
				of = append(of, below(all, s)...)
			}
			for _, s := range of {
				used[i].CPU += s.cpu
				used[i].RSS += s.rss
				used[i].Processes++
			}
		}
	}
	return used, nil
}
