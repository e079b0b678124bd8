package policyview

import (
	"time"

	"waggle/internal/view/page"
	"waggle/operator/decide"
)

// SessionRulesDocument are the user's rules for sessions.
type SessionRulesDocument struct {
	On      bool                  `json:"on"` // off: the rules answer nothing
	Rules   []SessionRuleDocument `json:"rules"`
	Changed bool                  `json:"changed"`
}

// SessionRuleDocument is one rule of the user for sessions.
type SessionRuleDocument struct {
	Rule    string  `json:"rule"`
	Effect  string  `json:"effect"` // allow, deny
	Expires *string `json:"expires_at"`
	Over    bool    `json:"over"` // it has ended
}

// SessionRules is the document of the rules for sessions.
func SessionRules(r *decide.SessionRules) SessionRulesDocument {
	d := SessionRulesDocument{r.On, make([]SessionRuleDocument, 0, len(r.Rules)), r.Changed}
	for _, one := range r.Rules {
		d.Rules = append(d.Rules, SessionRuleDocument{one.Rule, one.Effect, page.Until(one.Expires), one.Over})
	}
	return d
}

// SessionRulesPage has a row for each rule.
func SessionRulesPage(r *decide.SessionRules, now time.Time) (p page.Page) {
	word := page.Warning("off: they answer nothing")
	if r.On {
		word = page.Good("on")
	}
	p.Line(page.Strong("rules for sessions"), page.Plain("  "), word)
	t := page.Table{Head: []string{"EFFECT", "UNTIL", "RULE"}, About: true}
	for _, one := range r.Rules {
		ends := page.Moment(one.Expires, now)
		if one.Over {
			ends = "over"
		}
		t.Rows = append(t.Rows, []string{one.Effect, ends, one.Rule})
	}
	if len(t.Rows) > 0 {
		p.Table(t)
	}
	return p
}
