package view

import (
	"fmt"

	"waggle/internal/face/view/page"
	"waggle/operator/inspect"
)

// EndPlanPage says what the end of a team would end.
func EndPlanPage(tv *inspect.TeamView) (p page.Page) {
	for _, r := range tv.Live {
		p.Line(page.Plain(fmt.Sprintf("would end %s (process %d)", r.Name, r.PID)))
	}
	if len(tv.Live) == 0 {
		p.Line(page.Plain(fmt.Sprintf("no member of team %s runs", tv.Team)))
	}
	if tv.Led {
		p.Line(page.Plain(fmt.Sprintf("team %s is led by a running process, which would end it", tv.Team)))
	}
	p.Line(page.Faint("nothing was changed"))
	return p
}
