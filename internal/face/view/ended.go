package view

import (
	"waggle/internal/face/view/page"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/record"
)

// MemberEndPage says how a member ended.
func MemberEndPage(e process.MemberEnd) (p page.Page) {
	p.Line(page.Plain(e.Member + ": " + endText(e)))
	return p
}

// EndedPage says how a team ended, and which members did not end as they were asked.
func EndedPage(d *process.DownResult) (p page.Page) {
	for _, m := range d.Members {
		if m.Kind() != operator.None || m.How == record.LeftReleased || m.How == "listed" {
			p = append(p, MemberEndPage(m)...)
		}
	}
	if d.Archive == "" { // nothing can be recorded now; the text above says it
		p.Line(page.Plain("team " + d.Team + ": its processes have ended"))
	} else {
		p.Line(page.Plain("team " + d.Team + " has ended; its history is in " + d.Archive))
	}
	return p
}

// endText says how a member ended.
func endText(e process.MemberEnd) string {
	switch e.How {
	case record.LeftHandshake:
		return "ended by itself when it was asked"
	case record.LeftDied:
		return "was dead already"
	case record.LeftReleased:
		return released(e) + "it was let go: waggle does not run it"
	case "stays":
		return released(e) + "it is still a member: waggle does not run it"
	case "listed":
		return "is only in the registry: it was not asked"
	}
	s := map[string]string{"gone": "had ended", "stdin": "ended when its input was closed", "term": "ended by SIGTERM", "kill": "ended by SIGKILL"}[e.Step]
	if s == "" {
		s = "was ended: " + e.Step
	}
	switch {
	case e.Queued:
		return "it was in the queue, and had not started"
	case e.Forced:
		return s + "; it was not asked"
	case e.Rejected != "":
		return s + "; it had refused: " + e.Rejected
	}
	return s + "; it had not answered in time"
}

// released says what a member that waggle does not run answered.
func released(e process.MemberEnd) string {
	switch {
	case e.Forced:
		return ""
	case e.Rejected != "":
		return "refused to end: " + e.Rejected + "; "
	}
	return "was asked to end and did not answer; "
}
