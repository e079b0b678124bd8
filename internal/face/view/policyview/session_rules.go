package policyview

import (
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// SessionRulesPage has a row for each rule.
func SessionRulesPage(r *decide.SessionRules, now time.Time) (p page.Page) {
	word := page.Warning("off: they answer nothing")
	if r.On {
		word = page.Good("on")
	}
	p.Line(page.Strong("rules for sessions"), page.Plain("  "), word)
	t := page.Table{Head: []string{"EFFECT", "UNTIL", "RULE"}, About: true}
	for _, one := range r.Rules {
		ends := page.Moment(page.At(one.Expires), now)
		if one.Over {
			ends = "over"
		}
		t.Rows = append(t.Rows, []string{one.Effect, ends, one.Rule})
	}
	p.Rows(t)
	return p
}
