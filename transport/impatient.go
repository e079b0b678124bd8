package transport

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxSilent is how many connections may be open that have sent no request yet.
const maxSilent = 128

// Impatient is the ConnState of an http.Server that limits idle connections: when a
// new connection finds maxSilent of them, the oldest connection without a request is
// closed, so that idle clients cannot block others.
func Impatient() func(net.Conn, http.ConnState) {
	var mu sync.Mutex
	var silent []net.Conn // oldest first
	return func(c net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		silent = slices.DeleteFunc(silent, func(have net.Conn) bool { return have == c })
		if s != http.StateNew && s != http.StateIdle {
			return
		}
		silent = append(silent, c)
		if len(silent) > maxSilent {
			_ = silent[0].Close() // its goroutine finds out, and is counted down
			silent = silent[1:]
		}
	}
}
