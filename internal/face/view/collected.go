package view

import (
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator/process"
)

// CollectedPage lists what was found, with the result when it was acted upon, and what is kept.
func CollectedPage(c *process.Collected, acted bool, spell page.Spell) (p page.Page) {
	t := page.Table{Head: []string{"KIND", "TEAM", "MEMBER", "WHAT", "", "WHY"}, About: true}
	for _, g := range c.Found {
		what, state := g.Path, ""
		if g.PID > 0 {
			what = fmt.Sprintf("pid %d, start %s (%s)", g.PID, g.Start, g.Argv)
		}
		switch {
		case g.Done:
			state = "done"
		case acted:
			state = "not done: " + g.Error
		}
		t.Rows = append(t.Rows, []string{g.Kind, g.Team, g.Member, what, state, g.Why})
	}
	p.Rows(t)
	for _, k := range c.Kept {
		line := page.Line{page.Plain("kept: " + k.Kind + " " + KeptOf(k) + ": " + spell.Sentence(k.Why))}
		if k.Path != "" {
			line = append(line, page.Faint("  "+k.Path))
		}
		p.Line(line...)
	}
	return p
}

// unseenShown is how many members the line about them names.
const unseenShown = 5

// UnseenPage names members that may have left processes which cannot be found, in one line. It is
// empty where there are none.
func UnseenPage(us []process.Unseen) (p page.Page) {
	if len(us) == 0 {
		return nil
	}
	var names []string
	for _, u := range us[:min(len(us), unseenShown)] {
		names = append(names, u.Member+"@"+u.Team)
	}
	of := strings.Join(names, ", ")
	if len(us) > unseenShown {
		of += ", …"
	}
	p.Line(page.Plain("cannot be seen: what commands of " + of + " started, if it cleared its environment and left its process group before the member's process died"))
	return p
}
