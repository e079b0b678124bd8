package policy

// ChangeMode changes a row of the table of modes until undo is called.
func ChangeMode(m Mode, change func(*ModeInfo)) (undo func()) {
	for i := range modes {
		if was := modes[i]; was.Mode == m {
			change(&modes[i])
			return func() { modes[i] = was }
		}
	}
	panic("no such mode: " + string(m))
}

// SetCell changes one cell of a row.
func SetCell(m *ModeInfo, a Area, d Decision) { m.cells[a] = d }

// ChangeDecide changes a row of the table of who may decide until undo is called.
func ChangeDecide(i int, change func(*DecideRow)) (undo func()) {
	was := decideTable[i]
	change(&decideTable[i])
	return func() { decideTable[i] = was }
}
