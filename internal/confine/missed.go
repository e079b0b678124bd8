package confine

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"waggle/internal/sandbox"
	"waggle/internal/sandbox/proxy"
	"waggle/spawn"
)

// mostMissed is the most hosts that one note names.
const mostMissed = 8

// missed are the connections that one command did not get, or that were cut, and the limits that it met. Many programs do not show
// why: curl and git show the status of a proxy's answer alone. It is safe for concurrent use.
type missed struct {
	bounds      bounds
	level       sandbox.Level
	unixSockets bool // it may use them

	mu     sync.Mutex
	denied []string // by the sandbox
	failed []string // that were allowed
	more   int
}

// noting returns the member's sandbox for one command, and what that command will have missed.
func (m *Member) noting(c spawn.Command) (box sandbox.Sandbox, list *missed, err error) {
	list = &missed{}
	if err := m.reserve(); err != nil {
		return box, list, err
	}
	if box, err = m.boxOf(c); err != nil {
		return box, list, err
	}
	if m.Box() != nil {
		list = &m.lost
	}
	list.mu.Lock()
	defer list.mu.Unlock()
	list.level, list.unixSockets = box.Level, box.Profile.UnixSockets
	if l := m.c.Want.Limits; l != nil {
		list.bounds.limits, list.bounds.grouped = *l, m.box.Groups
		box.Used = &list.bounds.used
	}
	if m.way != nil {
		box.Network = func(l net.Listener, name string) error { return m.way.ServeCall(l, name, list) }
	}
	return box, list, nil
}

// Record implements proxy.Recorder.
func (m *missed) Record(c proxy.Connection) {
	to, at := &m.denied, net.JoinHostPort(c.Host, c.Port)
	line := proxy.Refusal(c.Request, c.Reason)
	switch c.Event {
	case proxy.Refused:
	case proxy.Failed:
		to, line = &m.failed, "waggle: "+at+" could not be reached: "+c.Reason
	case proxy.Cut:
		line = "waggle: the sandbox has cut the connection to " + at + ": " + c.Reason
	default:
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case slices.Contains(*to, line):
	case len(m.denied)+len(m.failed) < mostMissed:
		*to = append(*to, line)
	default:
		m.more++
	}
}

// note is the text for the end of a command's output: what the output does not say already. It empties the list.
func (m *missed) note(exit spawn.Exit, output string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := slices.Concat(m.denied, m.bounds.met(exit, output))
	if exit.Code != 0 || exit.Signal != "" {
		lines = append(lines, m.failed...)
		for _, hint := range sandbox.Hints(m.level, output, m.unixSockets) {
			lines = append(lines, "waggle: "+hint)
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(output, l) })
	if m.more > 0 {
		lines = append(lines, fmt.Sprintf("waggle: %d more connections were not made", m.more))
	}
	m.denied, m.failed, m.more = nil, nil, 0
	if len(lines) == 0 {
		return ""
	}
	return "\n[" + strings.Join(lines, "]\n[") + "]\n"
}
