package policyview_test

import (
	"errors"
	"testing"

	"waggle/internal/face/view/page"
	"waggle/internal/face/view/policyview"
	"waggle/operator/decide"
)

func TestDecided(t *testing.T) {
	ds := []decide.Decided{
		{ID: "perm-1", Handle: "7KQF", Revision: 2, Decision: "allow", By: "operator", At: at(0), Changed: true, Delivered: true, Digest: "ab"},
		{ID: "perm-2", Decision: "deny", By: "operator", At: at(1), Changed: true},
		{ID: "perm-3", Decision: "deny", By: "rules", At: at(2)},
		{ID: "perm-4", Changed: true, Voted: true},
	}
	golden(t, "decided", policyview.DecidedList{Results: append(ds, decide.Refused("perm-5", errors.New("there is no request perm-5")))})
	golden(t, "decided_empty", policyview.DecidedList{})
	learned := policyview.DecidedList{Results: ds[:1]}
	learned.Policy = &decide.PolicyChange{Team: "api", Version: 3}
	golden(t, "decided_learned", learned)
	var ls []page.Line
	for _, d := range ds {
		ls = append(ls, policyview.DecidedLine(d, now))
	}
	lines(t, "decided", ls)
}

func TestSessionRules(t *testing.T) {
	r := &decide.SessionRules{On: true, Changed: true, Rules: []decide.SessionRule{{Rule: "Bash(ls:*)", Effect: "allow", Expires: new(at(0)), Over: true}, {Rule: "Read", Effect: "deny", Expires: new(at(9))}, {Rule: "Edit", Effect: "allow"}}}
	golden(t, "session_rules", r)
	golden(t, "session_rules_empty", &decide.SessionRules{})
	samePage(t, "session_rules", policyview.SessionRulesPage(r, now))
	samePage(t, "session_rules_empty", policyview.SessionRulesPage(&decide.SessionRules{}, now))
}
