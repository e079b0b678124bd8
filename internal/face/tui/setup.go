package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"waggle/internal/face/view/fileview"
	"waggle/operator/fresh"
)

// setup is what the worktree of a new member gets by a team file that was found, and that the person
// has to accept before it is started.
type setup struct {
	act   Act      // starts it
	keys  []string // of the proposal that act starts
	found fresh.Found
}

// task says in a line what it is started for.
func (s setup) task() string {
	if len(s.act.Requests) == 1 {
		task, _, _ := strings.Cut(s.act.Requests[0].Proposed().Task, "\n")
		return task
	}
	return s.act.Text
}

func (s setup) text() string { return fileview.PreparationText(s.found) }

// lines is all of it.
func (s setup) lines(w int) []line {
	return append(wrapped(nil, "new task: "+s.task(), strong, w), toldLines(strings.Split(s.text(), "\n"), plain.each, w)...)
}

// askSetup begins to wait for an answer about a setup. Nothing was started.
func (m *model) askSetup(did didMsg, found fresh.Found) {
	for _, k := range did.keys {
		delete(m.given, k)
	}
	m.setups, m.flash, m.leaving = append(m.setups, setup{did.act, did.keys, found}), "", false
}

// offerSetup shows the first setup that waits, once nothing else is typed, chosen or answered.
func (m *model) offerSetup() {
	if len(m.setups) > 0 && m.mode == browsing && m.pend == nil {
		m.mode, m.stale = accepting, true
	}
}

// setupHint is what the keys do about a setup.
func (m *model) setupHint() string {
	return fmt.Sprintf("%s start with it  %s start without it  %s start nothing", m.keyOf(cmdAllow), m.keyOf(cmdDeny), m.keyOf(cmdBack))
}

// setupKey takes a key while a setup is shown. What starts a member needs what a request needs: all of
// it has stood, and no other key comes with this one.
func (m *model) setupKey(c command, now time.Time, since time.Duration) tea.Cmd {
	s := m.setups[0]
	switch c {
	case cmdAllow, cmdDeny:
		if m.flash = m.unstood(now); m.flash != "" {
			return nil
		}
		a := s.act
		if a.Setup, a.NoSetup = nil, true; c == cmdAllow {
			a.Setup, a.NoSetup = &s.found, false
		}
		m.answer(a, s.keys, now, since)
	case cmdBack:
		m.flash = "nothing was started: " + s.task()
		m.mode, m.setups = browsing, m.setups[1:]
	case cmdPage:
		m.readOn()
	case cmdPageUp:
		m.pane.scroll -= max(1, m.paneHeight()-1)
	case cmdLook, cmdView:
		m.zoom = !m.zoom
	case cmdQuit:
		return m.quit()
	default:
		m.flash = m.setupHint()
	}
	return nil
}
