package policyview

import (
	"fmt"
	"strings"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
)

// shownMatches is how many matched calls a suggestion shows to a person.
const shownMatches = 5

// SuggestionPage is one suggestion, and the calls that it would have matched.
func SuggestionPage(s decide.Suggestion) (p page.Page) {
	same := "calls like it"
	if s.Identical {
		same = "the very same call"
	}
	p.Line(page.Strong(s.Rule), page.Plain(fmt.Sprintf("  risk %s; you approved %s %d times, for %s", s.Risk, same, s.Approvals, strings.Join(s.Members, ", "))))
	p.Line(page.Plain(fmt.Sprintf("  would have matched %d of the last %d calls:", s.Total, s.Looked)))
	for _, c := range s.Matched[:min(len(s.Matched), shownMatches)] {
		p.Line(page.Plain(fmt.Sprintf("    %s  %s %s by %s  %s", c.ID, c.Member, c.Decision, c.By, decide.ShownJSON(string(c.Input)))))
	}
	if more := len(s.Matched) - shownMatches; more > 0 {
		p.Line(page.Plain(fmt.Sprintf("    and %d more (--json has them all)", more)))
	}
	return p
}
