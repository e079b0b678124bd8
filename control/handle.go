package control

import (
	"time"

	"waggle/journal"
	"waggle/machine"
	"waggle/record"
)

// mintHandle gives a request its handle when it is seen. Handles of open requests
// stay taken however old they are.
func (l *Leader) mintHandle(req *Request, r journal.Record) {
	for _, p := range l.pending {
		if p.State == machine.RequestPending && p.Handle != "" && r.Time.Sub(p.Seen) > record.HandleWindow-time.Hour {
			l.handles.Keep(p.Handle, p.Key, r.Time)
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
