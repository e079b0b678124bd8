package view_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/view"
	"waggle/operator/decide"
	"waggle/policy"
)

func judged() *decide.Judged {
	return &decide.Judged{As: "ann", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Cwd: "/w", Decision: "ask", Rule: "Bash(ls:*)", Why: "no rule decides", Decider: "operator",
		Mode: "plan", Area: "inside", Risk: "low", Version: 2, Rules: []decide.RuleJudged{{Rule: "Bash(ls:*)", Effect: "allow", Match: "matches"}, {Rule: "Read", Effect: "deny", Match: policy.NoMatch}, {Rule: "Bash", Effect: "allow", Match: "may match", Counts: true}}}
}

func TestJudged(t *testing.T) {
	golden(t, "judged", view.Judged(judged()))
	golden(t, "judged_empty", view.Judged(&decide.Judged{}))
	page(t, "judged", view.JudgedPage(judged(), false))
	page(t, "judged_every", view.JudgedPage(judged(), true))
	page(t, "judged_allow", view.JudgedPage(&decide.Judged{Decision: "allow", Rule: "Bash"}, true))
	page(t, "judged_deny", view.JudgedPage(&decide.Judged{Decision: "deny", Rule: "Bash"}, true))
}

func TestExplained(t *testing.T) {
	e := &decide.Explained{ID: "perm-1", Kind: "permission_request", Member: "ann", Decision: "allow", By: "rules", Rule: "Bash(ls:*)", Reason: "fine", At: at(0), Version: 2, Digest: "ab", Now: judged()}
	golden(t, "explained", view.Explained(e))
	golden(t, "explained_empty", view.Explained(&decide.Explained{}))
	page(t, "explained", view.ExplainedPage(e))
	page(t, "explained_open", view.ExplainedPage(&decide.Explained{ID: "plan-1", Kind: "plan_approval_request", Member: "ann", At: at(0)}))
	page(t, "explained_person", view.ExplainedPage(&decide.Explained{ID: "perm-2", Kind: "permission_request", Member: "ann", Decision: "deny", By: "operator", At: at(0)}))
}

func TestSuggestions(t *testing.T) {
	s := decide.Suggestion{Rule: "Bash(go test:*)", Scope: "ann", Approvals: 3, Identical: true, Risk: "low", Members: []string{"ann"}, Total: 7, Looked: 20}
	for range 7 {
		s.Matched = append(s.Matched, decide.SuggestedCall{ID: "perm-1", Member: "ann", Tool: "Bash", Input: json.RawMessage(`{"command":"go test"}`), Decision: "allow", By: "operator"})
	}
	golden(t, "suggestions", view.Suggestions([]decide.Suggestion{s, {}}))
	golden(t, "suggestions_empty", view.Suggestions(nil))
	page(t, "suggestion", view.SuggestionPage(s))
	page(t, "suggestion_alike", view.SuggestionPage(decide.Suggestion{Rule: "Read", Risk: "low", Approvals: 2, Members: []string{"ann", "bob"}}))
}
