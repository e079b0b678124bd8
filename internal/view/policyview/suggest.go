package policyview

import (
	"encoding/json"
	"fmt"
	"strings"

	"waggle/internal/view/page"
	"waggle/operator/decide"
)

// SuggestionDocument is a rule that would have answered requests for the operator.
type SuggestionDocument struct {
	Rule      string                  `json:"rule"`
	Scope     string                  `json:"scope"` // the member that asked, or team
	Approvals int                     `json:"approvals"`
	Identical bool                    `json:"identical"` // all of them for the same call
	Risk      string                  `json:"risk"`
	Members   []string                `json:"members"`
	Matched   []SuggestedCallDocument `json:"matched"`
	Total     int                     `json:"matched_total"`
	Looked    int                     `json:"calls_looked_at"`
}

// SuggestedCallDocument is one call that a suggested rule would have matched.
type SuggestedCallDocument struct {
	ID       string          `json:"id"`
	Member   string          `json:"member"`
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	Decision string          `json:"decision"`
	By       string          `json:"by"`
}

// SuggestionList is the document of suggestions.
type SuggestionList struct {
	Suggestions []SuggestionDocument `json:"suggestions"`
}

// Suggestions is the document of suggestions.
func Suggestions(ss []decide.Suggestion) SuggestionList {
	l := SuggestionList{make([]SuggestionDocument, 0, len(ss))}
	for _, s := range ss {
		d := SuggestionDocument{s.Rule, s.Scope, s.Approvals, s.Identical, s.Risk, append([]string{}, s.Members...), make([]SuggestedCallDocument, 0, len(s.Matched)), s.Total, s.Looked}
		for _, c := range s.Matched {
			d.Matched = append(d.Matched, SuggestedCallDocument(c))
		}
		l.Suggestions = append(l.Suggestions, d)
	}
	return l
}

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
