package worker

import (
	"fmt"
	"slices"
	"strings"

	"waggle/control"
	"waggle/internal/cut"
	"waggle/protocol"
)

// A session that was told to come back (GateWait) is told when its call is allowed after all: it asks
// again, which claims the grant.

// late returns the calls of which the session is to be told. The caller holds mu.
func (w *Worker) late() []*control.Call {
	return slices.DeleteFunc(w.p.Fold.Late(w.p.Minter.Now()), func(c *control.Call) bool { return w.told[c.Key] })
}

// tellLate remembers that the session knows. The caller holds mu.
func (w *Worker) tellLate(cs []*control.Call) {
	for _, c := range cs {
		w.told[c.Key] = true
	}
}

// late is what the session is told now, nil when there is nothing.
func (h host) late() *protocol.Mail {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	late := h.w.late()
	if len(late) == 0 {
		return nil
	}
	h.w.tellLate(late)
	m := lateMail(late)
	return &m
}

// longestLate is how much of a call's input is repeated to its session.
const longestLate = 500

func lateMail(late []*control.Call) protocol.Mail {
	var lines []string
	for _, c := range late {
		what := strings.TrimSpace(c.Ask.Tool + " " + c.Input())
		switch {
		case c.Ask.Host != "":
			what = "network " + c.Ask.Host
		case c.Ask.Tool == "":
			what = string(c.Kind)
		}
		lines = append(lines, fmt.Sprintf("%s is approved: ask for it again, with the same input, and it runs: %s", c.ID, cut.Runes(what, longestLate)))
	}
	return protocol.Mail{From: "system", Summary: "approved", Text: strings.Join(lines, "\n")}
}
