package policyview_test

import (
	"encoding/json"
	"testing"

	"waggle/internal/face/view/policyview"
	"waggle/operator/decide"
	"waggle/policy"
)

func judged() *decide.Judged {
	return &decide.Judged{As: "ann", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`), Cwd: "/w", Decision: "ask", Rule: "Bash(ls:*)", Why: "no rule decides", Decider: "operator",
		Mode: "plan", Area: "inside", Risk: "low", Version: 2, Rules: []decide.RuleJudged{{Rule: "Bash(ls:*)", Effect: "allow", Match: "matches"}, {Rule: "Read", Effect: "deny", Match: policy.NoMatch}, {Rule: "Bash", Effect: "allow", Match: "may match", Counts: true}}}
}

func TestJudged(t *testing.T) {
	golden(t, "judged", judged())
	golden(t, "judged_empty", &decide.Judged{})
	samePage(t, "judged", policyview.JudgedPage(judged(), false))
	samePage(t, "judged_every", policyview.JudgedPage(judged(), true))
	samePage(t, "judged_allow", policyview.JudgedPage(&decide.Judged{Decision: "allow", Rule: "Bash"}, true))
	samePage(t, "judged_deny", policyview.JudgedPage(&decide.Judged{Decision: "deny", Rule: "Bash"}, true))
}

func TestExplained(t *testing.T) {
	e := &decide.Explained{ID: "perm-1", Handle: "7KQF", Asks: "ls; rm -rf b", Risky: []string{"rm -rf b: it deletes files"}, Kind: "permission_request", Member: "ann", Decision: "allow", By: "rules", Rule: "Bash(ls:*)", Reason: "fine", At: at(0), Version: 2, Digest: "ab", Now: judged()}
	golden(t, "explained", e)
	golden(t, "explained_empty", &decide.Explained{})
	samePage(t, "explained", policyview.ExplainedPage(e, now))
	samePage(t, "explained_open", policyview.ExplainedPage(&decide.Explained{ID: "plan-1", Handle: "2DK8", Kind: "plan_approval_request", Member: "ann", At: at(0)}, now))
	samePage(t, "explained_person", policyview.ExplainedPage(&decide.Explained{ID: "perm-2", Handle: "9ABC", Kind: "permission_request", Member: "ann", Decision: "deny", By: "operator", At: at(0)}, now))
}

func TestSuggestions(t *testing.T) {
	s := decide.Suggestion{Rule: "Bash(go test:*)", Scope: "ann", Approvals: 3, Identical: true, Risk: "low", Members: []string{"ann"}, Total: 7, Looked: 20}
	for range 7 {
		s.Matched = append(s.Matched, decide.SuggestedCall{ID: "perm-1", Member: "ann", Tool: "Bash", Input: json.RawMessage(`{"command":"go test"}`), Decision: "allow", By: "operator"})
	}
	golden(t, "suggestions", map[string]any{"suggestions": []decide.Suggestion{s, {}}})
	golden(t, "suggestions_empty", map[string]any{"suggestions": []decide.Suggestion(nil)})
	samePage(t, "suggestion", policyview.SuggestionPage(s))
	samePage(t, "suggestion_alike", policyview.SuggestionPage(decide.Suggestion{Rule: "Read", Risk: "low", Approvals: 2, Members: []string{"ann", "bob"}}))
}
