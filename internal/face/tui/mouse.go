package tui

import tea "charm.land/bubbletea/v2"

// click selects a row or a tab, or begins a task. No click answers.
func (m *model) click(e tea.Mouse) {
	if e.Button == tea.MouseLeft && m.mode == browsing && !m.small() && e.Y == m.h-2 {
		m.newTask()
		return
	}
	if e.Button != tea.MouseLeft || m.mode == typing || m.mode == accepting || m.small() || e.Y < 1 || e.Y > m.bodyHeight() {
		return
	}
	if e.X < m.listWidth() {
		lines := m.listLines()
		if at := m.top + e.Y - 1; at < len(lines) && lines[at].row >= 0 {
			m.mode = browsing
			m.move(lines[at].row)
		}
		return
	}
	if e.Y != 1 || m.mode != browsing {
		return
	}
	x := e.X - (m.w - m.paneWidth())
	for t := m.firstTab(m.paneWidth()); t < tabs; t++ {
		n := t.width()
		if x >= 0 && x < n && m.has(t) {
			m.tab = t
			return
		}
		x -= n
	}
}

// wheel moves the cursor over the list, and scrolls the right side.
func (m *model) wheel(e tea.Mouse) {
	d := 3
	if e.Button == tea.MouseWheelUp {
		d = -3
	}
	switch {
	case m.mode == typing, m.mode == accepting && e.X < m.listWidth():
	case e.X < m.listWidth():
		m.mode = browsing
		m.move(m.cursor + d)
	default:
		m.pane.scroll += d
	}
}
