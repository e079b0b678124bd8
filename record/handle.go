package record

import (
	"crypto/sha256"
	"strings"
	"time"
)

// handleAlphabet lacks 0, O, 1, I and L, which people mix up.
const handleAlphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"

// HandleCode is what a request's handle is a prefix of: SHA-256 over instance, kind,
// id and digest, five bits a character. The alphabet has 31 characters, so a group of
// five bits with the value 31 is skipped. The asker chooses the id, not the code
// (trust §2).
func HandleCode(k Key, d Digest) string {
	h := sha256.New()
	put(h, string(k.Instance), string(k.Kind), string(k.ID), string(d))
	var b strings.Builder
	var bits, have uint32
	for _, c := range h.Sum(nil) {
		bits, have = bits<<8|uint32(c), have+8
		for have >= 5 {
			have -= 5
			if v := bits >> have & 31; int(v) < len(handleAlphabet) {
				b.WriteByte(handleAlphabet[v])
			}
		}
	}
	return b.String()
}

// CleanHandle is a handle as it is compared: people type it in any case.
func CleanHandle(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }

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
