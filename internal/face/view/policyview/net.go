package policyview

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/record"
)

// NetPendingPage has a row for each host.
func NetPendingPage(ns []decide.NetRequest, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"ID", "MEMBER", "N", "AGE", "STATUS", "ENFORCED", "HOST AND REASON"}, About: true}
	for _, n := range ns {
		t.Rows = append(t.Rows, []string{n.Handles[0], n.Member, strconv.Itoa(len(n.IDs)), page.Age(n.Asked.Time, now), n.Status, enforcedWord(n.Sandbox), strings.TrimSuffix(n.Shown+"  "+n.Reason, "  ")})
	}
	p.Rows(t)
	return p
}

// GrantPage has a row for each standing answer.
func GrantPage(gs []decide.GrantView, now time.Time) (p page.Page) {
	t := page.Table{Head: []string{"EFFECT", "FOR", "BY", "ENFORCED", "UNTIL", "HOST"}, About: true}
	for _, g := range gs {
		t.Rows = append(t.Rows, []string{g.Effect, g.Scope, cmp.Or(g.By, "unknown"), grantWord(g), untilOr(page.At(g.Expires), now, "as long as the member"), g.Shown})
	}
	p.Rows(t)
	return p
}

// grantWord says whether a standing answer holds, and what closes it.
func grantWord(g decide.GrantView) string {
	switch {
	case g.Shut:
		return "closed by " + strings.Join(g.Closed, "; ")
	case len(g.Closed) > 0:
		return enforcedWord(g.Sandbox) + ", but not " + strings.Join(g.Closed, "; ")
	}
	return enforcedWord(g.Sandbox)
}

// enforcedWord says whether a standing answer holds.
func enforcedWord(level record.HeldLevel) string {
	if level.Enforces() {
		return "yes"
	}
	return "no: sandbox " + string(level)
}

func untilOr(t, now time.Time, always string) string {
	if t.IsZero() {
		return always
	}
	return page.Clock(t, now)
}

// notHeld says that nothing holds commands to a standing answer; "" where something does.
func notHeld(g decide.GrantView) string {
	switch {
	case g.Shut:
		return "; it opens nothing: closed by " + strings.Join(g.Closed, "; ")
	case len(g.Closed) > 0:
		return "; not " + strings.Join(g.Closed, "; ")
	case g.Enforced:
		return ""
	}
	return "; not enforced for commands: the sandbox is " + string(g.Sandbox)
}

// NetDecidedPage shows the standing answers that were made.
func NetDecidedPage(n *decide.NetDecided, now time.Time) (p page.Page) {
	for _, g := range n.Grants {
		p.Line(page.Plain(g.Shown + "  " + g.Effect + " for " + g.Scope + ", " + untilOr(page.At(g.Expires), now, "as long as the member is there") + notHeld(g)))
	}
	for _, name := range n.Unenforced {
		if len(n.Grants) == 0 {
			p.Line(page.Plain("nothing enforces it for " + name + ": it binds only what asks and keeps to the answer"))
		}
	}
	if n.Policy != nil {
		p = append(p, PolicyChangePage(n.Policy, "network")...)
	}
	return p
}
