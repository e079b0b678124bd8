package policyview

import (
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// CeilingPage shows the user's ceiling. It is empty where there is none.
func CeilingPage(c *decide.CeilingView) (p page.Page) {
	if c == nil {
		return nil
	}
	var parts []string
	if c.Mode != "" {
		parts = append(parts, "widest mode "+c.Mode)
	}
	if c.Allow != nil {
		parts = append(parts, "at most "+rulesText("allow ", c.Allow))
	}
	if len(c.Deny) > 0 {
		parts = append(parts, rulesText("deny ", c.Deny))
	}
	p.Line(page.Strong("ceiling"), page.Plain(" "+c.File+": "+strings.Join(parts, "; ")))
	if len(c.Cut) > 0 {
		p.Line(page.Plain("  "), page.Warning("without effect:"), page.Plain(" "+strings.Join(c.Cut, ", ")))
	}
	return p
}

func rulesText(effect string, rules []string) string {
	if len(rules) == 0 {
		return effect + "nothing"
	}
	return effect + strings.Join(rules, ", ")
}
