package record

import "time"

const (
	handleLength = 4              // characters of a handle whose beginning no other request shares
	HandleWindow = 24 * time.Hour // for how long after it was seen a closed request keeps its handle
)

// Handles gives out handles: each the shortest prefix of its code, of at least four
// characters, that no request of the last 24 hours has. A handle that was given out
// keeps its meaning for that time. The zero value is ready. It is not safe for
// concurrent use.
type Handles struct {
	Given map[string]GivenHandle // by the handle
	Swept time.Time              // when the old ones were dropped last
}

// GivenHandle is whose a handle is, and since when.
type GivenHandle struct {
	Key Key
	At  time.Time
}

// Mint gives a request its handle. It depends only on what was minted before.
func (h *Handles) Mint(k Key, d Digest, at time.Time) string {
	if h.Given == nil {
		h.Given = map[string]GivenHandle{}
	}
	if at.Sub(h.Swept) > time.Hour {
		for s, g := range h.Given {
			if at.Sub(g.At) > HandleWindow {
				delete(h.Given, s)
			}
		}
		h.Swept = at
	}
	code := HandleCode(k, d)
	for n := handleLength; n < len(code); n++ {
		if g, taken := h.Given[code[:n]]; !taken || g.Key == k {
			h.Given[code[:n]] = GivenHandle{k, at}
			return code[:n]
		}
	}
	return code
}

// Keep holds on to the handle of a request that is still open.
func (h *Handles) Keep(handle string, k Key, at time.Time) {
	h.Given[handle] = GivenHandle{k, at}
}
