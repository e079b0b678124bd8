package tui

import (
	"slices"

	"waggle/operator/decide"
)

// batch is requests that are answered at once, each exactly as it is shown.
type batch struct {
	id       string
	text     []string // all that it covers; the heads of its groups begin in the first column
	requests []decide.Request
	wide     bool // more than those that are alike
}

// startBatch shows all requests that are like the selected one, or, from there and where no request is
// selected, all that may be answered at once. The batch does not change while it is shown.
func (m *model) startBatch() {
	q := m.open()
	wide := m.mode == batching || q == nil
	var open []decide.Request
	for i := range m.asks {
		if m.given[askKey(&m.asks[i])] == "" {
			open = append(open, m.asks[i])
		}
	}
	b := batch{wide: wide}
	for _, g := range decide.Groups(open) {
		if !g.Batch || !wide && !slices.ContainsFunc(g.Requests, func(r decide.Request) bool { return askKey(&r) == askKey(q) }) {
			continue
		}
		b.id += g.ID
		if m.several() {
			b.text = append(b.text, "team "+g.Team+":")
		}
		b.text, b.requests = append(b.text, g.Text...), append(b.requests, g.Requests...)
	}
	switch {
	case len(b.requests) == 0 && q == nil:
		m.flash = "nothing can be answered in a batch"
		return
	case len(b.requests) == 0:
		m.flash = "high risk, plans, hosts and questions are answered one by one"
		return
	}
	m.mode, m.batch = batching, b
}
