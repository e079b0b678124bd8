package control

import (
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

const (
	handleLength = 4              // characters of a handle whose beginning no other request shares
	handleWindow = 24 * time.Hour // for how long after it was seen a closed request keeps its handle
)

// Handles gives out handles: each the shortest prefix of its code, of at least four
// characters, that no request of the last 24 hours has. A handle that was given out
// keeps its meaning for that time. The zero value is ready. It is not safe for
// concurrent use.
type Handles struct {
	given map[string]given
	swept time.Time // when the old ones were dropped last
}

type given struct {
	key record.Key
	at  time.Time
}

// Mint gives a request its handle. It depends only on what was minted before.
func (h *Handles) Mint(k record.Key, d record.Digest, at time.Time) string {
	if h.given == nil {
		h.given = map[string]given{}
	}
	if at.Sub(h.swept) > time.Hour {
		for s, g := range h.given {
			if at.Sub(g.at) > handleWindow {
				delete(h.given, s)
			}
		}
		h.swept = at
	}
	code := record.HandleCode(k, d)
	for n := handleLength; n < len(code); n++ {
		if g, taken := h.given[code[:n]]; !taken || g.key == k {
			h.given[code[:n]] = given{k, at}
			return code[:n]
		}
	}
	return code
}

// keep holds on to the handle of a request that is still open.
func (h *Handles) keep(handle string, k record.Key, at time.Time) { h.given[handle] = given{k, at} }

// mintHandle gives a request its handle when it is seen. Handles of open requests
// stay taken however old they are.
func (l *Leader) mintHandle(req *Request, r journal.Record) {
	for _, p := range l.pending {
		if p.State == machine.RequestPending && p.Handle != "" && r.Time.Sub(p.Seen) > handleWindow-time.Hour {
			l.handles.keep(p.Handle, p.Key, r.Time)
		}
	}
	req.Handle = l.handles.Mint(req.Key, req.Digest, r.Time)
}

// ByHandle finds the request that a handle was given to: the newest, when a handle
// was given out again after its time. Case does not count.
func (l *Leader) ByHandle(handle string) (*Request, bool) {
	handle = record.CleanHandle(handle)
	for i := len(l.Requests) - 1; i >= 0 && handle != ""; i-- {
		if l.Requests[i].Handle == handle {
			return l.Requests[i], true
		}
	}
	return nil, false
}
